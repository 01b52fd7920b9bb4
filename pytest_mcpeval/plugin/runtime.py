"""The state of one process: settings, kinds, loaded suites, open connections and targets."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.config.path_patterns import matches
from pytest_mcpeval.config.project_file import (
    MISTAKEN_NAMES,
    PROJECT_FILE_NAME,
    SERVERS_FILE_NAME,
    ProjectFiles,
)
from pytest_mcpeval.config.settings import Settings
from pytest_mcpeval.core.baseline import is_baseline
from pytest_mcpeval.core.declaration import CommandLine
from pytest_mcpeval.core.detect import detect_kind, is_json_schema, is_report
from pytest_mcpeval.core.evaluation import Evaluation
from pytest_mcpeval.core.judging import evaluate
from pytest_mcpeval.core.judging_input import SessionState, SuiteRun
from pytest_mcpeval.core.run_context import RunContext, Target, TargetT
from pytest_mcpeval.core.sample_store import SampleStore, Selection, selection_of
from pytest_mcpeval.core.suite import SettingsFile
from pytest_mcpeval.loading import DataFileError, Problem, load
from pytest_mcpeval.plugin.prefetch import Prefetch
from pytest_mcpeval.text.visible import visible

if TYPE_CHECKING:
    from pytest_mcpeval.core.suite import Suite
    from pytest_mcpeval.kinds.registry import Kinds
    from pytest_mcpeval.loading import Document
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.connections import Connections
    from pytest_mcpeval.servers.definitions import ServerDefinition


class Runtime(RunContext):
    """The state of one pytest process. Connections and targets open on first use and close with `close`.

    Its parts for kinds are described in `RunContext`.
    """

    def __init__(self, settings: Settings, kinds: Kinds) -> None:
        self.settings = settings
        self._kinds = kinds
        self._options = dict(settings.options)
        self.project_files = ProjectFiles(settings.rootdir, kinds)
        self.prefetch = Prefetch(self, kinds, settings)
        self._suites: dict[Path, Suite[Any] | None] = {}
        self.fixtures: Mapping[str, Any] = {}
        self.selected: Mapping[str, Sequence[str]] = {}
        self.has_whole_files = True
        self._connections: Connections | None = None
        self._targets: dict[Hashable, Target] = {}

    @property
    def rootdir(self) -> Path:
        return self.settings.rootdir

    @property
    def kinds(self) -> Kinds:
        return self._kinds

    def options(self, kind: str) -> Any:
        if kind not in self._options:
            nothing = CommandLine(self.rootdir, self.rootdir, lambda name: None)
            self._options[kind] = self.kinds.declarations[kind].options(nothing)
        return self._options[kind]

    def key(self, path: Path) -> str:
        """A path relative to the root directory, with forward slashes."""
        return Path(os.path.relpath(path, self.settings.rootdir)).as_posix()

    def is_ignored(self, path: Path) -> bool:
        """Return whether the ini key ``mcpeval_ignore`` excludes a file."""
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

    def suite_runs(self, store: SampleStore) -> list[SuiteRun]:
        """What is to be judged: the suites that were collected, sorted by key."""
        found = []
        for key in sorted(store.selections):
            selection = store.selections[key]
            suite, problem = None, None
            try:
                suite = self.suite_at(selection.path)
            except Exception as error:
                problem = error
            samples = store.samples_of(selection)
            found.append(SuiteRun(selection, samples, self.kinds[selection.kind], suite, problem))
        return found

    def evaluate(self, store: SampleStore, state: SessionState, *, is_merged: bool = False) -> Evaluation:
        """Judge the samples in a store; with ``is_merged``, they come from shards."""
        suites = self.suite_runs(store)
        used = {one.kind.name for one in suites}
        found = evaluate(
            [self.kinds[name] for name in self.kinds if name in used],
            suites,
            state,
            self.settings.rootdir,
            bless=self.settings.bless,
            shard=self.settings.shard,
            is_merged=is_merged,
        )
        return replace(found, options=self.settings.measuring_options)

    def selections_of(self, node_ids: Iterable[str]) -> list[Selection]:
        """Return the selections of the data files among some node ids, read again."""
        items = {(path, name) for path, _, name in (node_id.partition("::") for node_id in node_ids)}
        found = []
        for key in sorted({path for path, _ in items if not path.endswith(".py")}):
            suite = None
            with suppress(Exception):  # Shown where the file was collected.
                suite = self.suite(self.settings.rootdir / key)
            if suite is not None:
                batches = [batch for batch in suite.batches if (key, batch.name) in items]
                found.append(selection_of(suite, {(key, case) for batch in batches for case in batch.ids}))
        return found

    def _load(self, path: Path) -> Suite[Any] | None:
        if path.name in (PROJECT_FILE_NAME, *MISTAKEN_NAMES):
            return self._suite_of_settings(path)
        document = load(path, cache_directory=self.settings.cache_directory)
        if is_baseline(document.data) or is_report(document.data):
            self._check_not_named(document)
            return None
        shapes = self.kinds.declarations.values()
        if is_json_schema(document.data) and not any(kind.detect(document.data) for kind in shapes):
            self._check_not_named(document)
            return None
        name, shape = detect_kind(document, self.kinds.declarations)
        if shape == "support":
            self._check_not_named(document)
            return None
        if self.kinds.declarations[name].is_read_by_another(document, self.settings.rootdir):
            return None
        kind = self.kinds[name]
        place = self.project_files.place(document.path, self.key(document.path), kind)
        options = self.options(kind.name)
        return kind.load(document, replace(place, overrides=kind.overrides(options), options=options))

    def _check_not_named(self, document: Document) -> None:
        """Refuse a support file in ``files``: it has no cases, so nothing would run."""
        if (place := self.project_files.spelled_out_at(document.path)) is not None:
            message = (
                "is named in `files`, but has no cases: it is a baseline, a report, a JSON Schema, or "
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

    def servers_at(self, path: Path) -> Mapping[str, ServerDefinition]:
        return self.project_files.servers_at(path)

    def described(self, error: DataFileError) -> str:
        return visible(str(error.relative_to(self.rootdir)))

    def has_answers(self, suite: Suite[Any]) -> bool:
        return self.prefetch.has_answers(suite)

    def connection(self, definition: ServerDefinition, *, fresh: bool = False) -> Connection:
        if self._connections is None:
            from pytest_mcpeval.servers.connections import Connections

            self._connections = Connections()
        return self._connections.get(definition, fresh=fresh)

    def target(self, key: Hashable, make: Callable[[], TargetT]) -> TargetT:
        if key not in self._targets:
            self._targets[key] = make()
        found: TargetT = self._targets[key]  # type: ignore[assignment]
        return found

    def close(self) -> list[Exception]:
        """Close every target and connection, and forget calls in flight; what was raised, after the rest."""
        opened = [*reversed(self._targets.values()), *([self._connections] if self._connections else [])]
        self._targets, self._connections = {}, None
        raised = []
        for one in (self.prefetch, *opened):
            try:
                one.close()
            except Exception as error:
                raised.append(error)
        return raised
