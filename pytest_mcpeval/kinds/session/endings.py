"""How scenarios ended, and why they failed: the same for their tests and for the report. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_mcpeval.core.gate import names
from pytest_mcpeval.core.sample import Check
from pytest_mcpeval.kinds.session.records import ScenarioRecord, TranscriptEntry, server_of
from pytest_mcpeval.kinds.session.state import Execution, State
from pytest_mcpeval.kinds.session.transcript import blocked_count

COMPLETE = "complete"
TARGETS = "targets_mcps"
CALLS = "calls"
UNKNOWN_TOOL = "error:unknown_tool"

_REASONS = {
    "call_budget": "it exceeded its call budget",
    "wallclock": "the time of the whole session was over",
    "safety_abort": "a call was not certain to be allowed",
}


@dataclass(frozen=True)
class Ending:
    """How one scenario ended.

    ``words`` is a short description. ``servers`` are those that it called, ``checks`` its checks, and
    ``failed`` the failed ones. ``is_complete``: it was carried out to its end, and no check failed.
    What an aborted scenario left out is unknown, even if the abort was expected.
    """

    scenario: ScenarioRecord
    words: str
    calls: int
    blocked: int
    servers: frozenset[str]
    checks: tuple[Check, ...]
    failed: tuple[Check, ...]
    is_complete: bool

    def concerns(self, server: str) -> bool:
        """Whether the scenario called the server, or was meant to."""
        return server in self.servers or server in self.scenario.targets_mcps


def endings_of(state: State, entries: Sequence[TranscriptEntry]) -> tuple[Ending, ...]:
    """The ending of every scenario, in their order."""
    return tuple(ending_of(scenario, state, entries) for scenario in state.scenarios)


def ending_of(scenario: ScenarioRecord, state: State, entries: Sequence[TranscriptEntry]) -> Ending:
    """The ending of one scenario; ``entries`` are the transcript."""
    execution = state.execution_of(scenario.id)
    own = [entry for entry in entries if entry.scenario_id == scenario.id]
    servers = state.server_names()
    checks = () if execution is None else tuple(_checks(scenario, execution, own, servers))
    failed = tuple(check for check in checks if not check.passed and not _is_cut_off(check, scenario))
    words = _words(scenario, execution, failed)
    return Ending(
        scenario=scenario,
        words=words,
        calls=0 if execution is None else execution.call_count,
        blocked=blocked_count(own, scenario.id),
        servers=frozenset(name for entry in own if (name := server_of(entry.tool, servers))),
        checks=checks,
        failed=failed,
        is_complete=words == COMPLETE,
    )


def _words(scenario: ScenarioRecord, execution: Execution | None, failed: Sequence[Check]) -> str:
    if execution is None:
        return "not begun"
    if execution.status == "running":
        return "interrupted"
    if execution.outcome is not None and execution.outcome.error:
        return "not carried out"
    if execution.status == "aborted":
        return f"aborted ({execution.abort_reason})"
    if scenario.expect_abort is not None:
        return "not aborted"
    return f"failed ({names([*dict.fromkeys(check.name for check in failed)])})" if failed else COMPLETE


def _checks(
    scenario: ScenarioRecord, execution: Execution, own: Sequence[TranscriptEntry], servers: Sequence[str]
) -> Iterator[Check]:
    yield _ending_check(scenario, execution)
    found = [Check(**check) for check in execution.outcome.checks] if execution.outcome else []
    # The time was over before any call.
    began = execution.abort_reason != "wallclock" or execution.started != execution.ended
    if began:
        yield _targets_check(scenario, execution, own, found, servers)
    yield from found


def _is_cut_off(check: Check, scenario: ScenarioRecord) -> bool:
    """Whether the end that a scenario is meant to have left a call unanswered, or a check unreached.

    Then the check says nothing against the scenario, once it has ended so.
    """
    if scenario.expect_abort is None:
        return False
    timed_out = check.name == "answered" and (check.details or {}).get("reason") == "timeout"
    return timed_out or check.status == "inconclusive"


def _ending_check(scenario: ScenarioRecord, execution: Execution) -> Check:
    wanted = scenario.expect_abort
    ended = execution.abort_reason
    if ended == wanted:
        words = f"aborted as expected: {ended}" if ended else "carried out"
    elif ended is None:
        words = f"expected to be aborted ({wanted}), but was carried out"
    else:
        words = f"aborted ({ended}): {_REASONS[ended]}"
    rule = {"type": "ending", "abort_reason": wanted}
    return Check(rule, "passed" if ended == wanted else "failed", words)


def _targets_check(
    scenario: ScenarioRecord,
    execution: Execution,
    own: Sequence[TranscriptEntry],
    found: Sequence[Check],
    servers: Sequence[str],
) -> Check:
    """At least one of the servers that a scenario is meant for was called, or anything when it names none.

    A call that was blocked counts where the file expects it: in a step that must be refused, or when the
    scenario was aborted as expected. A call of a tool that its server does not list never reached the server.
    """
    rule = {"type": TARGETS, "servers": list(scenario.targets_mcps)}
    unknown = [entry.tool for entry in own if entry.result_shape == UNKNOWN_TOOL]
    called = [server_of(entry.tool, servers) for entry in own if entry.result_shape != UNKNOWN_TOOL]
    tried = [server_of(entry.blocked_tool, servers) for entry in own if entry.blocked_tool]
    refused = [
        server_of(str(check.rule["tool"]), servers)
        for check in found
        if check.name == "refused" and check.passed and "tool" in check.rule
    ]
    as_expected = execution.abort_reason is not None and execution.abort_reason == scenario.expect_abort
    seen = {*called, *refused, *(tried if as_expected else ())}
    if not scenario.targets_mcps:
        used = sorted({*filter(None, seen), *(one.tool for one in own if one.is_call and not one.is_mcp)})
        words = f"called {', '.join(used)}" if used else "made no call, so nothing was tried"
        return Check({"type": CALLS}, "passed" if used else "failed", words)
    if hit := [name for name in scenario.targets_mcps if name in seen]:
        return Check(rule, "passed", f"called {', '.join(hit)}")
    blocked = sum(name in scenario.targets_mcps for name in tried)
    others = ", ".join(dict.fromkeys(filter(None, called)))
    words = f"called none of its target servers: {', '.join(scenario.targets_mcps)}"
    words += f"; the guard blocked {blocked} of its calls to them" if blocked else ""
    words += f"; it called {others}" if others else ""
    words += f"; no server has {', '.join(dict.fromkeys(unknown))}" if unknown else ""
    return Check(rule, "failed", words)
