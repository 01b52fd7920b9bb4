"""What is on disk of an evaluation → the samples of its items. Pure but for redaction of what agents said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_mcpeval.gates import names
from pytest_mcpeval.kinds.base import Case
from pytest_mcpeval.kinds.session.critic.findings import counts, found_words
from pytest_mcpeval.kinds.session.figures import figures_of
from pytest_mcpeval.kinds.session.records import BLOCKED, TranscriptEntry
from pytest_mcpeval.kinds.session.report import NOTHING_TO_EVALUATE
from pytest_mcpeval.kinds.session.spec import PlannedScenario, SessionSpec, SessionSuite
from pytest_mcpeval.kinds.session.state import Execution, State, seconds_between
from pytest_mcpeval.samples import Check, Sample

NO_SERVERS = "NO SERVERS"

_REASONS = {
    "call_budget": "its call budget was exceeded",
    "wallclock": "the time of the whole session was over",
    "safety_abort": "a call could not be shown to be within what is allowed",
}


def scenario_sample(
    suite: SessionSuite, case: Case[SessionSpec], state: State, entries: Sequence[TranscriptEntry]
) -> Sample:
    """The sample of a scenario that is over; one without servers is told of and left to the report."""
    planned = case.spec.planned
    assert planned is not None, "the report has a sample of its own"
    if not state.attached_mcps:
        return nothing_sample(suite, case)
    execution = state.execution_of(case.id)
    assert execution is not None, "it is over"
    own = [entry for entry in entries if entry.scenario_id == case.id]
    checks = _checks(planned, execution)
    failed = [check for check in checks if not check.passed and not _is_cut_off(check, planned)]
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome="failed" if failed else "passed",
        checks=checks,
        message=_message(execution, failed),
        traits={**case.traits, "name": planned.scenario.description},
        measured={
            "status": execution.status,
            "abort_reason": execution.abort_reason,
            "call_count": execution.call_count,
            "blocked": sum(entry.tool == BLOCKED for entry in own),
            "transcript": [_line(entry) for entry in own],
        },
        run={
            "answer": execution.outcome.answer if execution.outcome else "",
            "seconds": _seconds(execution),
            "started": execution.started,
        },
    )


def nothing_sample(suite: SessionSuite, case: Case[SessionSpec]) -> Sample:
    """No server is attached: nothing can be wrong, and nothing was shown to be right."""
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome="tolerated",
        label=NO_SERVERS,
        message=NOTHING_TO_EVALUATE,
        traits=dict(case.traits),
    )


def report_sample(
    suite: SessionSuite,
    case: Case[SessionSpec],
    state: State,
    entries: Sequence[TranscriptEntry],
    report_path: str,
) -> Sample:
    """The sample of the report; findings are for the gates to judge."""
    if not state.attached_mcps:
        return nothing_sample(suite, case)
    failed = state.status == "critic_failed"
    message = "the critic's output cannot be read: no finding, nothing like one, and no summary"
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome="failed" if failed else "passed",
        message=message if failed else found_words(state.critic_findings, state.critic_findings_dropped),
        traits=dict(case.traits),
        measured={
            "findings": [finding.model_dump(mode="json") for finding in state.critic_findings],
            "counts": dict(counts(state.critic_findings)),
            "dropped": state.critic_findings_dropped,
            "dropped_headings": [raw.split("\n")[0] for raw in state.critic_findings_dropped_raw],
            "unmapped_mcp_names": list(state.unmapped_mcp_names),
            "dangling_citations": [found.model_dump(mode="json") for found in state.dangling_citations],
            "summary": state.critic_summary,
            "servers": list(_figures(state, entries)),
        },
        run={
            "evaluation": state.eval_name,
            **({"critic_output": state.critic_failure_path} if failed else {"report": report_path}),
        },
    )


def _checks(planned: PlannedScenario, execution: Execution) -> tuple[Check, ...]:
    found = execution.outcome.checks if execution.outcome else ()
    return (_ending(planned, execution), *(Check(**check) for check in found))


def _is_cut_off(check: Check, planned: PlannedScenario) -> bool:
    """Whether the end that a scenario is meant to have left a call unanswered, or a check unreached.

    Then the check says nothing against the scenario, once it has ended so.
    """
    if planned.expect_abort is None:
        return False
    timed_out = check.name == "answered" and (check.details or {}).get("reason") == "timeout"
    return timed_out or check.status == "inconclusive"


def _ending(planned: PlannedScenario, execution: Execution) -> Check:
    wanted = planned.expect_abort
    ended = execution.abort_reason
    if ended == wanted:
        words = f"aborted as expected: {ended}" if ended else "carried out"
    elif ended is None:
        words = f"expected to be aborted ({wanted}), but was carried out"
    else:
        words = f"aborted ({ended}): {_REASONS[ended]}"
    rule = {"type": "ending", "abort_reason": wanted}
    return Check(rule, "passed" if ended == wanted else "failed", words)


def _message(execution: Execution, failed: Sequence[Check]) -> str:
    if not failed:
        calls = f"{execution.call_count} call{'' if execution.call_count == 1 else 's'}"
        return f"{execution.status} after {calls}"
    return f"{len(failed)} failed: {names([check.name for check in failed])}; {failed[0].message}"


def _line(entry: TranscriptEntry) -> dict[str, Any]:
    """What is the same in every run that makes the same calls."""
    kept = {
        "id": entry.id,
        "tool": entry.tool,
        "args_summary": entry.args_summary,
        "result_shape": entry.result_shape,
        "justification": entry.justification,
    }
    return {**kept, **({"blocked_tool": entry.blocked_tool} if entry.blocked_tool else {})}


def _figures(state: State, entries: Sequence[TranscriptEntry]) -> Iterable[dict[str, Any]]:
    for found in figures_of(state.attached_mcps, entries):
        yield {
            "server": found.server,
            "tools": found.tools,
            "calls": found.calls,
            "errors": found.errors,
            "description_tokens": found.description_tokens,
        }


def _seconds(execution: Execution) -> float | None:
    return None if execution.ended is None else seconds_between(execution.started, execution.ended)
