"""Find the servers that are attached to a session: defined in files, and not excluded by settings files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.loading import DataFileError, Document, load
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.schema import parse_servers

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.session.schema import SessionSettings

SETTINGS_FILES = ("settings.json", "settings.local.json")
_ENABLE_ALL = "enableAllProjectMcpServers"
_ENABLED = "enabledMcpjsonServers"
_DISABLED = "disabledMcpjsonServers"


@dataclass(frozen=True)
class ServerFilter:
    """The three keys, from both files. Names are mapped to the file that lists them; the local file wins."""

    enable_all: bool = False
    enabled: Mapping[str, Path] | None = None
    disabled: Mapping[str, Path] | None = None
    allowlist: Path | None = None

    def reason_against(self, server: str) -> str:
        """Return why a server of the ``.mcp.json`` is not active, or an empty text."""
        if self.enable_all:
            return ""
        if self.disabled and server in self.disabled:
            return f"disabled by {self.disabled[server]}"
        if self.enabled and server not in self.enabled:
            return f"disabled by {self.allowlist}"
        return ""


def read_filter(project: Path) -> ServerFilter:
    """Return the server filter in the settings of a project.

    Raises:
        DataFileError: A settings file cannot be read, or one of the keys has a value of another type.
    """
    files = [path for name in SETTINGS_FILES if (path := project / ".claude" / name).is_file()]
    settings = {path: _keys(path) for path in files}
    enable_all = [keys[_ENABLE_ALL] for keys in settings.values() if _ENABLE_ALL in keys]
    enabled = {name: path for path, keys in settings.items() for name in keys.get(_ENABLED, ())}
    disabled = {name: path for path, keys in settings.items() for name in keys.get(_DISABLED, ())}
    lists = [path for path, keys in settings.items() if keys.get(_ENABLED)]
    return ServerFilter(
        enable_all=enable_all[-1] if enable_all else False,
        enabled=enabled,
        disabled=disabled,
        allowlist=lists[-1] if lists else None,
    )


def _keys(path: Path) -> dict[str, Any]:
    document = load(path)
    if not isinstance(document.data, dict):
        raise DataFileError([document.problem(message="expected a mapping of settings")])
    found = {key: document.data[key] for key in (_ENABLE_ALL, _ENABLED, _DISABLED) if key in document.data}
    problems = []
    for key, value in found.items():
        is_flag = key == _ENABLE_ALL
        names = isinstance(value, list) and all(isinstance(name, str) for name in value)
        if not (isinstance(value, bool) if is_flag else names):
            wanted = "true or false" if is_flag else "a list of server names"
            problems.append(document.problem(key, message=f"{key}: expected {wanted}"))
    if problems:
        raise DataFileError(problems)
    return found


USER_FILE = ".claude.json"
PROJECT_FILE = ".mcp.json"
_SECTION = "mcpServers"
NOT_CHOSEN = "not among `servers` of the evaluation"


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
    filtered = {name: reason for name in found if (reason := chosen.reason_against(name))}
    filtered |= {name: f"disabled by {path}" for name in document.data[_SECTION] if name not in found}
    active = [FoundServer(definition, path) for name, definition in found.items() if name not in filtered]
    return active, filtered


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
        if servers := entry.get(_SECTION) if isinstance(entry, dict) else None:
            part = Document(document.path, {_SECTION: servers}, document.digest)
            yield from (FoundServer(definition, path) for definition in parse_servers(part).values())


def nearest_project(roots: Iterable[str], directory: Path) -> str | None:
    """The longest of the roots that is the directory or one above it."""
    fitting = [root for root in roots if root and directory.is_relative_to(root)]
    return max(fitting, key=lambda root: len(PurePath(root).parts), default=None)


def attached_servers(
    servers: Mapping[str, ServerDefinition], root: Path, settings: SessionSettings
) -> Discovery:
    """The servers of a session file.

    ``servers`` are those that ``.mcp.json`` and ``mcpeval.yaml`` define for it. Of a ``.mcp.json`` only those
    that the project's settings leave active are attached; ``servers:`` of the file narrows down all of them.
    Of several servers with one name, that of an ``mcpeval.yaml`` counts, then that of ``~/.claude.json``.

    Raises:
        DataFileError: A file that decides about servers cannot be used.
    """
    attached: dict[str, FoundServer] = {}
    filtered: dict[str, str] = {}
    for name, definition in servers.items():
        source = Path(definition.origin.rpartition(":")[0])
        if reason := read_filter(source.parent).reason_against(name) if source.name == PROJECT_FILE else "":
            filtered[name] = reason
        else:
            attached[name] = FoundServer(definition, source)
    if settings.user_servers:
        everything = discover(root, Path.home())
        own = {name: one for name, one in attached.items() if one.source.name != PROJECT_FILE}
        attached = {**attached, **everything.attached, **own}
        filtered = {**everything.filtered, **filtered}
    if settings.servers is not None:
        filtered |= {name: NOT_CHOSEN for name in attached if name not in settings.servers}
        attached = {name: server for name, server in attached.items() if name in settings.servers}
    return Discovery(attached, {name: why for name, why in filtered.items() if name not in attached})
