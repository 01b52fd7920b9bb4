"""Options and ini keys → one frozen `Settings`. What belongs to a directory is in `project_file`."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_mcpeval.config.options import DATA_FILE_PATTERNS, DATASET_DIRECTORIES, OPTIONS
from pytest_mcpeval.config.root_directory import values_that_move
from pytest_mcpeval.core.declaration import CommandLine, KindDeclaration
from pytest_mcpeval.core.option import Option

DECIDED = "mcpeval_options"
"""Where a worker finds what the first process of the run decided, as JSON."""

Inconclusive = Literal["fail", "skip"]
NotEvaluated = Literal["fail", "warn"]

ONLY_SHOWING = {
    "collectonly": "--collect-only",
    "setupplan": "--setup-plan",
    "setuponly": "--setup-only",
    "showfixtures": "--fixtures",
    "show_fixtures_per_test": "--fixtures-per-test",
    "cacheshow": "--cache-show",
}
"""Options of pytest with which no case runs; --setup-plan implies --setup-only."""


@dataclass(frozen=True)
class Settings:
    """What the command line and the ini file say about this session.

    ``datasets`` are absolute directories; ``data_files`` and ``ignore`` are glob patterns. ``projects``,
    ``tags`` and ``difficulties`` select cases; empty means all. ``concurrency`` and ``runs`` override every
    suite's own; ``options`` maps kinds to what the command line says to them. A ``shard`` is a part of a run;
    ``measuring_options`` are those of its command line that all parts must have. ``inconclusive`` says what a
    case without the evidence for a verdict does to the run, ``not_evaluated`` what it does that the run has
    none. ``github`` allows what GitHub Actions shows of a run.
    """

    rootdir: Path
    datasets: tuple[Path, ...] = ()
    data_files: tuple[str, ...] = DATA_FILE_PATTERNS
    ignore: tuple[str, ...] = ()
    projects: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    difficulties: frozenset[str] = frozenset()
    concurrency: int | None = None
    runs: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    bless: bool = False
    shard: bool = False
    measuring_options: tuple[str, ...] = ()
    report_directory: Path | None = None
    history_file: Path | None = None
    cache_directory: Path | None = None
    inconclusive: Inconclusive = "skip"
    not_evaluated: NotEvaluated = "warn"
    github: bool = True

    @property
    def fails_without_verdict(self) -> bool:
        """Whether a partial run fails: blessing and shards leave gates out on purpose."""
        return self.not_evaluated == "fail" and not (self.bless or self.shard)


def settings_from(config: pytest.Config, shapes: Sequence[KindDeclaration]) -> Settings:
    """The frozen settings of this session; ``shapes`` are all kinds, which have options of their own.

    Raises:
        pytest.UsageError: A directory that the ini key ``mcpeval_datasets`` names does not exist, options do
            not go together, or pytest took the value of one for a path of tests.
    """
    table = (*OPTIONS, *(option for shape in shapes for option in shape.option_table))
    _check_root(config, table)
    root = config.rootpath
    report, history = config.getoption("mcpeval_report"), config.getoption("mcpeval_history")
    return Settings(
        rootdir=root,
        datasets=tuple(_dataset_directories(config)),
        data_files=tuple(config.getini("mcpeval_files")),
        ignore=tuple(config.getini("mcpeval_ignore")),
        projects=frozenset(config.getoption("mcpeval_project")),
        tags=frozenset(config.getoption("mcpeval_tag")),
        difficulties=frozenset(config.getoption("mcpeval_difficulty")),
        concurrency=config.getoption("mcpeval_concurrency"),
        runs=config.getoption("mcpeval_runs"),
        options={shape.name: _options_of(shape, config) for shape in shapes},
        bless=_bless(config),
        shard=_shard(config),
        measuring_options=tuple(_measuring_options(config, table)),
        report_directory=config.invocation_params.dir / report if report else None,
        history_file=config.invocation_params.dir / history if history else None,
        cache_directory=_cache_directory(config),
        inconclusive="fail" if _fails(config, "mcpeval_inconclusive", "skip") else "skip",
        not_evaluated="fail" if _fails(config, "mcpeval_not_evaluated", "warn") else "warn",
        github=config.getini("mcpeval_github"),
    )


def _check_root(config: pytest.Config, table: Iterable[Option]) -> None:
    """pytest looks for the project before it knows our options: what follows one is a path to it."""
    if hasattr(config, "workerinput") or config.getoption("inifilename", None):
        return
    typed = config.args_source is pytest.Config.ArgsSource.ARGS
    arguments = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *config.invocation_params.args]
    options = [option.name for option in table if not option.is_flag]
    start = config.invocation_params.dir
    for option, value in values_that_move(arguments, options, start, config.args if typed else ()):
        raise pytest.UsageError(
            f"{option} {value}: pytest takes a separate value for a path of tests, and would look "
            f"for the project there: write {option}={value}"
        )


def _dataset_directories(config: pytest.Config) -> Iterator[Path]:
    for name in config.getini("mcpeval_datasets"):
        directory = Path(os.path.normpath(config.rootpath / name))
        if name not in DATASET_DIRECTORIES and not directory.is_dir():
            raise pytest.UsageError(
                f"ini key mcpeval_datasets: there is no directory {name!r} in {config.rootpath}"
            )
        yield directory


def _bless(config: pytest.Config) -> bool:
    found = next((option for name, option in ONLY_SHOWING.items() if config.getoption(name, False)), None)
    wanted: bool = config.getoption("mcpeval_bless")
    if wanted and found:
        raise pytest.UsageError(
            f"--mcpeval-bless has no effect with {found}: no case runs, so nothing is measured"
        )
    return wanted


def _shard(config: pytest.Config) -> bool:
    wanted: bool = config.getoption("mcpeval_shard")
    if wanted and not config.getoption("mcpeval_report"):
        raise pytest.UsageError(
            "--mcpeval-shard needs --mcpeval-report DIR, where `pytest-mcpeval merge` finds it"
        )
    if wanted and config.getoption("mcpeval_history"):
        raise pytest.UsageError(
            "--mcpeval-history with --mcpeval-shard would note the numbers of a part: "
            "give `pytest-mcpeval merge --history FILE DIR…`"
        )
    if wanted and config.getoption("mcpeval_bless"):
        raise pytest.UsageError(
            "--mcpeval-bless with --mcpeval-shard would commit the numbers of a part: "
            "bless with `pytest-mcpeval merge --bless DIR…`"
        )
    return wanted


def _measuring_options(config: pytest.Config, options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        found = config.getoption(option.dest) if option.changes_measure else None
        for value in found if isinstance(found, list) else [found]:
            if value and option.is_path:
                value = os.path.relpath(config.invocation_params.dir / value, config.rootpath)
            if value:
                yield option.name if option.is_flag else f"{option.name}={value}"


def _options_of(shape: KindDeclaration, config: pytest.Config) -> Any:
    """What the options say to a kind; what all processes must agree on, the first of them decides."""
    decided = json.loads(getattr(config, "workerinput", {}).get(DECIDED, "{}"))
    try:
        return shape.options(
            CommandLine(
                config.rootpath, config.invocation_params.dir, config.getoption, decided.get(shape.name, {})
            )
        )
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def _fails(config: pytest.Config, key: str, otherwise: str) -> bool:
    """Whether an ini key says ``fail``; where it says nothing, whether this is a CI job."""
    found = config.getini(key) or ("fail" if os.environ.get("CI") else otherwise)
    if found not in ("fail", otherwise):
        raise pytest.UsageError(f"ini key {key}: expected fail or {otherwise}, found {found!r}")
    return bool(found == "fail")


def _cache_directory(config: pytest.Config) -> Path | None:
    if not config.pluginmanager.hasplugin("cacheprovider"):
        return None
    # A checkout that cannot be written has none.
    with suppress(OSError):
        return config.cache.mkdir("mcpeval") if config.cache is not None else None
    return None
