"""``mcpeval.yaml``: what the data below a directory is run against, and which gates hold.

Every ``mcpeval.yaml`` from a data file's directory up to the root directory applies; the nearest wins, key by
key. Within one file later entries win over earlier ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.base import Kind, Place
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.loading.schema import validate
from pytest_mcpeval.loading.wording import suggestion

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.servers.definitions import ServerDefinition

PROJECT_FILE_NAME = "mcpeval.yaml"
SERVERS_FILE_NAME = ".mcp.json"


@dataclass(frozen=True)
class Rule:
    """One entry of a kind's section: settings as written, and the files they are for (None: all below)."""

    settings: Mapping[str, Any]
    files: frozenset[Path] | None

    def applies_to(self, path: Path) -> bool:
        """Whether a data file is meant."""
        return self.files is None or path in self.files


@dataclass(frozen=True)
class ProjectFile:
    """One ``mcpeval.yaml``, checked."""

    path: Path
    servers: Mapping[str, ServerDefinition]
    rules: Mapping[str, tuple[Rule, ...]]


class ProjectFiles:
    """Reads project files once, and says what applies to a data file."""

    def __init__(self, rootdir: Path, kinds: Mapping[str, Kind[Any]]) -> None:
        self._rootdir = rootdir
        self._kinds = kinds
        self._read: dict[Path, ProjectFile | DataFileError] = {}

    def place(self, path: Path, key: str, kind: Kind[Any]) -> Place:
        """What applies to a data file of a kind.

        Raises:
            DataFileError: A project file that applies has problems.
        """
        files = [self.read(found) for found in self._found_above(path)]
        merged: dict[str, Any] = {}
        for file in reversed(files):
            for rule in file.rules.get(kind.name, ()):
                if rule.applies_to(path):
                    merged = merge(merged, rule.settings)
        servers = dict(self._root_servers)
        for file in reversed(files):
            servers.update(file.servers)
        return Place(key, merged, self._with_mcp_url(servers))

    def servers_at(self, path: Path) -> Mapping[str, ServerDefinition]:
        """The servers a file at a path may talk to, by name."""
        servers = dict(self._root_servers)
        for found in reversed(list(self._found_above(path))):
            servers.update(self.read(found).servers)
        return self._with_mcp_url(servers)

    def _with_mcp_url(self, servers: Mapping[str, ServerDefinition]) -> Mapping[str, ServerDefinition]:
        from pytest_mcpeval.servers.variables import apply_mcp_url

        return apply_mcp_url(servers, os.environ)

    def _found_above(self, path: Path) -> Iterator[Path]:
        for directory in path.parents:
            candidate = directory / PROJECT_FILE_NAME
            if candidate.is_file():
                yield candidate
            if directory == self._rootdir or self._rootdir not in directory.parents:
                return

    def read(self, path: Path) -> ProjectFile:
        """One project file, read once.

        Raises:
            DataFileError: With every problem of the file.
        """
        if path not in self._read:
            try:
                self._read[path] = _read(path, self._kinds)
            except DataFileError as error:
                self._read[path] = error
        found = self._read[path]
        if isinstance(found, DataFileError):
            raise found
        return found

    @cached_property
    def _root_servers(self) -> Mapping[str, ServerDefinition]:
        from pytest_mcpeval.servers.schema import parse_servers

        path = self._rootdir / SERVERS_FILE_NAME
        return parse_servers(load(path)) if path.is_file() else {}


def merge(lower: Mapping[str, Any], higher: Mapping[str, Any]) -> dict[str, Any]:
    """Two settings as one: ``higher`` wins key by key, also inside nested mappings."""
    merged = dict(lower)
    for key, value in higher.items():
        below = merged.get(key)
        nested = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = merge(below, value) if nested and below is not None else value
    return merged


def _read(path: Path, kinds: Mapping[str, Kind[Any]]) -> ProjectFile:
    from pytest_mcpeval.servers.schema import parse_servers

    document = load(path)
    if not isinstance(document.data, dict):
        raise DataFileError([Problem(path, 1, f"expected a mapping with {_known_sections(kinds)}")])
    problems = [
        document.problem(
            key, message=f"unknown key `{key}`{suggestion(key, known)}; expected {_known_sections(kinds)}"
        )
        for known in [["servers", *kinds]]
        for key in document.data
        if key not in known
    ]
    servers: Mapping[str, ServerDefinition] = {}
    rules: dict[str, tuple[Rule, ...]] = {}
    if "servers" in document.data:
        try:
            servers = parse_servers(document, section="servers")
        except DataFileError as error:
            problems += error.problems
    for name, kind in kinds.items():
        if name in document.data:
            try:
                rules[name] = tuple(_rules(document, name, kind.settings_model))
            except DataFileError as error:
                problems += error.problems
    if problems:
        raise DataFileError(problems)
    return ProjectFile(path, servers, rules)


def _known_sections(kinds: Mapping[str, Kind[Any]]) -> str:
    return ", ".join(f"`{name}`" for name in ("servers", *kinds))


def _rules(document: Document, section: str, model: type[BaseModel]) -> Iterator[Rule]:
    entries = document.data[section]
    if not isinstance(entries, list):
        found = type(entries).__name__
        message = f"`{section}`: expected a list of entries such as `- files: docs/**`, found {found}"
        raise DataFileError([document.problem(section, message=message)])
    problems: list[Problem] = []
    for index, entry in enumerate(entries):
        settings = (
            {key: value for key, value in entry.items() if key != "files"}
            if isinstance(entry, dict)
            else entry
        )
        try:
            validated: BaseModel = validate(model, document, settings, at=(section, index))
            files = _matched(document, (section, index, "files"), entry.get("files"))
        except DataFileError as error:
            problems += error.problems
            continue
        yield Rule(_as_given(validated, document.path.parent), files)
    if problems:
        raise DataFileError(problems)


def _as_given(settings: BaseModel, directory: Path) -> dict[str, Any]:
    """The keys that were written, under their own names; files in them made absolute."""
    given = settings.model_dump(exclude_unset=True)
    if isinstance(given.get("baseline"), str):
        given["baseline"] = str((directory / given["baseline"]).resolve())
    return given


def _matched(document: Document, at: tuple[str | int, ...], patterns: object) -> frozenset[Path] | None:
    if patterns is None:
        return None
    listed = patterns if isinstance(patterns, list) else [patterns]
    problems: list[Problem] = []
    matched: set[Path] = set()
    for pattern in listed:
        if not isinstance(pattern, str) or not pattern or pattern.startswith("/"):
            message = f"`files`: expected a glob relative to this file, such as docs/**, found {pattern!r}"
            problems.append(document.problem(*at, message=message))
            continue
        directory = document.path.parent
        deep = pattern + "/*" if pattern.endswith("**") else pattern
        found = {Path(os.path.normpath(path)) for path in directory.glob(deep) if path.is_file()}
        if not found:
            problems.append(
                document.problem(*at, message=f"`files`: {pattern!r} matches no file below {directory.name}/")
            )
        matched |= found
    if problems:
        raise DataFileError(problems)
    return frozenset(matched)
