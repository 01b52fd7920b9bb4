"""``pytest-mcpeval validate-narrative``: whether a narrative stands on what was captured."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

DESCRIPTION = """\
Check that a narrative.json belongs to the case of a score, and that it cites only captured files, below
trace/ in the case's folder.

  {"case_id": "…", "summary": "…",
   "observations": [{"text": "…", "citations": [{"artifact_path": "trace/dom/…", "detail": "…"}]}]}

A citation of a log may name a `span_id`, which must be in the log.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "validate-narrative",
        help="check that a narrative cites only captured files of its case",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("narrative", type=Path, metavar="NARRATIVE", help="a narrative.json")
    parser.add_argument(
        "--score", type=Path, required=True, metavar="SCORE", help="the score.json of the case"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Check the narrative; prints a summary, or every problem on stderr."""
    from pytest_mcpeval.kinds.agent.narrative import NarrativeError, read_narrative
    from pytest_mcpeval.kinds.agent.scoring import CaseScore, ScoreFileError, case_folder, read_score
    from pytest_mcpeval.text.visible import visible

    try:
        score = read_score(options.score)
        if not isinstance(score, CaseScore):
            message = "is the score of a whole run: give that of a case, RUN_DIR/CASE/score.json"
            raise ScoreFileError(f"{options.score}: {message}")
        folder = case_folder(options.score.parent, score)
        narrative = read_narrative(options.narrative, score.case_id, folder)
    except ScoreFileError as error:
        print(visible(f"{options.prog}: {error}"), file=sys.stderr)
        return 1
    except NarrativeError as error:
        for problem in error.problems:
            print(visible(f"{options.narrative}: {problem}"), file=sys.stderr)
        return 1
    cited = sum(len(observation.citations) for observation in narrative.observations)
    print(f"{options.narrative}: grounded")
    print(f"  case          {score.case_id} of {score.agent_name} ({score.outcome})")
    print(f"  observations  {len(narrative.observations)}")
    print(f"  citations     {cited}, all found in {folder.path}")
    return 0
