"""``pytest-mcpeval report``: the report on a captured and scored run of an agent."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.agent.scoring import Score

DESCRIPTION = """\
Print a Markdown report on an agent's run, or on one case of it. If a cited file does not exist,
nothing is printed, and the exit code is 1.

The text on a case is its narrative: the one given here, else CASE/narrative.json or narratives/CASE.json in
the folder of the run, else one made from the score.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "report",
        help="print the report on an agent's run as Markdown",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "run_dir", type=Path, metavar="RUN_DIR", help="a folder with a score.json, or that file itself"
    )
    parser.add_argument("--narrative", type=Path, metavar="FILE", help="narrative of the case (of one case)")
    parser.add_argument(
        "--narratives-dir", type=Path, metavar="DIR", help="narratives CASE.json (of a whole run)"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the report."""
    from pytest_mcpeval.kinds.agent.report import ReportError, render
    from pytest_mcpeval.kinds.agent.scoring import ScoreFileError, read_score
    from pytest_mcpeval.text.visible import visible

    path: Path = options.run_dir / "score.json" if options.run_dir.is_dir() else options.run_dir
    try:
        score = read_score(path)
        print(visible(render(score, path.parent, _narratives(score, options))), end="")
    except (ScoreFileError, ReportError) as error:
        for line in str(error).splitlines():
            print(visible(f"{options.prog}: {line}"), file=sys.stderr)
        return 1
    return 0


def _narratives(score: Score, options: argparse.Namespace) -> dict[str, Path]:
    """Case id → the narrative that was given for it.

    Raises:
        ReportError: It was given in the way that is meant for the other kind of score.
    """
    from pytest_mcpeval.kinds.agent.report import ReportError
    from pytest_mcpeval.kinds.agent.scoring import CaseScore

    is_case = isinstance(score, CaseScore)
    if options.narratives_dir and is_case:
        raise ReportError(["--narratives-dir goes with a whole run: give --narrative for a case"])
    if options.narrative and not is_case:
        raise ReportError(["--narrative goes with a case: give --narratives-dir for a whole run"])
    if isinstance(score, CaseScore):
        return {score.case_id: options.narrative} if options.narrative else {}
    if not options.narratives_dir:
        return {}
    if not options.narratives_dir.is_dir():
        raise ReportError([f"--narratives-dir: there is no directory {options.narratives_dir}"])
    found = {path.stem: path for path in sorted(options.narratives_dir.glob("*.json"))}
    unknown = sorted(found.keys() - {row.case_id for row in score.cases})
    if unknown:
        raise ReportError([f"--narratives-dir: the run has no case {case!r}" for case in unknown])
    return found
