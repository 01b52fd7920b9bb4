"""The guard: all calls to the servers of an evaluation go through it.

It refuses what is not allowed and writes the transcript.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.session.records import (
    MCP_PREFIX,
    NOT_DISPATCHED,
    WALLCLOCK_ABORT,
    AbortReason,
    ArgumentSource,
    Budget,
    ServerScope,
    is_reserved,
    mcp_tool,
    server_of,
    timestamp,
)
from pytest_mcpeval.kinds.session.redaction import args_summary, digest, redacted
from pytest_mcpeval.kinds.session.transcript import Entries, Transcript, call_count, wallclock_entry
from pytest_mcpeval.servers.errors import CallError, ServerConfigError, ServerStartError
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import clipped

if TYPE_CHECKING:
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.definitions import ServerDefinition
    from pytest_mcpeval.servers.tools import Tool

_LONGEST_NAME = 160
_LONGEST_JUSTIFICATION = 2_000
_HOUSEKEEPING = ("read", "write", "edit")
_PATH_ARGUMENTS = ("file_path", "path", "notebook_path")

Connect = Callable[["ServerDefinition"], "Connection"]
"""Opens the connection to a server, or finds it; raises `ServerStartError` or `ServerConfigError`."""

CountListener = Callable[[str, int], None]
"""Called after every call that counts, with the scenario's id and its calls so far."""


def utc_now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


def calls_left(budget: Budget, entries: Entries, scenario_id: str) -> int:
    """The calls a scenario may still make. A call in flight has been counted."""
    return max(0, budget.calls_per_scenario - call_count(entries, scenario_id))


def seconds_left(budget: Budget, now: datetime) -> float:
    """The time until the session is over; negative afterwards."""
    return budget.wallclock_minutes * 60 - (now - budget.session_started).total_seconds()


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
    """The servers of one evaluation with their dispositions; agents use it through a `Toolbox`.

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
        self._digest_key = secrets.token_bytes(32)
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
                    # Its tools are classified by their names; a call will show the server's error.
                    return ()
            return self._listed[server]

    def target(self, name: str) -> CallTarget:
        """Where a call of ``mcp__<server>__<tool>`` goes; of servers that fit, the longest name is meant."""
        server = server_of(name, self._scopes)
        if not server:
            unknown, _, tool = name.removeprefix(MCP_PREFIX).partition("__")
            return CallTarget(unknown, tool)
        tool, scope = name.removeprefix(mcp_tool(server, "")), self._scopes[server]
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
        """When the time of the session was found to be over; None until then."""
        found = wallclock_entry(self.transcript.entries())
        return found.ts if found else None

    def wallclock_exceeded(self) -> bool:
        """Whether the time of the session is over."""
        return self.tripped_at is not None or self.seconds_left() <= 0

    def trip_wallclock(self, scenario_id: str) -> None:
        """Write to the transcript, once in a session, that its time is over.

        ``scenario_id`` is the current scenario.
        """
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

    def write_call(
        self,
        scenario_id: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        is_mcp: bool,
        justification: str | None = None,
        sources: tuple[ArgumentSource, ...] = (),
    ) -> str:
        """Write the line of a call that is about to be made; it counts from now on. Returns its id.

        Raises:
            ValueError: The name is one that only the guard may write.
        """
        name = written_name(tool)
        if is_reserved(name):
            raise ValueError(
                f"{name!r} is reserved: names such as __name__ stand for lines that are not calls"
            )
        entry = self.transcript.append(
            scenario_id,
            ts=self.now(),
            tool=name,
            is_mcp=is_mcp,
            args_summary=args_summary(redactor.data(arguments)),
            justification=justification and clipped(redacted(justification), _LONGEST_JUSTIFICATION),
            args_digest=digest(arguments, tool, self._digest_key),
            argument_sources=sources,
        )
        if self._on_count is not None:
            self._on_count(scenario_id, call_count(self.transcript.entries(), scenario_id))
        return entry.id

    def write_refusal(
        self,
        scenario_id: str,
        kind: str,
        reason: str,
        ended: AbortReason | None,
        tool: str,
        arguments: Mapping[str, Any],
    ) -> None:
        """Write the line of a call that is not made; ``kind`` is one of the `SYNTHETIC_TOOLS`."""
        self.transcript.append(
            scenario_id,
            ts=self.now(),
            tool=kind,
            is_mcp=False,
            args_summary=args_summary(redactor.data(arguments)),
            result_shape=NOT_DISPATCHED,
            justification=clipped(redacted(reason), _LONGEST_JUSTIFICATION),
            blocked_tool=written_name(tool),
            abort_reason=ended,
        )

    def is_housekeeping(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a tool reads or writes the evaluation's own files, which is not recorded."""
        if tool.lower() not in _HOUSEKEEPING:
            return False
        path = next((arguments[name] for name in _PATH_ARGUMENTS if name in arguments), None)
        if not isinstance(path, str) or "\0" in path:
            return False
        folder = os.path.realpath(self.transcript.path.parent)
        return Path(os.path.realpath(path)).is_relative_to(folder)


def written_name(tool: str) -> str:
    """The name of a tool as it stands in the transcript."""
    return clipped(redacted(tool), _LONGEST_NAME)


def _by_server(
    servers: Mapping[str, ServerDefinition], scopes: Iterable[ServerScope]
) -> dict[str, ServerScope]:
    found: dict[str, ServerScope] = {}
    for scope in scopes:
        if scope.mcp_name in found:
            raise ValueError(f"server {scope.mcp_name!r} has two dispositions")
        found[scope.mcp_name] = scope
    if missing := [name for name in servers if name not in found]:
        raise ValueError(f"no disposition for server {missing[0]!r}: give it read_only, sandboxed or skip")
    return {name: found[name] for name in servers}
