"""The files of a whole run: the score of the agent, and its report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder, write_private
from pytest_mcpeval.kinds.agent.captures import UNFINISHED
from pytest_mcpeval.kinds.agent.folders import left_unscored, run_id_of
from pytest_mcpeval.kinds.agent.load import AgentSuite
from pytest_mcpeval.kinds.agent.report import ReportError, render
from pytest_mcpeval.kinds.agent.scoring import (
    AgentScore,
    CaseScore,
    ScoreFileError,
    agent_score,
    read_json,
    read_score,
    write_score,
)

NOT_CAPTURED = "the case was not captured"


def write_agent_files(
    suite: AgentSuite,
    folder: RunFolder,
    *,
    tried: Mapping[str, str],
    scored: Collection[str],
    others_failed: Sequence[str] = (),
) -> list[str]:
    """Write ``score.json`` and ``report.md`` over all cases of the manifest, in their order.

    Those that were scored before and not now, because others were selected or because they could not be
    scored again, are marked; those that have no score at all are named. ``tried`` are the cases that ran,
    each with what is said of it, ``scored`` those that were scored, ``others_failed`` what failed in the
    session besides cases.

    Returns:
        A sentence on where the report is, or why there is none.

    Raises:
        OSError: They cannot be written.
    """
    name = suite.manifest.name
    # Why a case was not captured, only the session knows that tried it.
    reasons = _reasons(folder) if suite.options.mode == "score_only" else tried
    found = {
        case.id: _row(
            name,
            folder.case(case.id),
            tried.get(case.id),
            reason=reasons.get(case.id, ""),
            is_new=case.id in scored,
        )
        for case in suite.manifest.cases
    }
    rows = [row for row in found.values() if row is not None]
    without = [case for case, row in found.items() if row is None]
    score = agent_score(name, run_id_of(folder.path), rows, not_scored=without, others_failed=others_failed)
    write_score(folder.score, score)
    try:
        write_private(folder.report, render(read_score(folder.score), folder.path, {}))
    except (ReportError, ScoreFileError) as error:
        folder.report.unlink(missing_ok=True)
        return [f"agent {name}: no report was written: {error}"]
    captured = any(folder.case(case).path.is_dir() for case in without)
    return [f"agent {name}: {folder.report}", *([left_unscored(suite, folder)] if captured else [])]


def _reasons(folder: RunFolder) -> dict[str, str]:
    """Why cases of a run were not captured, from its score of before."""
    try:
        score = read_score(folder.score)
    except ScoreFileError:
        return {}
    rows = score.cases if isinstance(score, AgentScore) else ()
    errors = {row.case_id: row.error for row in rows if row.error is not None}
    return {case: error.removeprefix(NOT_CAPTURED).removeprefix(": ") for case, error in errors.items()}


def _row(
    agent: str, folder: CaseFolder, said: str | None, *, reason: str, is_new: bool
) -> dict[str, Any] | None:
    """The score of a case, or why it has none; None for one that did not run, or was only captured.

    ``said`` is None for a case that did not run now; ``reason`` says why one was not captured.
    """
    if not folder.path.is_dir():
        if said is None and not reason:
            return None
        return _error(agent, folder, f"{NOT_CAPTURED}: {reason}" if reason else NOT_CAPTURED)
    try:
        found: dict[str, Any] = read_json(folder.score)
    except ScoreFileError:
        if not folder.capture.is_file():
            return _error(agent, folder, UNFINISHED)
        return None if said is None else _error(agent, folder, said or UNFINISHED)
    return found if is_new else {**found, "scored_earlier": True}


def _error(agent: str, folder: CaseFolder, error: str) -> dict[str, Any]:
    return CaseScore(agent_name=agent, case_id=folder.path.name, outcomes=(), error=error).as_data()
