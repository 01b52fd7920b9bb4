"""The files of a whole run: the score of the agent, and its report."""

from __future__ import annotations

from typing import Any

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder
from pytest_mcpeval.kinds.agent.captures import UNFINISHED
from pytest_mcpeval.kinds.agent.score_file import ScoreFileError, read_json, write_score
from pytest_mcpeval.kinds.agent.scoring import CaseScore, agent_score
from pytest_mcpeval.kinds.agent.spec import AgentSuite


def write_agent_files(suite: AgentSuite, folder: RunFolder) -> None:
    """Write ``score.json`` and ``report.md`` over all cases in the folder, in the order of the manifest.

    Raises:
        OSError: They cannot be written.
    """
    cases = [case.id for case in suite.manifest.cases if folder.case(case.id).path.is_dir()]
    rows = [_row(suite.manifest.name, case, folder.case(case)) for case in cases]
    write_score(folder.score, agent_score(suite.manifest.name, folder.path.name, rows))


def _row(agent: str, case: str, folder: CaseFolder) -> dict[str, Any]:
    """The score of a case; one whose process died left none."""
    try:
        found: dict[str, Any] = read_json(folder.score)
    except ScoreFileError:
        return CaseScore(agent, case, (), UNFINISHED).as_data()
    return found
