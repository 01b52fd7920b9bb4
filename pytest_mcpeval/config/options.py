"""The options and ini keys of the plugin. Imported in every session, so it imports next to nothing."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_mcpeval.core.option import Option, positive

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

OPTIONS = (
    Option(
        "--mcpeval-bless", "write the baselines of this run; refused when the run is red, partial or filtered"
    ),
    Option("--mcpeval-report", "write report.json, report.md and report.html into DIR", metavar="DIR"),
    Option(
        "--mcpeval-history",
        "append the results of this run to FILE as a line of JSON, and show the last runs in report.json",
        metavar="FILE",
    ),
    Option(
        "--mcpeval-shard",
        "this run is a shard: `pytest-mcpeval merge` judges its gates, from the shard.json that it "
        "writes into the DIR of --mcpeval-report",
    ),
    Option(
        "--mcpeval-project", "only cases of this project (repeatable)", metavar="NAME", is_repeatable=True
    ),
    Option("--mcpeval-tag", "only cases with this tag (repeatable)", metavar="TAG", is_repeatable=True),
    Option(
        "--mcpeval-difficulty",
        "only cases of this difficulty: basic, intermediate or advanced (repeatable)",
        metavar="LEVEL",
        choices=("basic", "intermediate", "advanced"),
        is_repeatable=True,
    ),
    Option(
        "--mcpeval-concurrency",
        "calls in flight at once, for every suite (default: the suite's `concurrency`)",
        metavar="N",
        type=positive,
    ),
    Option(
        "--mcpeval-runs",
        "ask every case N times and report mean and standard deviation (default: the suite's "
        "`runs`); agents and sessions are always asked once",
        metavar="N",
        type=positive,
        changes_measure=True,
    ),
)
"""Those that belong to no kind. All have no effect without ``--mcpeval``."""


def add_options(parser: pytest.Parser, options: Iterable[Option]) -> None:
    """Declare ``--mcpeval``, further options, and every ini key of the plugin."""
    group = parser.getgroup("mcpeval", "evals of MCP systems (pytest-mcpeval)")
    group.addoption(
        "--mcpeval", action="store_true", help="collect and run evals; without it the plugin is inert"
    )
    for option in options:
        group.addoption(option.name, **option.attributes())
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
        "globs, relative to the root directory, of data files that are not collected",
        "args",
        default=[],
    )

    parser.addini(
        "mcpeval_inconclusive",
        "whether a case without the evidence for a verdict makes the run fail or is skipped: fail or "
        "skip (default: fail when "
        "CI is set, else skip)",
        "string",
        default="",
    )
    parser.addini(
        "mcpeval_not_evaluated",
        "whether a run that does not evaluate the gates of a suite, or only some of its cases, fails: "
        "fail or warn "
        "(default: fail when CI is set, else warn)",
        "string",
        default="",
    )
    parser.addini(
        "mcpeval_github",
        "on GitHub Actions, annotate files and append report.md to the summary of the step",
        "bool",
        default=True,
    )


def is_enabled(config: pytest.Config, options: Iterable[Option]) -> bool:
    """Whether this session was asked to run evals.

    Raises:
        pytest.UsageError: It was not, and one of ``options`` was given, which has no effect without.
    """
    if config.getoption("mcpeval") or config.getini("mcpeval"):
        return True
    for option in options:
        if config.getoption(option.dest):
            raise pytest.UsageError(
                f"{option.name} has no effect without --mcpeval (or the ini key mcpeval = true)"
            )
    return False
