"""The files of a whole run: the score of the agent, and its report."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder, write_private
from pytest_mcpeval.kinds.agent.captures import UNFINISHED
from pytest_mcpeval.kinds.agent.report import ReportError, render
from pytest_mcpeval.kinds.agent.score_file import ScoreFileError, read_json, read_score, write_score
from pytest_mcpeval.kinds.agent.scoring import CaseScore, agent_score
from pytest_mcpeval.kinds.agent.spec import AgentSuite


def write_agent_files(
    suite: AgentSuite, folder: RunFolder, *, tried: Collection[str], scored: Collection[str]
) -> list[str]:
    """Write ``score.json`` and ``report.md`` over all cases in the folder, in the order of the manifest.

    Those that were scored before and not now, because others were selected or because they could not be
    scored again, are marked. ``tried`` are the cases that ran, ``scored`` those that were scored.

    Returns:
        A sentence on where the report is, or why there is none.

    Raises:
        OSError: They cannot be written.
    """
    cases = [case.id for case in suite.manifest.cases if folder.case(case.id).path.is_dir()]
    name = suite.manifest.name
    found = [
        _row(name, case, folder.case(case), was_tried=case in tried, is_new=case in scored) for case in cases
    ]
    rows = [row for row in found if row is not None]
    write_score(folder.score, agent_score(name, folder.path.name, rows))
    try:
        write_private(folder.report, render(read_score(folder.score), folder.path, {}))
    except (ReportError, ScoreFileError) as error:
        folder.report.unlink(missing_ok=True)
        return [f"agent {name}: no report was written: {error}"]
    return [f"agent {name}: {folder.report}"]


def _row(
    agent: str, case: str, folder: CaseFolder, *, was_tried: bool, is_new: bool
) -> dict[str, Any] | None:
    """The score of a case; one whose process died left none, and one that was only captured has none."""
    try:
        found: dict[str, Any] = read_json(folder.score)
    except ScoreFileError:
        if not was_tried and folder.capture.is_file():
            return None
        return CaseScore(agent, case, (), UNFINISHED).as_data()
    return found if is_new else {**found, "scored_earlier": True}
