"""The one door to the servers of an evaluation: what is allowed passes, and all of it is written down."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pytest_mcpeval.kinds.session.records import (
    MCP_PREFIX,
    NOT_DISPATCHED,
    WALLCLOCK_ABORT,
    Budget,
    ServerScope,
    mcp_tool,
    timestamp,
)
from pytest_mcpeval.kinds.session.transcript import Entries, Transcript, call_count, wallclock_entry
from pytest_mcpeval.servers.errors import CallError, ServerConfigError, ServerStartError

if TYPE_CHECKING:
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.definitions import ServerDefinition
    from pytest_mcpeval.servers.tools import Tool


Connect = Callable[["ServerDefinition"], "Connection"]
"""Opens the connection to a server, or finds it; raises `ServerStartError` or `ServerConfigError`."""

CountListener = Callable[[str, int], None]
"""Is told a scenario's id and its calls so far, after every call that counts."""


def utc_now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class GuardedTool:
    """A tool as an agent sees it: ``name`` is ``mcp__<server>__<tool>``."""

    name: str
    server: str
    tool: Tool


@dataclass(frozen=True)
class CallTarget:
    """Where a call is meant to go. ``scope`` is None when no attached server has that name."""

    server: str
    tool: str
    scope: ServerScope | None = None
    listed: Tool | None = None


class Guard:
    """The servers of one evaluation, each with what a person allowed; agents get a `Toolbox` in front of it.

    ``transcript`` and ``budget`` are those of the whole session. ``on_count`` is called under the lock of the
    transcript, on whatever thread made the call. A server that is skipped is never connected to.

    Raises:
        ValueError: A server has no scope, or two.
    """

    def __init__(
        self,
        servers: Mapping[str, ServerDefinition],
        scopes: Iterable[ServerScope],
        transcript: Transcript,
        budget: Budget,
        connect: Connect,
        *,
        on_count: CountListener | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.transcript = transcript
        self.budget = budget
        self.clock = clock
        self.digest_key = secrets.token_bytes(32)
        self._servers = dict(servers)
        self._scopes = _by_server(servers, scopes)
        self._connect = connect
        self._on_count = on_count
        self._listed: dict[str, tuple[Tool, ...]] = {}
        self._listing = threading.Lock()

    def tools(self) -> list[GuardedTool]:
        """The tools an agent may try: those of all servers that are not skipped, as far as they list them."""
        return [
            GuardedTool(mcp_tool(server, tool.name), server, tool)
            for server, scope in self._scopes.items()
            if scope.disposition != "skip"
            for tool in self._tools_of(server)
        ]

    def connection(self, server: str) -> Connection:
        """The connection to a server that is not skipped.

        Raises:
            ServerStartError: The server cannot be started or reached.
            ServerConfigError: An environment variable its definition names is not set.
            PermissionError: The server is skipped.
        """
        if self._scopes[server].disposition == "skip":
            raise PermissionError(f"server {server!r} is skipped")
        return self._connect(self._servers[server])

    def _tools_of(self, server: str) -> tuple[Tool, ...]:
        with self._listing:
            if server not in self._listed:
                try:
                    self._listed[server] = tuple(self.connection(server).list_tools())
                except (CallError, ServerStartError, ServerConfigError):
                    # Its tools are judged by their names, and a call tells what is wrong with the server.
                    return ()
            return self._listed[server]

    def target(self, name: str) -> CallTarget:
        """Where a call of ``mcp__<server>__<tool>`` goes; of servers that fit, the longest name is meant."""
        fitting = [server for server in self._scopes if name.startswith(mcp_tool(server, ""))]
        if not fitting:
            server, _, tool = name.removeprefix(MCP_PREFIX).partition("__")
            return CallTarget(server, tool)
        server = max(fitting, key=len)
        tool = name.removeprefix(mcp_tool(server, ""))
        scope = self._scopes[server]
        tools: Sequence[Tool] = () if scope.disposition == "skip" else self._tools_of(server)
        return CallTarget(server, tool, scope, next((found for found in tools if found.name == tool), None))

    def now(self) -> str:
        """The present moment as it stands in the transcript."""
        return timestamp(self.clock())

    def seconds_left(self) -> float:
        """The time until the session is over; negative afterwards."""
        return seconds_left(self.budget, self.clock())

    @property
    def tripped_at(self) -> str | None:
        """When the time of the session was found to be over; None while nobody has found that."""
        found = wallclock_entry(self.transcript.entries())
        return found.ts if found else None

    def wallclock_exceeded(self) -> bool:
        """Whether the time of the session is over."""
        return self.tripped_at is not None or self.seconds_left() <= 0

    def trip_wallclock(self, scenario_id: str) -> None:
        """Write down, once in a session, that its time is over; ``scenario_id`` is the one in hand."""
        with self.transcript.locked():
            if wallclock_entry(self.transcript.entries()) is None:
                self.transcript.append(
                    scenario_id,
                    ts=self.now(),
                    tool=WALLCLOCK_ABORT,
                    is_mcp=False,
                    result_shape=NOT_DISPATCHED,
                    justification="session wallclock exceeded",
                    abort_reason="wallclock",
                )

    def counted(self, scenario_id: str) -> None:
        """Tell whoever wants to know how many calls a scenario has made."""
        if self._on_count is not None:
            self._on_count(scenario_id, call_count(self.transcript.entries(), scenario_id))


def _by_server(
    servers: Mapping[str, ServerDefinition], scopes: Iterable[ServerScope]
) -> dict[str, ServerScope]:
    found: dict[str, ServerScope] = {}
    for scope in scopes:
        if scope.server in found:
            raise ValueError(f"server {scope.server!r} has two dispositions")
        found[scope.server] = scope
    if missing := [name for name in servers if name not in found]:
        raise ValueError(f"no disposition for server {missing[0]!r}: give it read_only, sandboxed or skip")
    return {name: found[name] for name in servers}


def calls_left(budget: Budget, entries: Entries, scenario_id: str) -> int:
    """The calls a scenario may still make. A call in flight has been counted."""
    return max(0, budget.calls_per_scenario - call_count(entries, scenario_id))


def seconds_left(budget: Budget, now: datetime) -> float:
    """The time until the session is over; negative afterwards."""
    return budget.wallclock_minutes * 60 - (now - budget.session_started).total_seconds()
