"""One ``mcpeval.yaml`` or ``.mcp.json``: checked, and turned into servers and rules."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, create_model
from pydantic.alias_generators import to_camel

from pytest_mcpeval.config.path_patterns import files_of, is_below, is_spelled_out, matches, names_something
from pytest_mcpeval.core.fields import given, located
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.loading.loader import PARSERS
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.schema import Expected, dotted, validate
from pytest_mcpeval.text.placeholders import Placeholder, filled_in, from_environment, placeholders
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    from pytest_mcpeval.servers.definitions import ServerDefinition

SUFFIXES = frozenset(PARSERS)
OF_TARGETS = frozenset({"command", "env", "url", "headers", "body", "arguments"})
"""Keys whose placeholders are filled in when a target is asked."""

Pattern = Annotated[str, Field(min_length=1)]
Patterns = Annotated[
    Pattern | Annotated[list[Pattern], Field(min_length=1)],
    Field(description="globs relative to this file; without it, all files below"),
    Expected("a glob such as docs/**, or a list of globs"),
]


@dataclass(frozen=True)
class Rule:
    """One entry of a kind's section.

    ``settings`` are as written, under their canonical names, and ``lines`` says where each stands.
    ``patterns`` are globs of the files it is for, relative to its file; None stands for all below. With
    ``is_suite``, it is for no file: its cases are in the settings themselves. ``files_line`` is where the
    patterns stand.
    """

    settings: Mapping[str, Any]
    lines: Mapping[str, int]
    patterns: tuple[str, ...] | None
    is_suite: bool = False
    files_line: int = 0

    def applies_to(self, path: str) -> bool:
        """Whether a data file is meant; its path is relative to the directory of the rule's file."""
        if self.is_suite:
            return False
        return self.patterns is None or any(matches(path, pattern) for pattern in self.patterns)

    def names(self, path: str) -> bool:
        """Whether a file is named by a pattern; one without any name in it picks among all files."""
        return any(names_something(pattern) and matches(path, pattern) for pattern in self.patterns or ())

    def spells_out(self, path: str) -> bool:
        """Whether a pattern is the path of that very file."""
        return any(is_spelled_out(path, pattern) for pattern in self.patterns or ())


@dataclass(frozen=True)
class ProjectFile:
    """What one file says: servers by name, and rules by kind."""

    document: Document
    servers: Mapping[str, ServerDefinition]
    rules: Mapping[str, tuple[Rule, ...]]

    @property
    def path(self) -> Path:
        """The file."""
        return self.document.path


def read_servers_file(path: Path) -> ProjectFile:
    """A ``.mcp.json``.

    Raises:
        DataFileError: With every problem of the file.
    """
    from pytest_mcpeval.servers.schema import parse_servers

    document = load(path)
    _learn_variables(document.data)
    return ProjectFile(document, parse_servers(document), {})


def _learn_variables(data: Any) -> None:
    """From now on, no output of this process shows a value that the definitions in a file may use.

    Another process may be the one that uses it, or another suite whose server answers with it.
    """
    _publish(data)
    for _, found in placeholders(data, "definition"):
        if isinstance(found, Placeholder):
            from_environment(found, os.environ)


def _publish(data: Any) -> None:
    if isinstance(data, dict):
        public = data.get("public")
        if isinstance(public, list):
            redactor.publish(name for name in public if isinstance(name, str))
        for inner in data.values():
            _publish(inner)
    elif isinstance(data, list):
        for inner in data:
            _publish(inner)


def read_project_file(path: Path, kinds: Mapping[str, Kind[Any]]) -> ProjectFile:
    """A ``mcpeval.yaml``.

    Raises:
        DataFileError: With every problem of the file.
    """
    from pytest_mcpeval.servers.schema import parse_servers

    document = load(path)
    _learn_variables(document.data)
    if not isinstance(document.data, dict):
        message = f"expected a mapping with {_listed(kinds)}, found {shown(document.data)}"
        raise DataFileError([Problem(path, 1, message)])
    problems = list(_unknown_sections(document, kinds))
    servers: Mapping[str, ServerDefinition] = {}
    rules: dict[str, tuple[Rule, ...]] = {}
    if "servers" in document.data:
        try:
            servers = parse_servers(document, section="servers")
        except DataFileError as error:
            problems += error.problems
    for name in [name for name in kinds if name in document.data]:
        try:
            rules[name] = _rules(document, name, kinds[name])
        except DataFileError as error:
            problems += error.problems
    if problems:
        raise DataFileError(problems)
    return ProjectFile(document, servers, rules)


def _unknown_sections(document: Document, kinds: Mapping[str, Kind[Any]]) -> Iterator[Problem]:
    known = ["servers", *kinds]
    for key in document.data:
        if key not in known:
            message = f"unknown key {shown(key)}{suggestion(key, known)}: expected {_listed(kinds)}"
            yield document.problem(key, message=message)


def _listed(kinds: Mapping[str, Kind[Any]]) -> str:
    return ", ".join(f"`{name}`" for name in ("servers", *kinds))


def _rules(document: Document, section: str, kind: Kind[Any]) -> tuple[Rule, ...]:
    entries = document.data[section]
    if isinstance(entries, dict) and kind.settings_key is not None:
        return (_rule(document, (section,), entries, kind),)
    if not isinstance(entries, list):
        message = f"{section}: expected a list of entries such as `- files: docs/**`, found {shown(entries)}"
        raise DataFileError([document.problem(section, message=message)])
    if not entries:
        message = f"{section}: the list is empty: add an entry, or remove the key"
        raise DataFileError([document.problem(section, message=message)])
    rules: list[Rule] = []
    problems: list[Problem] = []
    for index, entry in enumerate(entries):
        try:
            rules.append(_rule(document, (section, index), entry, kind))
        except DataFileError as error:
            problems += error.problems
    if problems:
        raise DataFileError(problems)
    return tuple(rules)


@cache
def entry_model(settings: type[BaseModel], kind: str) -> type[BaseModel]:
    """The model of an entry: the settings of a kind, and ``files``."""
    return create_model(f"{kind.capitalize()}Entry", __base__=settings, files=(Patterns, None))


def _rule(document: Document, at: tuple[str | int, ...], entry: Any, kind: Kind[Any]) -> Rule:
    ready = _filled_in(document, at, entry)
    validated: BaseModel = validate(entry_model(kind.settings_model, kind.name), document, ready, at=at)
    settings = given(located(validated, document.path.parent))
    patterns = _patterns(document, (*at, "files"), settings.pop("files")) if "files" in settings else None
    lines = {name: document.line(*at, name if name in entry else to_camel(name)) for name in settings}
    is_suite = kind.settings_key in settings
    if is_suite and patterns is not None:
        message = f"`{kind.settings_key}` applies to no files: remove `files`, or write two entries"
        raise DataFileError([document.problem(*at, "files", message=message)])
    files_line = 0 if patterns is None else document.line(*at, "files")
    return Rule(settings, lines, patterns, is_suite, files_line)


def _filled_in(document: Document, at: tuple[str | int, ...], entry: Any) -> Any:
    """An entry with environment variables filled in; what belongs to a target waits until it is asked."""
    if isinstance(entry, dict):
        return {
            key: inner if key in OF_TARGETS else _filled_in(document, (*at, key), inner)
            for key, inner in entry.items()
        }
    if isinstance(entry, list):
        return [_filled_in(document, (*at, index), inner) for index, inner in enumerate(entry)]
    if not isinstance(entry, str) or entry.startswith("command:"):
        return entry

    try:
        return filled_in(entry, "definition")
    except ValueError as error:
        raise DataFileError([document.problem(*at, message=f"{dotted(at)}: {error}")]) from None


def _patterns(document: Document, at: tuple[str | int, ...], files: str | list[str]) -> tuple[str, ...]:
    patterns = (files,) if isinstance(files, str) else tuple(files)
    problems = []
    for index, pattern in enumerate(patterns):
        message = _pattern_problem(document.path, pattern)
        if message:
            place = at if isinstance(files, str) else (*at, index)
            problems.append(document.problem(*place, message=f"files: {message}"))
    if problems:
        raise DataFileError(problems)
    return patterns


def _pattern_problem(path: Path, pattern: str) -> str:
    directory = path.parent
    if not is_below(pattern):
        return f"expected a glob of files below {directory.name}/, such as docs/**, found {shown(pattern)}"
    if not any(found.is_file() and found != path for found in files_of(directory, pattern, SUFFIXES)):
        return f"{shown(pattern)} matches no data file below {directory.name}/, where {path.name} is"
    return ""
