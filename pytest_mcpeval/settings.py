"""Options and ini keys → one frozen `Settings`. What belongs to a directory is in `project_file`."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    "mcpeval_project",
    "mcpeval_tag",
    "mcpeval_difficulty",
    "mcpeval_concurrency",
)


@dataclass(frozen=True)
class Settings:
    """What the command line and the ini file say about this session.

    ``datasets`` are absolute directories; ``data_files`` and ``ignore`` are glob patterns. ``projects``,
    ``tags`` and ``difficulties`` select cases; empty means all. ``concurrency`` overrides every suite's own,
    ``overrides`` (kind → settings) those of all suites of a kind.
    """

    rootdir: Path
    datasets: tuple[Path, ...] = ()
    data_files: tuple[str, ...] = DATA_FILE_PATTERNS
    ignore: tuple[str, ...] = ()
    projects: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    difficulties: frozenset[str] = frozenset()
    concurrency: int | None = None
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bless: bool = False
    report_directory: Path | None = None
    cache_directory: Path | None = None


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
        "--mcpeval-retriever",
        metavar="RETRIEVER",
        help="the search that retrieval suites evaluate instead of their own: bm25, tfidf, "
        "python:pkg.mod:search, fixture:NAME, command:PROGRAM, or a JSON mapping as in mcpeval.yaml",
    )
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
        option = "--" + given[0].replace("_", "-")
        raise pytest.UsageError(f"{option} has no effect without --mcpeval (or the ini key mcpeval = true)")
    return False


def settings_from(config: pytest.Config) -> Settings:
    """The frozen settings of this session.

    Raises:
        pytest.UsageError: A directory that the ini key ``mcpeval_datasets`` names does not exist.
    """
    root = config.rootpath
    report = config.getoption("mcpeval_report")
    return Settings(
        rootdir=root,
        datasets=tuple(_dataset_directories(config)),
        data_files=tuple(config.getini("mcpeval_files")),
        ignore=tuple(config.getini("mcpeval_ignore")),
        projects=frozenset(config.getoption("mcpeval_project")),
        tags=frozenset(config.getoption("mcpeval_tag")),
        difficulties=frozenset(config.getoption("mcpeval_difficulty")),
        concurrency=config.getoption("mcpeval_concurrency"),
        overrides=_overrides(config),
        bless=config.getoption("mcpeval_bless"),
        report_directory=config.invocation_params.dir / report if report else None,
        cache_directory=_cache_directory(config),
    )


def _dataset_directories(config: pytest.Config) -> Iterator[Path]:
    for name in config.getini("mcpeval_datasets"):
        directory = Path(os.path.normpath(config.rootpath / name))
        if name not in DATASET_DIRECTORIES and not directory.is_dir():
            raise pytest.UsageError(
                f"ini key mcpeval_datasets: there is no directory {name!r} in {config.rootpath}"
            )
        yield directory


def _overrides(config: pytest.Config) -> dict[str, dict[str, Any]]:
    text = config.getoption("mcpeval_retriever")
    if text is None:
        return {}
    from pytest_mcpeval.kinds.retrieval.retrievers import retriever_from_text

    try:
        return {"retrieval": {"retriever": retriever_from_text(text, config.invocation_params.dir)}}
    except ValueError as error:
        raise pytest.UsageError(f"--mcpeval-retriever: {error}") from None


def _cache_directory(config: pytest.Config) -> Path | None:
    if not config.pluginmanager.hasplugin("cacheprovider"):
        return None
    return config.cache.mkdir("mcpeval") if config.cache is not None else None
