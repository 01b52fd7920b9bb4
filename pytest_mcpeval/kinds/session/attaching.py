"""Which of the servers that files define are attached to a session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_mcpeval.kinds.session.claude_settings import read_filter
from pytest_mcpeval.kinds.session.discovery import PROJECT_FILE, Discovery, FoundServer, discover
from pytest_mcpeval.kinds.session.schema import SessionSettings
from pytest_mcpeval.servers.definitions import ServerDefinition

NOT_CHOSEN = "not among `servers` of the evaluation"


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
    found = _as_left_active(servers)
    if settings.user_servers:
        everything = discover(root, Path.home())
        own = {name: one for name, one in found.attached.items() if one.source.name != PROJECT_FILE}
        found = Discovery(
            {**found.attached, **everything.attached, **own}, {**everything.filtered, **found.filtered}
        )
    chosen = settings.servers
    left_out = {name: NOT_CHOSEN for name in found.attached if chosen is not None and name not in chosen}
    attached = {name: server for name, server in found.attached.items() if name not in left_out}
    filtered = {**found.filtered, **left_out}
    return Discovery(attached, {name: why for name, why in filtered.items() if name not in attached})


def _as_left_active(servers: Mapping[str, ServerDefinition]) -> Discovery:
    attached: dict[str, FoundServer] = {}
    filtered: dict[str, str] = {}
    for name, definition in servers.items():
        source = Path(definition.origin.rpartition(":")[0])
        reason = read_filter(source.parent).reason_against(name) if source.name == PROJECT_FILE else ""
        if reason:
            filtered[name] = reason
        else:
            attached[name] = FoundServer(definition, source)
    return Discovery(attached, filtered)
