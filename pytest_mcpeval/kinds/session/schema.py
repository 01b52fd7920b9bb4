"""The shape of session files and of their settings. camelCase is read as well."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from pytest_mcpeval.core.fields import BaselinePath, FileModel, FilePath, Text, Whole
from pytest_mcpeval.kinds.session.command_line import MOST_CALLS
from pytest_mcpeval.kinds.session.critic.findings import Severity
from pytest_mcpeval.kinds.session.critic.settings import CriticModel, CriticSetting
from pytest_mcpeval.kinds.session.execution.settings import AgentModel, StepModel
from pytest_mcpeval.kinds.session.records import AbortReason, Disposition
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.loading.schema import Expected

DEFAULT_CALL_BUDGET = 20
DEFAULT_WALLCLOCK_BUDGET = 15.0
MOST_SCENARIOS = 8
BUDGETS = frozenset({"call_budget", "wallclock_budget"})
"""The settings that are limits."""


def _spoken(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank: describe the task")
    return text.strip()


def _disposition(value: Any) -> Any:
    """``read_only`` is short for ``{disposition: read_only}``."""
    return {"disposition": value} if isinstance(value, str) else value


def approval_of(text: Any) -> str:
    """The literal word of approval in an answer: its case and the space around it do not count.

    Raises:
        ValueError: It is anything else, however friendly.
    """
    token = text.strip().lower() if isinstance(text, str) else text
    if token not in ("approve", "user-only"):
        raise ValueError(
            f"expected exactly approve (all scenarios) or user-only (without the derived ones), "
            f"found {shown(text)}: nothing else approves"
        )
    return str(token)


Description = Annotated[str, AfterValidator(_spoken), Expected("what to do, in a sentence")]
CallBudget = Annotated[int, Field(ge=1)]
Minutes = Annotated[float, Field(gt=0, le=1440)]
Approval = Annotated[
    Literal["approve", "user-only"], BeforeValidator(approval_of, json_schema_input_type=str)
]


class DispositionModel(FileModel):
    """What may be done to a server."""

    disposition: Disposition
    test_resources: list[Text] = Field(
        default=[], description="what a sandboxed server may change, as its tools expect it"
    )
    notes: str = ""


DispositionSetting = Annotated[
    DispositionModel,
    BeforeValidator(_disposition, json_schema_input_type=Disposition | DispositionModel),
    Whole(),
]


def _as_given(value: Any) -> Any:
    return value


# The model itself reads both forms; this lets the editor schema show both.
AgentSetting = Annotated[AgentModel, BeforeValidator(_as_given, json_schema_input_type=str | AgentModel)]


class IntakeModel(FileModel):
    """One entry of a list of scenarios, as people write them before anything is decided."""

    description: Description
    targets_mcps: list[Text] = Field(default=[], description="the servers it is meant for")


class ScenarioModel(IntakeModel):
    """One entry of ``scenarios:``."""

    id: Annotated[str, Field(pattern=r"^S[1-9][0-9]{0,2}$")] | None = Field(
        default=None, description="S1, S2, …; default: by its place in the list"
    )
    source: Literal["user", "derived"] = "user"
    note: str = Field(default="", description="the signal from which it was derived")
    steps: Annotated[list[StepModel], Field(min_length=1)] | None = Field(
        default=None, description="the calls that carry it out"
    )
    agent: AgentSetting | None = Field(
        default=None, description="who carries it out, instead of the file's `agent`"
    )
    expect_abort: AbortReason | None = Field(
        default=None, description="the scenario passes when it is aborted for this reason"
    )


class GatesModel(FileModel):
    """``gates:`` of a session file."""

    fail_on: Severity | Literal["never"] = Field(
        default="Critical", description="findings of this severity or a worse one fail the run"
    )
    max_findings: dict[Severity, Annotated[int, Field(ge=0, le=1000)] | None] = Field(
        default={}, description="severity → how many findings there may be"
    )


class SessionSettings(FileModel):
    """How sessions are run and judged; an entry of ``session:`` in ``mcpeval.yaml``."""

    dispositions: dict[Text, DispositionSetting] = Field(
        default={}, description="server → read_only, sandboxed or skip; every attached server needs one"
    )
    servers: list[Text] | None = Field(
        default=None, description="only these servers are attached; default: all"
    )
    user_servers: bool = Field(default=False, description="attach the servers of ~/.claude.json too")
    approval: Approval | None = Field(
        default=None, description="approve, or user-only: without derived scenarios"
    )
    agent: Annotated[AgentSetting | None, Whole()] = Field(
        default=None, description="who carries out scenarios that have no `steps`"
    )
    critic: CriticSetting = Field(
        default=CriticModel(),
        description="what looks for friction in the transcript",
        json_schema_extra={"default": "embedded"},
    )
    call_budget: CallBudget = Field(
        default=DEFAULT_CALL_BUDGET,
        description=f"calls a scenario may make; more than {MOST_CALLS} are {MOST_CALLS}",
    )
    wallclock_budget: Minutes = Field(
        default=DEFAULT_WALLCLOCK_BUDGET, description="minutes that all scenarios together may take"
    )
    baseline: BaselinePath = Field(default=None, description="file of committed findings")
    gates: GatesModel = Field(
        default=GatesModel(), description="rules over all findings that can fail the run"
    )


class SessionModel(SessionSettings):
    """A whole session file. Settings given here win over ``mcpeval.yaml``."""

    kind: Literal["session"] = "session"
    name: Any = None
    description: Any = None
    version: Any = None
    scenarios: Annotated[list[ScenarioModel], Field(min_length=1)] | FilePath = Field(
        description="1 to 8 scenarios, or the file that lists them"
    )
