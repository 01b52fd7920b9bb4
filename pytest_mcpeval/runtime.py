"""What one process knows while it runs: settings, kinds, loaded suites, open connections and targets."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pytest_mcpeval.ahead import Ahead
from pytest_mcpeval.baseline import is_baseline
from pytest_mcpeval.kinds.base import SettingsFile
from pytest_mcpeval.loading import DataFileError, Problem, UnsoundDocumentError, load
from pytest_mcpeval.path_patterns import matches
from pytest_mcpeval.project_file import PROJECT_FILE_NAME, SERVERS_FILE_NAME, ProjectFiles
from pytest_mcpeval.recognising import is_json_schema, is_report, recognise
from pytest_mcpeval.settings import Settings
from pytest_mcpeval.text import visible

if TYPE_CHECKING:
    from pytest_mcpeval.kinds import Kinds
    from pytest_mcpeval.kinds.base import Kind, Suite
    from pytest_mcpeval.kinds.scenario.checks import CheckRegistry
    from pytest_mcpeval.loading import Document
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.connections import Connections
    from pytest_mcpeval.servers.definitions import ServerDefinition


class Target(Protocol):
    """What a kind evaluates and keeps open from case to case."""

    def close(self) -> None:
        """End it."""


TargetT = TypeVar("TargetT", bound=Target)


class Runtime:
    """The state of one pytest process. Connections and targets open on first use and close with `close`.

    ``fixtures`` are the fixture values of the case in hand, by name. ``selected`` maps the key of a suite to
    the cases that were selected to run, once that is known; with ``has_whole_files``, those of one suite all
    run in this process.
    """

    def __init__(self, settings: Settings, kinds: Kinds, checks: CheckRegistry) -> None:
        self.settings = settings
        self.kinds = kinds
        self.checks = checks
        self.project_files = ProjectFiles(settings.rootdir, self.kinds)
        self.ahead = Ahead(self)
        self._suites: dict[Path, Suite[Any] | None] = {}
        self.fixtures: Mapping[str, Any] = {}
        self.selected: Mapping[str, Sequence[str]] = {}
        self.has_whole_files = True
        self._connections: Connections | None = None
        self._targets: dict[Hashable, Target] = {}

    def key(self, path: Path) -> str:
        """A path relative to the root directory, with forward slashes."""
        return Path(os.path.relpath(path, self.settings.rootdir)).as_posix()

    def is_ignored(self, path: Path) -> bool:
        """Whether the ini key ``mcpeval_ignore`` says to leave a file alone."""
        key = self.key(path)
        return any(matches(key, pattern) for pattern in self.settings.ignore)

    def is_data_file(self, path: Path) -> bool:
        """Whether a file is one by its name, its directory, or an entry of a ``mcpeval.yaml``."""
        settings = self.settings
        if any(fnmatch(path.name, pattern) for pattern in settings.data_files):
            return True
        if path == settings.rootdir / SERVERS_FILE_NAME:
            return False
        below = any(directory in path.parents for directory in settings.datasets)
        return below or self.project_files.names(path)

    def kind(self, name: str) -> Kind[Any]:
        """The kind of that name."""
        return self.kinds[name]

    def runs(self, suite: Suite[Any]) -> int:
        """How many times each case of a suite is asked."""
        return 1 if self.kinds[suite.kind].asks_once else self.settings.runs or suite.runs

    @property
    def suites(self) -> list[Suite[Any]]:
        """The suites loaded so far."""
        return [suite for suite in self._suites.values() if suite is not None]

    def suite(self, path: Path) -> Suite[Any] | None:
        """The suite in a data file, loaded once; None for a support file.

        Raises:
            DataFileError: With every problem of the file.
            ServerConfigError: The environment variable ``MCP_URL`` cannot be applied.
        """
        if path not in self._suites:
            self._suites[path] = self._load(path)
        return self._suites[path]

    def suite_at(self, path: str | None) -> Suite[Any] | None:
        """The suite in a data file, as `suite` has it; cases written in Python have no path, and none."""
        return None if path is None else self.suite(Path(path))

    def _load(self, path: Path) -> Suite[Any] | None:
        if path.name == PROJECT_FILE_NAME:
            return self._suite_of_settings(path)
        try:
            document = load(path, cache_directory=self.settings.cache_directory)
        except UnsoundDocumentError as error:
            raise self._with_all_problems(error) from None
        return self._loaded(document)

    def _with_all_problems(self, error: UnsoundDocumentError) -> DataFileError:
        """What is wrong with the text of a file, and what would be wrong with it besides."""
        try:
            self._loaded(error.document)
        except DataFileError as later:
            return error.joined(later)
        return error

    def _loaded(self, document: Document) -> Suite[Any] | None:
        if is_baseline(document.data) or is_report(document.data):
            self._check_not_named(document)
            return None
        shapes = self.kinds.shapes.values()
        if is_json_schema(document.data) and not any(kind.recognise(document.data) for kind in shapes):
            self._check_not_named(document)
            return None
        name, shape = recognise(document, self.kinds.shapes)
        if shape == "support":
            self._check_not_named(document)
            return None
        if self.kinds.shapes[name].is_read_by_another(document, self.settings.rootdir):
            return None
        kind = self.kinds[name]
        place = self.project_files.place(document.path, self.key(document.path), kind)
        return kind.load(document, replace(place, overrides=self.settings.overrides.get(kind.name, {})))

    def _check_not_named(self, document: Document) -> None:
        """A support file has no cases; one that is named to be run must not pass for one that was."""
        if (place := self.project_files.spelled_out_at(document.path)) is not None:
            message = (
                "is named to be run, and has no cases: it is a baseline, a report, a JSON Schema, or "
                "read by other files; "
            )
            raise DataFileError([Problem(document.path, 1, f"{message}take it out of `files` at {place}")])

    def _suite_of_settings(self, path: Path) -> Suite[Any] | None:
        """The suite whose cases are settings themselves, such as servers to scan."""
        file = self.project_files.read(path)
        for name, rules in file.rules.items():
            kind = self.kinds[name]
            entries = [(rule.lines[str(kind.settings_key)], rule.settings) for rule in rules if rule.is_suite]
            if entries:
                servers = self.project_files.servers_at(path)
                return kind.settings_suite(SettingsFile(self.key(path), file.document, servers, entries))
        return None

    def described(self, error: DataFileError) -> str:
        """The text of an error for people: paths as in node ids, control characters spelled out."""
        problems = [replace(problem, path=Path(self.key(problem.path))) for problem in error.problems]
        return visible(str(DataFileError(problems)))

    def connection(self, definition: ServerDefinition, *, fresh: bool = False) -> Connection:
        """A connection to a server: the warm one of this process, or a private one.

        Raises:
            ServerStartError: The server cannot be started or reached.
            ServerConfigError: An environment variable its definition names is not set.
        """
        if self._connections is None:
            from pytest_mcpeval.servers.connections import Connections

            self._connections = Connections()
        return self._connections.get(definition, fresh=fresh)

    def target(self, key: Hashable, make: Callable[[], TargetT]) -> TargetT:
        """What a kind keeps open under a key, made on first use; a kind's keys are its own."""
        if key not in self._targets:
            self._targets[key] = make()
        found: TargetT = self._targets[key]  # type: ignore[assignment]
        return found

    def close(self) -> list[Exception]:
        """Close every target and connection, and forget calls in flight; what was raised, after the rest."""
        opened = [*reversed(self._targets.values()), *([self._connections] if self._connections else [])]
        self._targets, self._connections = {}, None
        raised = []
        for one in (self.ahead, *opened):
            try:
                one.close()
            except Exception as error:
                raised.append(error)
        return raised
