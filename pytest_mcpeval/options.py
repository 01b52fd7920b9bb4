"""The options and ini keys of the plugin. Imported in every session, so it imports next to nothing."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

DATA_FILE_PATTERNS = (
    "*.eval.yaml",
    "*.eval.yml",
    "*.eval.json",
    "*.eval.jsonl",
    "agent.yaml",
    "*.agent.yaml",
    "*.golden.*",
    "*.attacks.*",
    "*.scenarios.*",
)


DATASET_DIRECTORIES = ("datasets",)

DEPENDENT_OPTIONS = (
    "mcpeval_bless",
    "mcpeval_report",
    "mcpeval_shard",
    "mcpeval_sarif",
    "mcpeval_project",
    "mcpeval_tag",
    "mcpeval_difficulty",
    "mcpeval_concurrency",
    "mcpeval_runs",
    "mcpeval_retriever",
    "mcpeval_name",
    "mcpeval_resume",
    "mcpeval_restart",
    "mcpeval_call_budget",
    "mcpeval_wallclock_budget",
    "mcpeval_headed",
    "mcpeval_browser",
    "mcpeval_slow_mo",
    "mcpeval_pool_size",
    "mcpeval_capture_only",
    "mcpeval_score_only",
    "mcpeval_baseline_run",
    "mcpeval_plan",
)

MEASURING_OPTIONS = (
    "mcpeval_runs",
    "mcpeval_retriever",
    "mcpeval_call_budget",
    "mcpeval_wallclock_budget",
    "mcpeval_capture_only",
    "mcpeval_baseline_run",
)
"""The options that change what is measured, or what gates compare with."""

FLAGS = (
    "mcpeval_bless",
    "mcpeval_shard",
    "mcpeval_resume",
    "mcpeval_restart",
    "mcpeval_headed",
    "mcpeval_capture_only",
)
"""The options among them that take no value."""

MOST_CALLS = 999
"""The largest call budget of a session's scenario: ids of calls have three digits."""

POOL_SIZE = 8
"""How many browsers of this user run at once, if nothing else is said."""


def add_options(parser: pytest.Parser) -> None:
    """Declare every option and ini key of the plugin."""
    group = parser.getgroup("mcpeval", "evals of MCP systems (pytest-mcpeval)")
    group.addoption(
        "--mcpeval", action="store_true", help="collect and run evals; without it the plugin is inert"
    )
    group.addoption(
        "--mcpeval-bless",
        action="store_true",
        help="write the baselines of this run; refused when the run is red, partial or filtered",
    )
    group.addoption("--mcpeval-report", metavar="DIR", help="write report.json and report.md into DIR")
    group.addoption(
        "--mcpeval-shard",
        action="store_true",
        help="this run is a part of one: gates are left to `pytest-mcpeval merge`, for which it writes "
        "shard.json into the DIR of --mcpeval-report",
    )
    group.addoption(
        "--mcpeval-sarif",
        metavar="FILE",
        help="write what was found in scanned servers (`security: [{scan: …}]`) into FILE, as SARIF 2.1.0",
    )
    group.addoption(
        "--mcpeval-project",
        action="append",
        default=[],
        metavar="NAME",
        help="only cases of this project (repeatable)",
    )
    group.addoption(
        "--mcpeval-tag",
        action="append",
        default=[],
        metavar="TAG",
        help="only cases with this tag (repeatable)",
    )
    group.addoption(
        "--mcpeval-difficulty",
        action="append",
        default=[],
        metavar="LEVEL",
        choices=("basic", "intermediate", "advanced"),
        help="only cases of this difficulty: basic, intermediate or advanced (repeatable)",
    )
    group.addoption(
        "--mcpeval-concurrency",
        type=_positive,
        metavar="N",
        help="calls in flight at once, for every suite (a suite's own `concurrency` otherwise)",
    )
    group.addoption(
        "--mcpeval-runs",
        type=_positive,
        metavar="N",
        help="ask every case N times and report mean and standard deviation (a suite's own `runs` "
        "otherwise); agents and sessions are asked once all the same",
    )
    group.addoption(
        "--mcpeval-retriever",
        metavar="RETRIEVER",
        help="the search that retrieval suites evaluate instead of their own: bm25, tfidf, "
        "python:pkg.mod:search, fixture:NAME, command:PROGRAM, or a JSON mapping as in mcpeval.yaml",
    )
    _add_session_options(group)
    _add_agent_options(group)
    parser.addini(
        "mcpeval", "collect and run evals without --mcpeval on the command line", "bool", default=False
    )
    parser.addini(
        "mcpeval_datasets",
        "directories in which every data file is a suite",
        "args",
        default=list(DATASET_DIRECTORIES),
    )
    parser.addini(
        "mcpeval_files",
        "names of data files outside the dataset directories",
        "args",
        default=list(DATA_FILE_PATTERNS),
    )
    parser.addini(
        "mcpeval_ignore",
        "globs, relative to the root directory, of data files to leave alone",
        "args",
        default=[],
    )

    parser.addini(
        "mcpeval_inconclusive",
        "what a case without the evidence for a verdict does to the run: fail, or skip (default: fail when "
        "CI is set, else skip)",
        "string",
        default="",
    )
    parser.addini(
        "mcpeval_not_evaluated",
        "what a run that evaluates no gates of a suite, or only some of its cases, does: fail, or warn "
        "(default: fail when CI is set, else warn)",
        "string",
        default="",
    )


def _add_agent_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--mcpeval-headed",
        action="store_true",
        help="show the browsers that drive agents, also where CI is set",
    )
    group.addoption("--mcpeval-browser", metavar="PATH", help="the Chromium that drives agents")
    group.addoption(
        "--mcpeval-slow-mo",
        type=_natural,
        metavar="MS",
        help="milliseconds to wait between actions on a page",
    )
    group.addoption(
        "--mcpeval-pool-size",
        type=_positive,
        metavar="N",
        help=f"browsers at once, over all workers and runs of this user (default: {POOL_SIZE})",
    )
    group.addoption(
        "--mcpeval-capture-only",
        action="store_true",
        help="drive agents and keep what is seen, without scoring",
    )
    group.addoption(
        "--mcpeval-score-only",
        action="append",
        default=[],
        metavar="RUN_DIR",
        help="score an agent's captured run such as runs/AGENT/RUN_ID, without a browser (repeatable, for "
        "several agents)",
    )
    group.addoption(
        "--mcpeval-baseline-run",
        action="append",
        default=[],
        metavar="RUN_DIR",
        help="compare every assertion on an agent with this earlier run (repeatable, for several agents)",
    )
    group.addoption(
        "--mcpeval-plan", metavar="FILE", help="with --collect-only: write what would be driven as JSON"
    )


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"expected a whole number from 0, found {text!r}")
    return int(text)


def _add_session_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--mcpeval-name",
        metavar="NAME",
        help="name of the evaluation that session suites write to mcp-evals/ (default: date and time)",
    )
    group.addoption(
        "--mcpeval-resume", action="store_true", help="go on with an unfinished evaluation of session suites"
    )
    group.addoption(
        "--mcpeval-restart",
        action="store_true",
        help="begin an evaluation anew; the files of the old one are kept in a folder of their own",
    )
    group.addoption(
        "--mcpeval-call-budget",
        type=call_budget,
        metavar="N",
        help=f"calls that a scenario of a session may make (default: 20, at most {MOST_CALLS})",
    )
    group.addoption(
        "--mcpeval-wallclock-budget",
        type=minutes,
        metavar="MINUTES",
        help="minutes that all scenarios of a session may take together (default: 15)",
    )


def call_budget(text: str) -> int:
    """The calls that a text stands for, at most `MOST_CALLS`.

    Raises:
        ArgumentTypeError: It is no whole number from 1.
    """
    return min(_positive(text), MOST_CALLS)


def minutes(text: str) -> float:
    """The minutes that a text stands for.

    Raises:
        ArgumentTypeError: They are not more than 0 and at most 1440.
    """
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1440:
        raise ArgumentTypeError(f"expected minutes, more than 0 and at most 1440, found {text!r}")
    return found


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a whole number from 1, found {text!r}")
    return int(text)


def is_enabled(config: pytest.Config) -> bool:
    """Whether this session was asked to run evals.

    Raises:
        pytest.UsageError: It was not, and an option was given that has no effect without.
    """
    if config.getoption("mcpeval") or config.getini("mcpeval"):
        return True
    given = [name for name in DEPENDENT_OPTIONS if config.getoption(name)]
    if given:
        option = spelled(given[0])
        raise pytest.UsageError(f"{option} has no effect without --mcpeval (or the ini key mcpeval = true)")
    return False


def spelled(name: str) -> str:
    """An option as it is written on the command line."""
    return "--" + name.replace("_", "-")
