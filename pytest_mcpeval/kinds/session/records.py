"""Records of an evaluation: dispositions, scenarios, transcript entries, outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.kinds.session.command_line import MOST_CALLS

if TYPE_CHECKING:
    from pytest_mcpeval.core.sample import Check
    from pytest_mcpeval.kinds.session.execution.settings import AgentModel
    from pytest_mcpeval.kinds.session.execution.spec import Step

Disposition = Literal["read_only", "sandboxed", "skip"]
"""How a server may be used: reading tools only, changes to test resources only, or not at all."""

AbortReason = Literal["call_budget", "wallclock", "safety_abort"]
"""Why a scenario was ended before its agent was done."""

BLOCKED = "__blocked__"
BUDGET_ABORT = "__budget_abort__"
WALLCLOCK_ABORT = "__wallclock_abort__"
SYNTHETIC_TOOLS = frozenset({BLOCKED, BUDGET_ABORT, WALLCLOCK_ABORT})
"""The ``tool`` of entries that are not calls. They do not count in budgets and belong to no server."""

_RESERVED = re.compile(r"\s*__.*__\s*", re.DOTALL)

NOT_DISPATCHED = "not dispatched"
"""The ``result_shape`` of entries that are not calls."""

INTERRUPTED = frozenset({"error:KeyboardInterrupt", "error:SystemExit", "error:cancelled"})
"""The ``result_shape`` of calls that were interrupted before their answer; not errors of the server."""

MCP_PREFIX = "mcp__"


def is_reserved(tool: str) -> bool:
    """Whether a name has the form of the `SYNTHETIC_TOOLS`, which only the guard may write."""
    return _RESERVED.fullmatch(tool) is not None


def mcp_tool(server: str, tool: str) -> str:
    """The name a server's tool has in a session: ``mcp__<server>__<tool>``."""
    return f"{MCP_PREFIX}{server}__{tool}"


def server_of(tool: str, servers: Iterable[str]) -> str:
    """The server of ``mcp__<server>__<tool>``: of those that fit the longest name, or an empty text."""
    fitting = [name for name in servers if tool.startswith(mcp_tool(name, ""))]
    return max(fitting, key=len, default="")


def timestamp(moment: datetime) -> str:
    """A moment as it stands in the files of an evaluation: ISO 8601 in UTC, with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class ServerScope:
    """The disposition of one server; ``test_resources`` are what a sandboxed server may change."""

    mcp_name: str
    disposition: Disposition
    test_resources: tuple[str, ...] = ()
    notes: str = ""


@dataclass(frozen=True)
class ScenarioRecord:
    """A scenario, as it was approved.

    ``note`` says how weak the signal is that it was derived from, ``expect_abort`` how it is meant to end.
    """

    id: str
    description: str
    source: Literal["user", "derived"] = "user"
    targets_mcps: tuple[str, ...] = ()
    note: str = ""
    expect_abort: AbortReason | None = None


@dataclass(frozen=True)
class Scenario(ScenarioRecord):
    """A scenario of a session file. It is carried out by its ``steps``, or else by the ``agent``."""

    steps: tuple[Step, ...] = ()
    agent: AgentModel | None = None


@dataclass(frozen=True)
class Budget:
    """Hard limits: calls of each scenario, and time of the whole session since it started."""

    session_started: datetime
    calls_per_scenario: int = 20
    wallclock_minutes: float = 15

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls_per_scenario", min(self.calls_per_scenario, MOST_CALLS))


@dataclass(frozen=True)
class ArgumentSource:
    """Where the value of an argument was seen before: in the result of the call ``entry_id``.

    ``reshaped``: it is not the value as it came, but made from it.
    """

    argument: str
    entry_id: str
    how: Literal["verbatim", "reshaped"]


@dataclass(frozen=True)
class TranscriptEntry:
    """One line of ``transcript.jsonl``: one call, or one of the `SYNTHETIC_TOOLS`.

    ``result_shape`` is None while the call is in flight, and stays so when the process was killed.
    ``blocked_tool`` is the tool of a call that was not dispatched; ``abort_reason`` is set on the entry that
    ended its scenario. ``args_digest`` is equal for equal arguments (after redaction). ``result_bytes`` is
    the size of the answer in UTF-8, ``latency_ms`` the time until it came. ``argument_sources`` tells which
    arguments came from earlier results.
    """

    id: str
    scenario_id: str
    ts: str
    tool: str
    is_mcp: bool
    args_summary: str = ""
    result_shape: str | None = None
    justification: str | None = None
    blocked_tool: str | None = None
    abort_reason: AbortReason | None = None
    args_digest: str | None = None
    result_bytes: int | None = None
    latency_ms: float | None = None
    argument_sources: tuple[ArgumentSource, ...] = ()

    @property
    def is_call(self) -> bool:
        """Whether it is a call that was made, which counts in budgets."""
        return self.tool not in SYNTHETIC_TOOLS

    @property
    def was_answered(self) -> bool:
        """Whether the call got an answer or an error before it was interrupted."""
        return self.result_shape is not None and self.result_shape not in INTERRUPTED

    @property
    def failed(self) -> bool:
        """Whether the call got an error; being interrupted is not an error."""
        return self.was_answered and str(self.result_shape).startswith("error:")

    @cached_property
    def line(self) -> str:
        """The entry as one line of JSON, without its newline; what was not recorded is left out."""
        always = {name: getattr(self, name) for name in _ALWAYS}
        more = {name: getattr(self, name) for name in _OPTIONAL if getattr(self, name) is not None}
        sources = [vars(source) for source in self.argument_sources]
        return to_json({**always, **more, **({"argument_sources": sources} if sources else {})})

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TranscriptEntry:
        """The entry in a line that was read; keys that others added are left out.

        Raises:
            TypeError: A key is missing.
        """
        known = {name: value for name, value in data.items() if name in _FIELDS}
        sources = tuple(ArgumentSource(**source) for source in known.pop("argument_sources", ()))
        return cls(**known, argument_sources=sources)


_ALWAYS = ("id", "scenario_id", "ts", "tool", "is_mcp", "args_summary", "result_shape", "justification")
_OPTIONAL = ("blocked_tool", "abort_reason", "args_digest", "result_bytes", "latency_ms")
_FIELDS = frozenset(entry.name for entry in fields(TranscriptEntry))


@dataclass(frozen=True)
class ScenarioOutcome:
    """How one scenario ended: its entry of ``execution``, and what there is to judge.

    ``answer`` is what the agent said at the end. ``checks`` are the expectations of scripted steps, and a
    failed check ``agent`` when the agent raised or its command failed.
    """

    scenario_id: str
    status: Literal["complete", "aborted"]
    call_count: int
    started: str
    ended: str
    abort_reason: AbortReason | None = None
    answer: str = ""
    checks: tuple[Check, ...] = ()
