"""A guard around servers in this process, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pytest_mcpeval import Toolbox
from pytest_mcpeval.kinds.session.guard import Guard, utc_now
from pytest_mcpeval.kinds.session.records import Budget, ServerScope, TranscriptEntry
from pytest_mcpeval.kinds.session.transcript import Transcript
from pytest_mcpeval.servers import Connections, ServerDefinition
from pytest_mcpeval.servers.connection import Connection
from tests.session.notes_server import NotesServer

HERE = Path(__file__).parent

_servers: dict[str, NotesServer] = {}


def __getattr__(name: str) -> Any:
    """``tests.session.guarding:<server>`` is the server of that name, for in-process definitions."""
    if name in _servers:
        return _servers[name].make
    raise AttributeError(name)


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@dataclass
class Guarded:
    """A guard, and what became of the calls that were made through it."""

    guard: Guard
    servers: Mapping[str, NotesServer]
    connections: Connections
    counts: list[tuple[str, int]] = field(default_factory=list)

    def toolbox(self, scenario: str = "S1") -> Toolbox:
        """What the agent of a scenario has."""
        return Toolbox(self.guard, scenario)

    @property
    def lines(self) -> tuple[TranscriptEntry, ...]:
        """The transcript as it is on disk."""
        return Transcript(self.guard.transcript.path).entries()

    @property
    def brief(self) -> list[tuple[str, str, str | None]]:
        """Id, tool and result of each line."""
        return [(line.id, line.tool, line.result_shape) for line in self.lines]

    def received(self, server: str = "notes") -> list[str]:
        """The tools that were called on a server."""
        return [name for name, _ in self.servers[server].received]


@contextmanager
def guarded(
    folder: Path,
    scopes: Mapping[str, ServerScope] | ServerScope,
    *,
    calls: int = 20,
    minutes: float = 15,
    clock: Callable[[], datetime] = utc_now,
    definitions: Mapping[str, ServerDefinition] | None = None,
) -> Iterator[Guarded]:
    """A guard around one `NotesServer` for each scope, unless ``definitions`` says what stands there."""
    found = {scopes.mcp_name: scopes} if isinstance(scopes, ServerScope) else dict(scopes)
    servers = {name: NotesServer(name) for name in found if name not in (definitions or {})}
    known = {name: _defined(name, folder) for name in servers} | dict(definitions or {})
    counts: list[tuple[str, int]] = []
    _servers.update({f"{name}_{id(folder)}": server for name, server in servers.items()})
    with Connections() as connections:
        guard = Guard(
            {name: known[name] for name in found},
            found.values(),
            Transcript(folder / "transcript.jsonl"),
            Budget(clock(), calls, minutes),
            connections.get,
            on_count=lambda scenario, count: counts.append((scenario, count)),
            clock=clock,
        )
        yield Guarded(guard, servers, connections, counts)


def _defined(name: str, folder: Path) -> ServerDefinition:
    return ServerDefinition(name, "module", module=f"tests.session.guarding:{name}_{id(folder)}")


def reading(server: str = "notes") -> ServerScope:
    """A scope that permits reading."""
    return ServerScope(server, "read_only")


def sandboxed(*resources: str, server: str = "notes") -> ServerScope:
    """A scope that permits changes to some resources."""
    return ServerScope(server, "sandboxed", resources)


def connection_of(guarded: Guarded, server: str = "notes") -> Connection:
    """The connection the guard uses."""
    return guarded.guard.connection(server)
