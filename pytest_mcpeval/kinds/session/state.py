"""``state.json``: where an evaluation stands. Every transition rewrites the whole file in one step."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pytest_mcpeval.core.baseline import write_atomically
from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.kinds.session.critic.findings import DanglingCitation, Finding
from pytest_mcpeval.kinds.session.records import ScenarioRecord, ServerScope, timestamp
from pytest_mcpeval.loading import DataFileError, Problem, load
from pytest_mcpeval.loading.schema import validate

Status = Literal[
    "discovering",
    "interviewing",
    "scoping",
    "scoped",
    "executing",
    "critiquing",
    "critic_failed",
    "reporting",
    "complete",
]

BEFORE_EXECUTION: tuple[Status, ...] = ("discovering", "interviewing", "scoping", "scoped")


class _Record(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")


class Config(_Record):
    """The limits of an evaluation, and the file its scenarios come from.

    ``scenarios_digest`` tells whether its scenarios, steps, agents and dispositions are still those the
    evaluation began with.
    """

    call_budget_per_scenario: int = 20
    wallclock_budget_minutes: float = 15
    scenarios_file: str | None = None
    scenarios_digest: str | None = None


class AttachedServer(_Record):
    """A server of the evaluation. ``command`` is None for one that is reached by URL.

    ``reading_tools`` are those of its ``tools`` that change nothing, by what it says of them.
    ``listing_problem`` says why its tools could not be listed; it is empty when they were.
    """

    name: str
    source: str
    command: str | None = None
    tools: tuple[str, ...] = ()
    reading_tools: tuple[str, ...] = ()
    description_bytes: int = 0
    listing_problem: str = ""


class FilteredServer(_Record):
    """A server that was found and is no part of the evaluation."""

    name: str
    reason: str


class Outcome(_Record):
    """What a scenario left to judge.

    ``checks`` are those of its steps or agent; ``error`` says why it could not be carried out at all.
    """

    answer: str = ""
    checks: tuple[dict[str, Any], ...] = ()
    error: str = ""


class Execution(_Record):
    """How far a scenario has come. ``outcome`` is what its test is judged by; None while it runs."""

    scenario_id: str
    status: Literal["running", "complete", "aborted"]
    call_count: int = 0
    abort_reason: str | None = None
    started: str
    ended: str | None = None
    outcome: Outcome | None = None


class State(_Record):
    """Everything about an evaluation but its transcript.

    Besides the documented fields: ``run_id`` tells the pytest run that works on it, ``run_name`` is what that
    run was called (the evaluations of its several files have longer names), ``interrupted_seconds``
    how long nobody did between the beginning and the end of its execution, ``resumed`` when a later run went
    on with its scenarios.
    """

    eval_name: str
    started: str
    last_updated: str
    session_started: str | None = None
    session_ended: str | None = None
    status: Status = "discovering"
    config: Config = Config()
    attached_mcps: tuple[AttachedServer, ...] = ()
    filtered_mcps: tuple[FilteredServer, ...] = ()
    safety_dispositions: tuple[ServerScope, ...] = ()
    scenarios: tuple[ScenarioRecord, ...] = ()
    execution: tuple[Execution, ...] = ()
    critic_findings: tuple[Finding, ...] = ()
    critic_findings_dropped_raw: tuple[str, ...] = ()
    critic_findings_dropped: int = 0
    unmapped_mcp_names: tuple[str, ...] = ()
    critic_summary: str = ""
    missing_critic_summary: bool = False
    critic_failure_path: str | None = None
    critic_manifest_notes: tuple[str, ...] = ()
    dangling_citations: tuple[DanglingCitation, ...] = ()
    report_path: str | None = None
    run_id: str = ""
    run_name: str = ""
    interrupted_seconds: float = 0.0
    resumed: tuple[str, ...] = ()

    def server_names(self) -> list[str]:
        """The attached servers, in the order they were found."""
        return [server.name for server in self.attached_mcps]

    def disposition(self, server: str) -> ServerScope | None:
        """What may be done to a server; None while that is undecided."""
        return next((found for found in self.safety_dispositions if found.mcp_name == server), None)

    def execution_of(self, scenario: str) -> Execution | None:
        """How far a scenario has come; None when it has not begun."""
        return next((found for found in self.execution if found.scenario_id == scenario), None)


class StateFile:
    """The state on disk, and the only way to change it."""

    def __init__(self, path: Path, state: State) -> None:
        self.path = path
        self.state = state

    @classmethod
    def create(cls, path: Path, state: State) -> StateFile:
        """A new state file."""
        found = cls(path, state)
        found.update()
        return found

    @classmethod
    def read(cls, path: Path) -> StateFile:
        """The state that a file holds.

        Raises:
            DataFileError: It is not the state of an evaluation.
        """
        document = load(path)
        if not isinstance(document.data, dict) or "status" not in document.data:
            message = "is not the state of an evaluation: `status` is missing. Name another evaluation with "
            raise DataFileError([Problem(path, 1, f"{message}--mcpeval-name, or remove the folder")])
        state: State = validate(State, document)
        return cls(path, state)

    def update(self, **changes: Any) -> None:
        """Write the state with some fields changed."""
        self.state = self.state.model_copy(update={**changes, "last_updated": now()})
        write_atomically(self.path, to_json(self.state.model_dump(mode="json"), indent=2) + "\n")

    def set_execution(self, entry: Execution) -> None:
        """Write the state with an entry of ``execution`` added or replaced."""
        others = {found.scenario_id: found for found in self.state.execution}
        self.update(execution=tuple({**others, entry.scenario_id: entry}.values()))


def now() -> str:
    """The time, as ISO text in UTC."""
    return timestamp(datetime.now(UTC))


def seconds_between(start: str, end: str) -> float:
    """Seconds from one ISO time to another."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
