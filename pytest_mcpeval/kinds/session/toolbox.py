"""What an agent has in one scenario: the tools of the attached servers, and a record of all else it uses.

Each use is written to the transcript before it happens and completed afterwards.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.session.argument_sources import SeenValues
from pytest_mcpeval.kinds.session.guard import Guard, GuardedTool, calls_left, written_name
from pytest_mcpeval.kinds.session.records import BLOCKED, BUDGET_ABORT, MCP_PREFIX, AbortReason
from pytest_mcpeval.kinds.session.redaction import redacted
from pytest_mcpeval.kinds.session.result_shape import (
    failure_shape,
    result_shape,
    shape_of,
    size_of,
    values_of,
)
from pytest_mcpeval.kinds.session.safety import decide
from pytest_mcpeval.kinds.session.transcript import abort_reason, call_count
from pytest_mcpeval.servers.connection import DEFAULT_TIMEOUT
from pytest_mcpeval.servers.errors import CallError, ServerConfigError, ServerStartError
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from pytest_mcpeval.servers.connection import Connection

INCIDENTS = (ServerStartError, ServerConfigError)
"""Errors of a call that say nothing about the agent: the run could not ask."""

_SHORTEST_TIMEOUT = 0.1


class CallRefused(Exception):  # noqa: N818 (names what happened)
    """A call was not made. ``ended`` says why its scenario is over; None if it continues with other tools."""

    __module__ = "pytest_mcpeval"  # Shown in tracebacks: where people import it from.

    def __init__(self, reason: str, ended: AbortReason | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.ended: AbortReason | None = ended


@dataclass(frozen=True)
class Answer:
    """What a server answered: the response, and the result as it was sent."""

    response: Response
    result: CallToolResult


@dataclass
class RecordedUse:
    """A use of something other than an MCP tool; set ``result`` to its result, whose shape is recorded."""

    result: Any = None


@dataclass(frozen=True)
class _Begun:
    """A call that was written down and is to be made."""

    entry_id: str
    tool: str
    arguments: Mapping[str, Any]
    timeout: float
    connection: Connection = field(repr=False)


class Toolbox:
    """The tools of one scenario, behind the guard. Several tasks and threads may use it at once.

    It is closed when the scenario is over: an agent that goes on is refused. Nothing private gets into a line
    of the transcript.
    """

    def __init__(self, guard: Guard, scenario_id: str) -> None:
        self._guard = guard
        self.scenario_id = scenario_id
        self._seen = SeenValues()
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False
        self._unanswered: set[str] = set()

    @property
    def tools(self) -> list[GuardedTool]:
        """The tools that can be called; those of skipped servers are left out."""
        return self._guard.tools()

    @property
    def call_count(self) -> int:
        """The calls made so far."""
        return call_count(self._guard.transcript.entries(), self.scenario_id)

    def lines_of(self, tool: str) -> int:
        """How often a tool was called or refused so far."""
        name = written_name(tool)
        own = (one for one in self._guard.transcript.entries() if one.scenario_id == self.scenario_id)
        return sum(name in (one.tool, one.blocked_tool) for one in own)

    @property
    def calls_left(self) -> int:
        """The calls that may still be made."""
        return calls_left(self._guard.budget, self._guard.transcript.entries(), self.scenario_id)

    @property
    def seconds_left(self) -> float:
        """The time until the session is over; negative afterwards."""
        return self._guard.seconds_left()

    @property
    def tripped_at(self) -> str | None:
        """When the time of the session was found to be over; None until then."""
        return self._guard.tripped_at

    def now(self) -> str:
        """The present moment as it stands in the transcript."""
        return self._guard.now()

    def trip_wallclock(self) -> None:
        """Write down, once in a session, that its time is over."""
        self._guard.trip_wallclock(self.scenario_id)

    @property
    def abort_reason(self) -> AbortReason | None:
        """Why the scenario is over; None while it may go on."""
        return abort_reason(self._guard.transcript.entries(), self.scenario_id)

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Call ``mcp__<server>__<tool>``; ``timeout`` is in seconds. A tool's own error is a response.

        Raises:
            CallRefused: The call was not allowed, or the scenario is over.
            CallError: The server gave no answer that could be judged.
            ServerStartError: The server could not be started or reached.
        """
        return (await self.call_verbatim(name, arguments, timeout=timeout)).response

    async def call_verbatim(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer:
        """Like `call`, with the result as the server sent it."""
        begun = await self._begun_on_thread(name, arguments or {}, timeout)
        try:
            answer = Answer(*await asyncio.wrap_future(self._started(begun)))
        except BaseException as error:
            self._failed(begun.entry_id, error)
            raise
        self._answered(begun.entry_id, answer.response)
        return answer

    def call_now(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Like `call`, from ordinary code."""
        begun = self._begin(name, arguments or {}, timeout)
        try:
            response, _ = self._started(begun).result()
        except BaseException as error:
            self._failed(begun.entry_id, error)
            raise
        self._answered(begun.entry_id, response)
        return response

    async def _begun_on_thread(self, name: str, arguments: Mapping[str, Any], timeout: float) -> _Begun:
        # To begin may mean to start a server, and to wait for the thread of the connections, which may be
        # this one.
        self._threads = self._threads or ThreadPoolExecutor(thread_name_prefix="mcpeval-guard")
        begun = self._threads.submit(self._begin, name, arguments, timeout)
        try:
            return await asyncio.wrap_future(begun)
        except asyncio.CancelledError:
            begun.add_done_callback(self._abandon)
            raise

    def _abandon(self, begun: Future[_Begun]) -> None:
        if not begun.cancelled() and begun.exception() is None:
            self._failed(begun.result().entry_id, asyncio.CancelledError())

    def close(self) -> None:
        """Refuse what is yet to come. Nobody waits for an answer any more: what is under way is cancelled."""
        with self._guard.transcript.locked():
            self._closed = True
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None
        with self._guard.transcript.locked():
            for entry_id in sorted(self._unanswered):
                self._failed(entry_id, asyncio.CancelledError())

    def _require_open(self) -> None:
        if self._closed:
            raise CallRefused("the scenario is over: no more calls are made")
        self._check_wallclock()
        if ended := self.abort_reason:
            raise CallRefused(f"the scenario is over ({ended}): no more calls are made", ended)

    def _check_wallclock(self) -> None:
        """End the scenario when the time of the session is over, even if no further call is tried."""
        if self.seconds_left <= 0 and self.abort_reason is None:
            self.trip_wallclock()

    def _require_budget(self, tool: str, arguments: Mapping[str, Any]) -> None:
        if self.calls_left <= 0:
            self._end_by_budget(tool, arguments)
            raise CallRefused("the scenario is over (call_budget): no more calls are made", "call_budget")

    def _end_by_budget(self, tool: str, arguments: Mapping[str, Any]) -> None:
        reason = "call budget exceeded"
        self._guard.write_refusal(self.scenario_id, BUDGET_ABORT, reason, "call_budget", tool, arguments)

    def _begin(self, name: str, arguments: Mapping[str, Any], timeout: float) -> _Begun:
        if not name.startswith(MCP_PREFIX):
            raise ValueError(f"expected a tool such as mcp__server__tool, found {name[:80]!r}")
        # A copy: what is judged is what is sent, whatever happens to the caller's own meanwhile.
        arguments = json.loads(json.dumps(arguments))
        self._require_open()
        target = self._guard.target(name)
        with self._guard.transcript.locked():
            self._require_open()
            if target.scope is not None:
                decision = decide(target.scope, target.tool, arguments, target.listed)
                if decision.verdict != "permit":
                    ended: AbortReason | None = "safety_abort" if decision.verdict == "abort" else None
                    self._guard.write_refusal(
                        self.scenario_id, BLOCKED, decision.reason, ended, name, arguments
                    )
                    raise CallRefused(f"blocked: {redacted(decision.reason)}", ended)
            self._require_budget(name, arguments)
            sources = self._seen.sources(arguments)
            entry_id = self._guard.write_call(self.scenario_id, name, arguments, is_mcp=True, sources=sources)
            self._unanswered.add(entry_id)
        if target.scope is None:
            self._completed(entry_id, "error:unknown_server")
            message = f"no attached server has the tool {name[:80]!r}"
            raise CallError("unknown_tool", message, is_rejection=True)
        try:
            connection = self._guard.connection(target.server)
        except BaseException as error:
            self._failed(entry_id, error)
            raise
        timeout = min(timeout, max(_SHORTEST_TIMEOUT, self.seconds_left))
        return _Begun(entry_id, target.tool, arguments, timeout, connection)

    def _started(self, begun: _Begun) -> Future[tuple[Response, CallToolResult]]:
        with self._guard.transcript.locked():
            if begun.entry_id not in self._unanswered:
                raise CallRefused("the scenario is over: no more calls are made")
            return begun.connection.start_tool_verbatim(begun.tool, begun.arguments, timeout=begun.timeout)

    def _answered(self, entry_id: str, response: Response) -> None:
        with self._guard.transcript.locked():
            if entry_id in self._unanswered:
                self._seen.add(entry_id, values_of(response))
                latency = round(response.latency_ms, 3)
                size = size_of(response)
                self._completed(entry_id, result_shape(response), result_bytes=size, latency_ms=latency)

    def _failed(self, entry_id: str, error: BaseException) -> None:
        self._completed(entry_id, failure_shape(error))

    def _completed(self, entry_id: str, shape: str, **measured: Any) -> None:
        """Complete a line with what came back, which is done once; later answers come too late."""
        with self._guard.transcript.locked():
            if entry_id in self._unanswered:
                self._unanswered.discard(entry_id)
                self._guard.transcript.complete(entry_id, result_shape=redactor.text(shape), **measured)
                self._check_wallclock()

    @contextmanager
    def recorded(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, justification: str
    ) -> Iterator[RecordedUse]:
        """Write down the use of something that is no MCP tool, which happens inside the ``with`` block.

        Reading and writing the evaluation's own files is no work of the scenario, and leaves no line.

        Raises:
            CallRefused: The scenario is over; the block is not entered.
            ValueError: ``tool`` is the name of an MCP tool or a reserved one such as ``__blocked__``, or
                there is no justification.
        """
        if tool.startswith(MCP_PREFIX):
            raise ValueError(f"{tool[:80]!r} is an MCP tool: call it")
        if not justification.strip():
            raise ValueError("using something other than an MCP tool needs a justification")
        use, arguments = RecordedUse(), arguments or {}
        if self._guard.is_housekeeping(tool, arguments):
            yield use
            return
        with self._guard.transcript.locked():
            self._require_open()
            self._require_budget(tool, arguments)
            entry_id = self._guard.write_call(
                self.scenario_id, tool, arguments, is_mcp=False, justification=justification
            )
            self._unanswered.add(entry_id)
        try:
            yield use
        except BaseException as error:
            self._failed(entry_id, error)
            raise
        self._seen.add(entry_id, use.result)
        self._completed(entry_id, shape_of(use.result) if use.result is not None else "none")

    def report(
        self, tool: str, arguments: Mapping[str, Any], justification: str | None, result_shape: str
    ) -> None:
        """Write down a use of something that is no MCP tool, after the fact: it counts in any case.

        Raises:
            CallRefused: The toolbox is closed.
            ValueError: The name is reserved.
        """
        if self._guard.is_housekeeping(tool, arguments):
            return
        with self._guard.transcript.locked():
            if self._closed:
                raise CallRefused("the scenario is over: no more uses are recorded")
            entry_id = self._guard.write_call(
                self.scenario_id, tool, arguments, is_mcp=False, justification=justification
            )
            self._unanswered.add(entry_id)
            self._completed(entry_id, result_shape)
            if self.abort_reason is None and self.call_count > self._guard.budget.calls_per_scenario:
                self._end_by_budget(tool, arguments)
