"""Which servers are attached: ``~/.claude.json``, ``.mcp.json``, and what the settings files leave out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from pytest_mcpeval.kinds.session.claude_settings import ServerFilter, read_filter
from pytest_mcpeval.loading import DataFileError, Document, load
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.schema import parse_servers

USER_FILE = ".claude.json"
PROJECT_FILE = ".mcp.json"
_SECTION = "mcpServers"


@dataclass(frozen=True)
class FoundServer:
    """A server that is attached. ``source`` is the absolute path of the file that defines it."""

    definition: ServerDefinition
    source: Path

    @property
    def name(self) -> str:
        """Its key in the file."""
        return self.definition.name


@dataclass(frozen=True)
class Discovery:
    """The attached servers by name, and name → reason of those that were found and left out."""

    attached: Mapping[str, FoundServer] = field(default_factory=dict)
    filtered: Mapping[str, str] = field(default_factory=dict)


def discover(project: Path, home: Path) -> Discovery:
    """The servers that a session started in ``project`` would have.

    ``~/.claude.json`` is read first, the entry of the project before the top level; then the project's
    ``.mcp.json``, as its settings files leave it. Of several servers with one name the first counts.

    Raises:
        DataFileError: One of the files cannot be used.
    """
    attached: dict[str, FoundServer] = {}
    for found in _user_servers(home / USER_FILE, project):
        attached.setdefault(found.name, found)
    active, filtered = project_servers(project)
    for found in active:
        attached.setdefault(found.name, found)
    return Discovery(attached, {name: why for name, why in filtered.items() if name not in attached})


def project_servers(project: Path) -> tuple[list[FoundServer], dict[str, str]]:
    """The active servers of a project's ``.mcp.json``, and name → reason of the others.

    Raises:
        DataFileError: The file or the settings beside it cannot be used.
    """
    path = project / PROJECT_FILE
    if not path.is_file():
        return [], {}
    document = load(path)
    chosen = read_filter(project)
    found = parse_servers(document)
    filtered = dict(_filtered(found, chosen))
    filtered |= {name: f"disabled by {path}" for name in document.data[_SECTION] if name not in found}
    active = [FoundServer(definition, path) for name, definition in found.items() if name not in filtered]
    return active, filtered


def _filtered(names: Iterable[str], chosen: ServerFilter) -> Iterator[tuple[str, str]]:
    for name in names:
        reason = chosen.reason_against(name)
        if reason:
            yield name, reason


def _user_servers(path: Path, project: Path) -> Iterator[FoundServer]:
    if not path.is_file():
        return
    document = load(path)
    if not isinstance(document.data, dict):
        raise DataFileError([document.problem(message="expected a mapping")])
    projects = document.data.get("projects")
    entries = [document.data]
    if isinstance(projects, dict):
        nearest = nearest_project(projects, project)
        entries = [projects[nearest], *entries] if nearest is not None else entries
    for entry in entries:
        yield from _section_servers(document, entry)


def nearest_project(roots: Iterable[str], directory: Path) -> str | None:
    """The longest of the roots that is the directory or one above it."""
    fitting = [root for root in roots if root and directory.is_relative_to(root)]
    return max(fitting, key=lambda root: len(PurePath(root).parts), default=None)


def _section_servers(document: Document, entry: Any) -> Iterator[FoundServer]:
    """The servers of one ``mcpServers`` of a file that holds much else."""
    servers = entry.get(_SECTION) if isinstance(entry, dict) else None
    if not servers:
        return
    part = Document(document.path, {_SECTION: servers}, document.digest)
    for definition in parse_servers(part).values():
        yield FoundServer(definition, document.path)
