"""The options about agents. Imported in every session, so it imports next to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mcpeval.core.option import Option, natural, positive

if TYPE_CHECKING:
    from pytest_mcpeval.core.declaration import CommandLine
    from pytest_mcpeval.kinds.agent.options import RunOptions

POOL_SIZE = 8
"""How many browsers of this user run at once, if nothing else is said."""

OPTIONS = (
    Option("--mcpeval-headed", "show the browsers that visit agents, even if CI is set"),
    Option("--mcpeval-browser", "the Chromium for visits of agents", metavar="PATH"),
    Option("--mcpeval-slow-mo", "milliseconds to wait between actions on a page", metavar="MS", type=natural),
    Option(
        "--mcpeval-pool-size",
        f"browsers at once, over all workers and runs of this user (default: {POOL_SIZE})",
        metavar="N",
        type=positive,
    ),
    Option(
        "--mcpeval-capture-only",
        "visit agents and save what is captured, without scoring",
        changes_measure=True,
    ),
    Option(
        "--mcpeval-score-only",
        "score an agent's captured run such as runs/AGENT/RUN_ID, without a browser (repeatable, for "
        "several agents)",
        metavar="RUN_DIR",
        is_repeatable=True,
    ),
    Option(
        "--mcpeval-baseline-run",
        "compare every assertion on an agent with this earlier run (repeatable, for several agents)",
        metavar="RUN_DIR",
        is_repeatable=True,
        changes_measure=True,
        is_path=True,
    ),
    Option(
        "--mcpeval-plan", "with --collect-only: write which visits would take place, as JSON", metavar="FILE"
    ),
)


def run_options(command_line: CommandLine) -> RunOptions:
    """How agents are driven in a session.

    Raises:
        ValueError: Options do not go together, or a directory does not exist.
    """
    from pytest_mcpeval.browser.artifacts import new_run_id
    from pytest_mcpeval.browser.directive import DriverOptions
    from pytest_mcpeval.kinds.agent.options import RunOptions

    value = command_line.value
    score_only = _directories(command_line, "mcpeval_score_only")
    if score_only and value("mcpeval_capture_only"):
        raise ValueError("--mcpeval-capture-only and --mcpeval-score-only exclude each other: give one")
    browser = value("mcpeval_browser")
    driver = DriverOptions(
        headed=value("mcpeval_headed") or None,
        browser=str(command_line.directory / browser) if browser else None,
        slow_mo_ms=value("mcpeval_slow_mo") or 0,
        pool_size=value("mcpeval_pool_size") or POOL_SIZE,
    )
    return RunOptions(
        run_id=command_line.decided.get("run_id") or new_run_id(),
        runs_root=command_line.root / "runs",
        runs=value("mcpeval_runs"),
        capture_only=bool(value("mcpeval_capture_only")),
        score_only=score_only,
        baseline_runs=_directories(command_line, "mcpeval_baseline_run"),
        driver=driver,
        plan=_plan(command_line),
    )


def _directories(command_line: CommandLine, option: str) -> tuple[Path, ...]:
    spelled = "--" + option.replace("_", "-")
    found = tuple(command_line.directory / name for name in command_line.value(option) or ())
    for directory in found:
        if not directory.is_dir():
            raise ValueError(f"{spelled}: there is no directory {directory}")
    if len(found) > 1:
        from pytest_mcpeval.kinds.agent.folders import check_one_of_each_agent

        try:
            check_one_of_each_agent(found)
        except ValueError as error:
            raise ValueError(f"{spelled}: {error}") from None
    return found


def _plan(command_line: CommandLine) -> Path | None:
    name = command_line.value("mcpeval_plan")
    if name and not command_line.value("collectonly"):
        raise ValueError("--mcpeval-plan needs --collect-only: nothing is visited when a plan is written")
    if name and command_line.value("mcpeval_score_only"):
        raise ValueError("--mcpeval-plan and --mcpeval-score-only exclude each other: a plan lists visits")
    return command_line.directory / name if name else None
