"""Find files that pytest left out: those named in a ``mcpeval.yaml``, and those that look like data files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

import pytest

from pytest_mcpeval.config.path_patterns import (
    files_below,
    files_of,
    is_environment,
    is_foreign,
    matches,
    names_something,
)
from pytest_mcpeval.config.project_file import MISTAKEN_NAMES, PROJECT_FILE_NAME
from pytest_mcpeval.config.project_rules import ProjectFile, Rule
from pytest_mcpeval.config.root_directory import configures_pytest
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.loading.loader import PARSERS
from pytest_mcpeval.loading.messages import closest, counted, likeness
from pytest_mcpeval.plugin.runtime import Runtime

PROJECT_FILE_NAMES = (PROJECT_FILE_NAME, *MISTAKEN_NAMES)
SHOWN_FILES = 20
"""Of one entry of a ``mcpeval.yaml`` whose files were not collected."""
SHOWN_PLACES = 10
KEPT_AWAY = "a conftest.py or a plugin keeps pytest from it"
ALIKE = 0.85
"""From here on, a name or suffix means another: ``Datasets``, ``dataset``, ``.ymal``; not ``.xml``."""


def directories_of(config: pytest.Config, datasets: Iterable[Path]) -> tuple[Path, ...]:
    """Return the directories of a run: those on the command line, else the project from where it starts."""
    start = config.invocation_params.dir
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        given = (Path(os.path.abspath(start / argument)) for argument in config.args)
        return tuple(path for path in given if path.is_dir())
    if not config.rootpath.is_relative_to(start):
        return (start,)
    outside = (path for path in datasets if not path.is_relative_to(config.rootpath) and path.is_dir())
    return (config.rootpath, *outside)


def is_hidden_by_name(path: Path, config: pytest.Config) -> bool:
    """Whether ``norecursedirs`` hides a directory, and no ``--ignore`` or ``--ignore-glob`` does."""
    if is_ignored_by_option(path, config):
        return False
    patterns = config.getini("norecursedirs")
    return any(fnmatch(str(path) if "/" in pattern else path.name, pattern) for pattern in patterns)


def is_ignored_by_option(path: Path, config: pytest.Config) -> bool:
    """Whether ``--ignore`` or ``--ignore-glob`` leaves a path out: for this run, and not for good."""
    start = config.invocation_params.dir
    explicit = [*(config.getoption("ignore") or ()), *(config.getoption("ignore_glob") or ())]
    return any(fnmatch(str(path), os.path.abspath(start / one)) for one in explicit)


class Collected:
    """The files that pytest visited in this process, and those that a hook left out."""

    def __init__(self, runtime: Runtime, config: pytest.Config) -> None:
        self.runtime = runtime
        self.config = config
        self.directories = directories_of(config, runtime.settings.datasets)
        self.files: set[Path] = set()
        """The files of which a collector was asked for its items, of ours only."""
        self.ignored: set[Path] = set()
        """The directories and files for which a hook of pytest said so."""

    def load_deselected(self) -> None:
        """Load the suites that an option leaves out of this run, so that gates know of their cases.

        These are files that ``--ignore`` names, and those in which ``--lf`` sees nothing to run.
        """
        ignored = [path for path in self.ignored if is_ignored_by_option(path, self.config)]
        found = {file for path in ignored for file in self._data_files(path)}
        for path in sorted(self.files | found):
            # The error is shown where the file is collected; a kind from outside may raise anything.
            with suppress(Exception):
                self.runtime.suite(path)

    def _data_files(self, path: Path) -> Iterator[Path]:
        found = files_below(path, lambda directory: not is_foreign(directory)) if path.is_dir() else (path,)
        for file in found:
            is_data = file.suffix.lower() in PARSERS and self.runtime.is_data_file(file)
            if is_data and file.is_file() and not self.runtime.is_ignored(file):
                yield file

    def missing(self) -> Iterator[tuple[str, str]]:
        """The key of each file that a ``mcpeval.yaml`` names and pytest never collected, and what to do.

        Also of each ``mcpeval.yaml`` that cannot be read and that no data file has reported.
        """
        reported: set[Path] = set()
        for file in self.runtime.project_files.all_of(self._project_files()):
            if isinstance(file, DataFileError):
                yield self.runtime.key(file.problems[0].path), self.runtime.described(file)
                continue
            for rule in (rule for rules in file.rules.values() for rule in rules):
                found = [path for path in self._missing_of(file, rule) if path not in reported]
                reported.update(found)
                yield from self._messages(file, rule, found)

    def _project_files(self) -> Iterator[Path]:
        for directory in self.directories:
            for path in files_below(directory, self._is_of_the_project, PROJECT_FILE_NAMES):
                if not self.runtime.is_ignored(path):
                    yield path

    def _is_of_the_project(self, directory: Path) -> bool:
        hidden = is_foreign(directory) or is_hidden_by_name(directory, self.config)
        return not (hidden or directory in self.ignored or configures_pytest(directory))

    def _missing_of(self, file: ProjectFile, rule: Rule) -> Iterator[Path]:
        directory = file.path.parent
        if rule.is_suite and self._is_missing(file.path):
            yield file.path
        for pattern in rule.patterns or ():
            found = [
                path
                for path in files_of(directory, pattern, frozenset(PARSERS))
                if path.name not in PROJECT_FILE_NAMES and not self.runtime.is_ignored(path)
            ]
            missing = [path for path in found if self._is_missing(path)]
            if names_something(pattern):
                yield from missing
            elif len(missing) == len(found) and not self._picks_any(directory, pattern):
                # One without a name picks among data files: it must pick at least one.
                yield from missing

    def _picks_any(self, directory: Path, pattern: str) -> bool:
        below = (path for path in self.files if directory in path.parents and path.name != PROJECT_FILE_NAME)
        return any(matches(path.relative_to(directory).as_posix(), pattern) for path in below)

    def _is_missing(self, path: Path) -> bool:
        if path in self.files or not any(directory in path.parents for directory in self.directories):
            return False
        return not any(is_ignored_by_option(one, self.config) for one in (path, *path.parents))

    def _messages(self, file: ProjectFile, rule: Rule, paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
        line = min(rule.lines.values(), default=1) if rule.is_suite else rule.files_line
        words = "holds cases" if rule.is_suite else "names this file"
        beginning = f"{self.runtime.key(file.path)}:{line}: {words}, and pytest never collected"
        for number, path in enumerate(paths[:SHOWN_FILES], start=1):
            count = len(paths) - SHOWN_FILES if number == SHOWN_FILES else 0
            more = f" (and {count} more files)" if count else ""
            key = self.runtime.key(path)
            yield key, f"{beginning} {key}{more}: {self._reason(path)}"

    def _reason(self, path: Path) -> str:
        """Return why pytest did not collect a file, and how to fix it."""
        key, directory = self.runtime.key(path), self.runtime.key(path.parent)
        if not path.exists():
            return (
                f"it is a link to {os.readlink(path)}, which does not exist. Correct the link, or remove it"
            )
        for part in (*reversed(path.parents), path):
            part_key = self.runtime.key(part)
            if part in self.ignored and is_hidden_by_name(part, self.config):
                return (
                    f"it lies below {part_key}/, which pytest's norecursedirs leaves out. "
                    f"Move it, or add {directory} to the ini key mcpeval_datasets"
                )
            if part in self.ignored and is_environment(part):
                return f"it lies below {part_key}/, a virtual environment, which pytest leaves out. Move it"
            if part in self.ignored:
                return f"a conftest.py or a plugin makes pytest leave out {part_key}. Remove one of the two"
        if self.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            return (
                f"it lies outside {', '.join(self.config.getini('testpaths'))}, where pytest's testpaths "
                f"looks. Add {key} to testpaths"
            )
        if self.runtime.is_data_file(path):
            return KEPT_AWAY
        return (
            "its name is not that of a data file, and no pattern has a name in it. "
            f"Write a pattern with a name, such as {path.name}"
        )


def look_alikes(runtime: Runtime, config: pytest.Config, collected: Container[str] | None) -> str:
    """A line on what looks like data in and beside the dataset directories and is not run; or nothing.

    ``collected`` are the keys of the suites that pytest came by; None: they are not known.
    """
    directories = directories_of(config, runtime.settings.datasets)
    found = Counter(_look_alikes(runtime, directories, config, collected))
    places = [
        f"{place} ({counted(count, 'file')}: {reason})" if place.endswith("/") else f"{place} ({reason})"
        for (place, reason), count in found.items()
    ]
    more = f" and {len(places) - SHOWN_PLACES} more" if len(places) > SHOWN_PLACES else ""
    return f"left out, though it looks like data: {', '.join(places[:SHOWN_PLACES])}{more}" if places else ""


def _look_alikes(
    runtime: Runtime, directories: Sequence[Path], config: pytest.Config, collected: Container[str] | None
) -> Iterator[tuple[str, str]]:
    datasets = [
        path
        for path in runtime.settings.datasets
        if any(directory in (path, *path.parents) for directory in directories)
    ]
    names = [path.name for path in runtime.settings.datasets]
    known = {os.path.realpath(path) for path in runtime.settings.datasets}
    beside = [
        path
        for directory in directories
        for path in directory.glob("*/")
        if os.path.realpath(path) not in known
    ]
    for directory in beside:
        meant = closest(directory.name, names)
        if meant is not None and likeness(directory.name, meant) >= ALIKE:
            reason = f"the dataset directory is called {meant}"
            for path in files_below(directory, lambda inner: not is_foreign(inner)):
                if path.suffix.lower() in PARSERS and not runtime.is_data_file(path):
                    yield f"{runtime.key(directory)}/", reason
    for dataset in datasets:
        for path in files_below(dataset, lambda inner: inner.name not in ("node_modules", "__pycache__")):
            if not runtime.is_ignored(path) and not runtime.project_files.names(path):
                yield from _look_alike(runtime, dataset, path, config)
                if collected is not None and runtime.key(path) not in collected:
                    yield from _uncollected(runtime, dataset, path, config)


def _look_alike(
    runtime: Runtime, dataset: Path, path: Path, config: pytest.Config
) -> Iterator[tuple[str, str]]:
    suffix = path.suffix.lower()
    hidden = [
        part for part in reversed(path.parents) if dataset in part.parents and is_hidden_by_name(part, config)
    ]
    if suffix not in PARSERS:
        like = max(likeness(known.strip("."), suffix.strip(".")) for known in PARSERS)
        if like >= ALIKE and not suffix.endswith("~"):
            yield runtime.key(path), f"its suffix is none of {', '.join(sorted(PARSERS))}"
    elif not path.exists():
        yield runtime.key(path), "a broken link"
    elif hidden and not (is_environment(hidden[0]) or hidden[0].name.endswith(("_cache", ".git"))):
        yield f"{runtime.key(hidden[0])}/", "pytest's norecursedirs"


def _uncollected(
    runtime: Runtime, dataset: Path, path: Path, config: pytest.Config
) -> Iterator[tuple[str, str]]:
    """A data file as any other, of which pytest was kept."""
    below = [path, *(part for part in path.parents if dataset in (part, *part.parents))]
    if path.suffix.lower() not in PARSERS or path.name in PROJECT_FILE_NAMES or not path.exists():
        return
    if any(is_hidden_by_name(part, config) or is_environment(part) for part in below if part != dataset):
        return
    if any(is_ignored_by_option(part, config) for part in (path, *path.parents)):
        return
    with suppress(Exception):  # An unreadable file may not be a support file.
        if runtime.suite(path) is None:
            return
    yield runtime.key(path), KEPT_AWAY


def where_data_files_are(runtime: Runtime) -> str:
    """Return where data files are searched, as a note for a run without any."""
    settings = runtime.settings
    directories = [
        f"{runtime.key(path)}/{'' if path.is_dir() else ' (not there)'}" for path in settings.datasets
    ]
    return (
        f"no case was found. Data files lie below {', '.join(directories) or 'no directory'}, are called "
        f"{', '.join(settings.data_files)}, or are named by `files` in a {PROJECT_FILE_NAME}"
    )
