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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.session.guard import CallTarget, Guard, GuardedTool
from pytest_mcpeval.kinds.session.recorder import CallRefused, Recorder
from pytest_mcpeval.kinds.session.records import MCP_PREFIX, AbortReason
from pytest_mcpeval.kinds.session.result_shape import failure_shape, shape_of
from pytest_mcpeval.kinds.session.safety import decide
from pytest_mcpeval.servers.connection import DEFAULT_TIMEOUT
from pytest_mcpeval.servers.errors import CallError, ServerConfigError, ServerStartError
from pytest_mcpeval.servers.response import Response

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from pytest_mcpeval.servers.connection import Connection

__all__ = ["INCIDENTS", "Answer", "CallRefused", "RecordedUse", "Toolbox"]

INCIDENTS = (ServerStartError, ServerConfigError)
"""Errors of a call that say nothing about the agent: the run could not ask."""

_SHORTEST_TIMEOUT = 0.1


@dataclass(frozen=True)
class Answer:
    """What a server answered: the response, and the result as it was sent."""

    response: Response
    result: CallToolResult


@dataclass
class RecordedUse:
    """A use of something that is no MCP tool; set ``result`` to what it brought, for its shape."""

    result: Any = None


@dataclass(frozen=True)
class _Begun:
    """A call that was written down and is to be made."""

    entry_id: str
    tool: str
    arguments: Mapping[str, Any]
    timeout: float
    connection: Connection = field(repr=False)

    def start(self) -> Future[tuple[Response, CallToolResult]]:
        return self.connection.start_tool_verbatim(self.tool, self.arguments, timeout=self.timeout)


class Toolbox:
    """The tools of one scenario, behind the guard. Several tasks and threads may use it at once.

    It is closed when the scenario is over: an agent that goes on is refused.
    """

    def __init__(self, guard: Guard, scenario_id: str) -> None:
        self._guard = guard
        self.scenario_id = scenario_id
        self._recorder = Recorder(guard, scenario_id)
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
        return self._recorder.call_count

    def lines_of(self, tool: str) -> int:
        """How often a tool was called or refused so far."""
        return self._recorder.lines_of(tool)

    @property
    def calls_left(self) -> int:
        """The calls that may still be made."""
        return self._recorder.calls_left

    @property
    def seconds_left(self) -> float:
        """The time until the session is over; negative afterwards."""
        return self._guard.seconds_left()

    @property
    def tripped_at(self) -> str | None:
        """When the time of the session was found to be over; None while nobody has found that."""
        return self._guard.tripped_at

    @property
    def transcript_path(self) -> Path:
        """Where the transcript is."""
        return self._guard.transcript.path

    def now(self) -> str:
        """The present moment as it stands in the transcript."""
        return self._guard.now()

    def trip_wallclock(self) -> None:
        """Write down, once in a session, that its time is over."""
        self._guard.trip_wallclock(self.scenario_id)

    @property
    def abort_reason(self) -> AbortReason | None:
        """Why the scenario is over; None while it may go on."""
        return self._recorder.abort_reason

    def told(self, text: str) -> str:
        """A text as it may be written down: without secrets, those of the servers among them."""
        return self._recorder.told(text)

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
        self._recorder.require_running()

    def _started(self, begun: _Begun) -> Future[tuple[Response, CallToolResult]]:
        with self._guard.transcript.locked():
            if begun.entry_id not in self._unanswered:
                raise CallRefused("the scenario is over: no more calls are made")
            return begun.start()

    def _answered(self, entry_id: str, response: Response) -> None:
        with self._guard.transcript.locked():
            if self._is_awaited(entry_id):
                self._recorder.after_response(entry_id, response)

    def _failed(self, entry_id: str, error: BaseException) -> None:
        with self._guard.transcript.locked():
            if self._is_awaited(entry_id):
                self._recorder.after_failure(entry_id, error)

    def _completed(self, entry_id: str, shape: str) -> None:
        with self._guard.transcript.locked():
            if self._is_awaited(entry_id):
                self._recorder.after(entry_id, shape)

    def _is_awaited(self, entry_id: str) -> bool:
        """Whether a line is still to be completed, which is done once; later answers come too late."""
        awaited = entry_id in self._unanswered
        self._unanswered.discard(entry_id)
        return awaited

    def _begin(self, name: str, arguments: Mapping[str, Any], timeout: float) -> _Begun:
        if not name.startswith(MCP_PREFIX):
            raise ValueError(f"expected a tool such as mcp__server__tool, found {name[:80]!r}")
        # A copy: what is judged is what is sent, whatever happens to the caller's own meanwhile.
        arguments = json.loads(json.dumps(arguments))
        self._require_open()
        target = self._guard.target(name)
        with self._guard.transcript.locked():
            self._require_open()
            self._require_safe(name, target, arguments)
            self._recorder.require_budget(name, arguments)
            entry = self._recorder.before(name, arguments, is_mcp=True)
            self._unanswered.add(entry.id)
        connection = self._connected(entry.id, name, target)
        timeout = min(timeout, max(_SHORTEST_TIMEOUT, self.seconds_left))
        return _Begun(entry.id, target.tool, arguments, timeout, connection)

    def _require_safe(self, name: str, target: CallTarget, arguments: Mapping[str, Any]) -> None:
        if target.scope is None:
            return
        decision = decide(target.scope, target.tool, arguments, target.listed)
        if decision.verdict != "permit":
            ended: AbortReason | None = "safety_abort" if decision.verdict == "abort" else None
            raise self._recorder.blocked(decision.reason, ended, name, arguments)

    def _connected(self, entry_id: str, name: str, target: CallTarget) -> Connection:
        if target.scope is None:
            self._completed(entry_id, "error:unknown_server")
            message = f"no attached server has the tool {name[:80]!r}"
            raise CallError("unknown_tool", message, is_rejection=True)
        try:
            return self._guard.connection(target.server)
        except BaseException as error:
            self._failed(entry_id, error)
            raise

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
            raise ValueError("a use of something that is no MCP tool needs a justification")
        use = RecordedUse()
        if self._recorder.is_housekeeping(tool, arguments or {}):
            yield use
            return
        entry_id = self._use_begun(tool, arguments or {}, justification)
        try:
            yield use
        except BaseException as error:
            self._completed(entry_id, failure_shape(error))
            raise
        self._recorder.remember(entry_id, use.result)
        self._completed(entry_id, shape_of(use.result) if use.result is not None else "none")

    def _use_begun(self, tool: str, arguments: Mapping[str, Any], justification: str) -> str:
        with self._guard.transcript.locked():
            self._require_open()
            self._recorder.require_budget(tool, arguments)
            entry = self._recorder.before(tool, arguments, is_mcp=False, justification=justification)
            self._unanswered.add(entry.id)
            return entry.id

    def report(
        self, tool: str, arguments: Mapping[str, Any], justification: str | None, result_shape: str
    ) -> None:
        """Write down a use of something that is no MCP tool, after the fact: it counts in any case.

        Raises:
            CallRefused: The toolbox is closed.
            ValueError: The name is reserved.
        """
        if self._recorder.is_housekeeping(tool, arguments):
            return
        with self._guard.transcript.locked():
            if self._closed:
                raise CallRefused("the scenario is over: no more uses are reported")
            entry = self._recorder.before(tool, arguments, is_mcp=False, justification=justification)
            self._recorder.after(entry.id, result_shape)
            if self.abort_reason is None and self.call_count > self._guard.budget.calls_per_scenario:
                self._recorder.end_by_budget(tool, arguments)
