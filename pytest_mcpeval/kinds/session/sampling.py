"""The files of an evaluation → the samples of its items. Pure, except for redaction of what agents said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.gate import names
from pytest_mcpeval.core.sample import Check, Outcome, Sample
from pytest_mcpeval.kinds.session.critic.findings import counts, found_words
from pytest_mcpeval.kinds.session.endings import ending_of, endings_of
from pytest_mcpeval.kinds.session.figures import figures_of
from pytest_mcpeval.kinds.session.records import TranscriptEntry
from pytest_mcpeval.kinds.session.report import NOTHING_TO_EVALUATE
from pytest_mcpeval.kinds.session.spec import SessionSpec, SessionSuite
from pytest_mcpeval.kinds.session.state import Execution, State, seconds_between

NO_SERVERS = "NO SERVERS"
_FIGURES = ("server", "tools", "calls", "errors", "description_tokens")


def scenario_sample(
    suite: SessionSuite, case: Case[SessionSpec], state: State, entries: Sequence[TranscriptEntry]
) -> Sample:
    """The sample of a scenario that is over; without servers, it was not tried."""
    scenario = case.spec
    assert scenario is not None, "the report has a sample of its own"
    if not state.attached_mcps:
        return nothing_sample(suite, case)
    execution = state.execution_of(case.id)
    assert execution is not None, "it is over"
    ending = ending_of(scenario, state, entries)
    outcome: Outcome = "failed" if ending.failed else "passed"
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome="error" if any(check.broke for check in ending.checks) else outcome,
        checks=ending.checks,
        message=_message(execution, ending.failed),
        traits={**case.traits, "name": scenario.description},
        measured={
            "status": execution.status,
            "abort_reason": execution.abort_reason,
            "call_count": ending.calls,
            "blocked": ending.blocked,
            "ended": ending.words,
            "transcript": [_line(entry) for entry in entries if entry.scenario_id == case.id],
        },
        run={
            "answer": execution.outcome.answer if execution.outcome else "",
            "seconds": execution.ended and seconds_between(execution.started, execution.ended),
            "started": execution.started,
        },
    )


def nothing_sample(suite: SessionSuite, case: Case[SessionSpec]) -> Sample:
    """Return the sample if no server is attached, so that nothing was evaluated."""
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome="skipped",
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
        run = {"evaluation": state.eval_name, "report": report_path}
        return replace(nothing_sample(suite, case), run=run)
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
            "servers": [
                {name: getattr(found, name) for name in _FIGURES}
                for found in figures_of(state.attached_mcps, entries)
            ],
            "endings": {ending.scenario.id: ending.words for ending in endings_of(state, entries)},
        },
        run={
            "evaluation": state.eval_name,
            **({"critic_output": state.critic_failure_path} if failed else {"report": report_path}),
        },
    )


def _message(execution: Execution, failed: Sequence[Check]) -> str:
    if not failed:
        calls = f"{execution.call_count} call{'' if execution.call_count == 1 else 's'}"
        return f"{execution.status} after {calls}"
    return f"{len(failed)} failed: {names([check.name for check in failed])}; {failed[0].message}"


def _line(entry: TranscriptEntry) -> dict[str, Any]:
    """Return the fields of an entry that are equal in every run with the same calls."""
    kept = {
        "id": entry.id,
        "tool": entry.tool,
        "args_summary": entry.args_summary,
        "result_shape": entry.result_shape,
        "justification": entry.justification,
    }
    return {**kept, **({"blocked_tool": entry.blocked_tool} if entry.blocked_tool else {})}
