"""Options and ini keys → one frozen `Settings`. What belongs to a directory is in `project_file`."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_mcpeval.browser.artifacts import new_run_id
from pytest_mcpeval.browser.directive import DriverOptions
from pytest_mcpeval.kinds.agent.options import RunOptions
from pytest_mcpeval.kinds.session.options import SessionOptions, session_options
from pytest_mcpeval.options import (
    DATA_FILE_PATTERNS,
    DATASET_DIRECTORIES,
    DEPENDENT_OPTIONS,
    FLAGS,
    MEASURING_OPTIONS,
    POOL_SIZE,
    spelled,
)
from pytest_mcpeval.root_directory import values_that_move

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
    suite's own, ``overrides`` (kind → settings) those of all suites of a kind. A ``shard`` is a part of a
    run; ``measuring_options`` are those of its command line that all parts must have. ``inconclusive`` says
    what a case without the evidence for a verdict does to the run, ``not_evaluated`` what it does that the
    run has none. ``session`` is how sessions are named and begun, ``run`` how agents are driven; ``plan`` is
    the file that is to hold what would be.
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
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bless: bool = False
    shard: bool = False
    measuring_options: tuple[str, ...] = ()
    report_directory: Path | None = None
    sarif_file: Path | None = None
    cache_directory: Path | None = None
    session: SessionOptions = field(default_factory=SessionOptions)
    inconclusive: Inconclusive = "skip"
    not_evaluated: NotEvaluated = "warn"
    run: RunOptions = field(default_factory=RunOptions)
    plan: Path | None = None


def settings_from(config: pytest.Config) -> Settings:
    """The frozen settings of this session.

    Raises:
        pytest.UsageError: A directory that the ini key ``mcpeval_datasets`` names does not exist, options do
            not go together, or pytest took the value of one for a path of tests.
    """
    _check_root(config)
    root = config.rootpath
    report, sarif = config.getoption("mcpeval_report"), config.getoption("mcpeval_sarif")
    run = _run_options(config)
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
        overrides={**_overrides(config), "agent": {"options": run}},
        bless=_bless(config),
        shard=_shard(config),
        measuring_options=tuple(_measuring_options(config)),
        report_directory=config.invocation_params.dir / report if report else None,
        sarif_file=config.invocation_params.dir / sarif if sarif else None,
        cache_directory=_cache_directory(config),
        session=_session_options(config),
        inconclusive="fail" if _fails(config, "mcpeval_inconclusive", "skip") else "skip",
        not_evaluated="fail" if _fails(config, "mcpeval_not_evaluated", "warn") else "warn",
        run=run,
        plan=_plan(config),
    )


def _check_root(config: pytest.Config) -> None:
    """pytest looks for the project before it knows our options: what follows one is a path to it."""
    if hasattr(config, "workerinput") or config.getoption("inifilename", None):
        return
    typed = config.args_source is pytest.Config.ArgsSource.ARGS
    arguments = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *config.invocation_params.args]
    options = [spelled(name) for name in DEPENDENT_OPTIONS if name not in FLAGS]
    start = config.invocation_params.dir
    for option, value in values_that_move(arguments, options, start, config.args if typed else ()):
        raise pytest.UsageError(
            f"{option} {value}: pytest takes a value that stands apart for a path of tests, and would look "
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


def _overrides(config: pytest.Config) -> dict[str, dict[str, Any]]:
    budgets = {
        name: value
        for name in ("call_budget", "wallclock_budget")
        if (value := config.getoption(f"mcpeval_{name}")) is not None
    }
    found = {"session": budgets, "retrieval": _retriever(config)}
    return {kind: settings for kind, settings in found.items() if settings}


def _retriever(config: pytest.Config) -> dict[str, Any]:
    text = config.getoption("mcpeval_retriever")
    if text is None:
        return {}
    if config.getoption("mcpeval_bless"):
        raise pytest.UsageError(
            "--mcpeval-bless with --mcpeval-retriever would commit the numbers of another search: "
            "name the retriever in mcpeval.yaml, then bless"
        )
    from pytest_mcpeval.kinds.retrieval.retrievers import retriever_from_text

    try:
        return {"retriever": retriever_from_text(text, config.invocation_params.dir)}
    except ValueError as error:
        raise pytest.UsageError(f"--mcpeval-retriever: {error}") from None


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
    if wanted and config.getoption("mcpeval_bless"):
        raise pytest.UsageError(
            "--mcpeval-bless with --mcpeval-shard would commit the numbers of a part: "
            "bless with `pytest-mcpeval merge --bless DIR…`"
        )
    return wanted


def _measuring_options(config: pytest.Config) -> Iterator[str]:
    for name in MEASURING_OPTIONS:
        found = config.getoption(name)
        for value in found if isinstance(found, list) else [found]:
            if name == "mcpeval_baseline_run":
                value = os.path.relpath(config.invocation_params.dir / value, config.rootpath)
            if value:
                yield spelled(name) if name in FLAGS else f"{spelled(name)}={value}"


def _session_options(config: pytest.Config) -> SessionOptions:
    """What all processes of a run must agree on is decided by the first of them."""
    worker = getattr(config, "workerinput", {})
    if "mcpeval_session" in worker:
        return SessionOptions.from_data(json.loads(worker["mcpeval_session"]))
    try:
        return session_options(
            config.rootpath,
            config.getoption("mcpeval_name"),
            resume=config.getoption("mcpeval_resume"),
            restart=config.getoption("mcpeval_restart"),
        )
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def _fails(config: pytest.Config, key: str, otherwise: str) -> bool:
    """Whether an ini key says ``fail``; where it says nothing, whether this is a CI job."""
    found = config.getini(key) or ("fail" if os.environ.get("CI") else otherwise)
    if found not in ("fail", otherwise):
        raise pytest.UsageError(f"ini key {key}: expected fail or {otherwise}, found {found!r}")
    return bool(found == "fail")


def _run_options(config: pytest.Config) -> RunOptions:
    score_only = _directories(config, "mcpeval_score_only")
    if score_only and config.getoption("mcpeval_capture_only"):
        raise pytest.UsageError(
            "--mcpeval-capture-only and --mcpeval-score-only exclude each other: give one"
        )
    # Workers get the id from the controller, so that a session has one folder for each agent.
    run_id = getattr(config, "workerinput", {}).get("mcpeval_run_id") or new_run_id()
    return RunOptions(
        run_id=run_id,
        runs_root=config.rootpath / "runs",
        runs=config.getoption("mcpeval_runs"),
        capture_only=config.getoption("mcpeval_capture_only"),
        score_only=score_only,
        baseline_runs=_directories(config, "mcpeval_baseline_run"),
        driver=_driver_options(config),
    )


def _directories(config: pytest.Config, option: str) -> tuple[Path, ...]:
    found = tuple(config.invocation_params.dir / name for name in config.getoption(option))
    for directory in found:
        if not directory.is_dir():
            raise pytest.UsageError(f"{spelled(option)}: there is no directory {directory}")
    if len(found) > 1:
        from pytest_mcpeval.kinds.agent.folders import check_one_of_each_agent

        try:
            check_one_of_each_agent(found)
        except ValueError as error:
            raise pytest.UsageError(f"{spelled(option)}: {error}") from None
    return found


def _driver_options(config: pytest.Config) -> DriverOptions:
    browser = config.getoption("mcpeval_browser")
    return DriverOptions(
        headed=config.getoption("mcpeval_headed") or None,
        browser=str(config.invocation_params.dir / browser) if browser else None,
        slow_mo_ms=config.getoption("mcpeval_slow_mo") or 0,
        pool_size=config.getoption("mcpeval_pool_size") or POOL_SIZE,
    )


def _plan(config: pytest.Config) -> Path | None:
    name = config.getoption("mcpeval_plan")
    if name and not config.option.collectonly:
        raise pytest.UsageError(
            "--mcpeval-plan goes with --collect-only: nothing is driven when a plan is made"
        )
    if name and config.getoption("mcpeval_score_only"):
        raise pytest.UsageError(
            "--mcpeval-plan and --mcpeval-score-only exclude each other: a plan says what would be driven"
        )
    return config.invocation_params.dir / name if name else None


def _cache_directory(config: pytest.Config) -> Path | None:
    if not config.pluginmanager.hasplugin("cacheprovider"):
        return None
    # A checkout that cannot be written has none.
    with suppress(OSError):
        return config.cache.mkdir("mcpeval") if config.cache is not None else None
    return None
