"""What an agent has in one scenario: the tools of the attached servers, and a record of all else it uses.

Each use is written to the transcript before it happens and completed afterwards.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.session.argument_sources import SeenValues
from pytest_mcpeval.kinds.session.budget import calls_left
from pytest_mcpeval.kinds.session.guard import CallTarget, Guard, GuardedTool
from pytest_mcpeval.kinds.session.records import (
    BLOCKED,
    BUDGET_ABORT,
    MCP_PREFIX,
    NOT_DISPATCHED,
    AbortReason,
    TranscriptEntry,
)
from pytest_mcpeval.kinds.session.redaction import args_summary, digest, redacted_text
from pytest_mcpeval.kinds.session.result_shape import failure_shape, result_shape, shape_of
from pytest_mcpeval.kinds.session.safety import decide
from pytest_mcpeval.kinds.session.transcript import abort_reason, call_count
from pytest_mcpeval.servers.connection import DEFAULT_TIMEOUT
from pytest_mcpeval.servers.errors import CallError, ServerConfigError, ServerStartError
from pytest_mcpeval.servers.json_paths import json_answer
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.servers.variables import redact, redact_data
from pytest_mcpeval.text import shortened

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from pytest_mcpeval.servers.connection import Connection

_LONGEST_NAME = 160
_LONGEST_JUSTIFICATION = 2_000
_HOUSEKEEPING = ("read", "write", "edit")
_PATH_ARGUMENTS = ("file_path", "path", "notebook_path")


class CallRefused(Exception):  # noqa: N818 (names what happened)
    """A call was not made. ``ended`` says why its scenario is over; None when it goes on with other tools."""

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


class Toolbox:
    """The tools of one scenario, behind the guard. Several tasks and threads may use it at once."""

    def __init__(self, guard: Guard, scenario_id: str) -> None:
        self._guard = guard
        self._seen = SeenValues()
        self._threads: ThreadPoolExecutor | None = None
        self.scenario_id = scenario_id

    @property
    def tools(self) -> list[GuardedTool]:
        """The tools that can be called; those of skipped servers are left out."""
        return self._guard.tools()

    @property
    def call_count(self) -> int:
        """The calls made so far."""
        return call_count(self._guard.transcript.entries(), self.scenario_id)

    @property
    def calls_left(self) -> int:
        """The calls that may still be made."""
        return calls_left(self._guard.budget, self._guard.transcript.entries(), self.scenario_id)

    @property
    def seconds_left(self) -> float:
        """The time until the session is over; negative afterwards."""
        return self._guard.seconds_left()

    @property
    def abort_reason(self) -> AbortReason | None:
        """Why the scenario is over; None while it may go on."""
        return abort_reason(self._guard.transcript.entries(), self.scenario_id)

    @property
    def guard(self) -> Guard:
        """What it stands behind."""
        return self._guard

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
            started = begun.connection.start_tool_verbatim(begun.tool, begun.arguments, timeout=begun.timeout)
            answer = Answer(*await asyncio.wrap_future(started))
        except BaseException as error:
            self._failed(begun, error)
            raise
        return self._completed(begun, answer)

    def call_now(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Like `call`, from ordinary code."""
        begun = self._begin(name, arguments or {}, timeout)
        try:
            started = begun.connection.start_tool_verbatim(begun.tool, begun.arguments, timeout=begun.timeout)
            answer = Answer(*started.result())
        except BaseException as error:
            self._failed(begun, error)
            raise
        return self._completed(begun, answer).response

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
            self._failed(begun.result(), asyncio.CancelledError())

    def close(self) -> None:
        """End its threads; calls that were begun are completed."""
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None

    def _begin(self, name: str, arguments: Mapping[str, Any], timeout: float) -> _Begun:
        if not name.startswith(MCP_PREFIX):
            raise ValueError(f"expected a tool such as mcp__server__tool, found {name[:80]!r}")
        # A copy: what is judged is what is sent, whatever happens to the caller's own meanwhile.
        arguments = json.loads(json.dumps(arguments))
        self._require_running()
        target = self._guard.target(name)
        with self._guard.transcript.locked():
            self._require_running()
            self._require_safe(name, target, arguments)
            self._require_budget(name, arguments)
            entry = self._written(name, arguments, is_mcp=True, sources=True)
            if target.scope is None:
                self._complete(entry.id, "error:unknown_server")
                raise CallError("unknown_tool", f"no attached server has the tool {name[:80]!r}")
        try:
            connection = self._guard.connection(target.server)
        except BaseException as error:
            self._complete(entry.id, failure_shape(error))
            raise
        timeout = min(timeout, max(0.1, self.seconds_left))
        return _Begun(entry.id, target.tool, arguments, timeout, connection)

    def _require_running(self) -> None:
        if self.abort_reason is None and self.seconds_left <= 0:
            self._guard.trip_wallclock(self.scenario_id)
        if ended := self.abort_reason:
            raise CallRefused(f"the scenario is over ({ended}): no more calls are made", ended)

    def _require_safe(self, name: str, target: CallTarget, arguments: Mapping[str, Any]) -> None:
        if target.scope is None:
            return
        decision = decide(target.scope, target.tool, arguments, target.listed)
        if decision.verdict == "permit":
            return
        ended: AbortReason | None = "safety_abort" if decision.verdict == "abort" else None
        self._synthetic(BLOCKED, decision.reason, ended, name, arguments)
        raise CallRefused(f"blocked: {self.told(decision.reason)}", ended)

    def _require_budget(self, name: str, arguments: Mapping[str, Any]) -> None:
        if self.calls_left > 0:
            return
        self._synthetic(BUDGET_ABORT, "call budget exceeded", "call_budget", name, arguments)
        raise CallRefused("the scenario is over (call_budget): no more calls are made", "call_budget")

    def _synthetic(
        self, tool: str, reason: str, ended: AbortReason | None, refused: str, arguments: Mapping[str, Any]
    ) -> None:
        self._guard.transcript.append(
            self.scenario_id,
            ts=self._guard.now(),
            tool=tool,
            is_mcp=False,
            args_summary=self._summary(arguments),
            result_shape=NOT_DISPATCHED,
            justification=shortened(self.told(reason), _LONGEST_JUSTIFICATION),
            blocked_tool=self._name(refused),
            abort_reason=ended,
        )

    def _written(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        is_mcp: bool,
        justification: str | None = None,
        sources: bool = False,
    ) -> TranscriptEntry:
        entry = self._guard.transcript.append(
            self.scenario_id,
            ts=self._guard.now(),
            tool=self._name(name),
            is_mcp=is_mcp,
            args_summary=self._summary(arguments),
            justification=None
            if justification is None
            else shortened(self.told(justification), _LONGEST_JUSTIFICATION),
            args_digest=digest(arguments, name, self._guard.digest_key),
            argument_sources=self._seen.sources(arguments) if sources else (),
        )
        self._guard.counted(self.scenario_id)
        return entry

    def _name(self, name: str) -> str:
        return shortened(self.told(name), _LONGEST_NAME)

    def told(self, text: str) -> str:
        """A text as it may be written down: without secrets, those of the servers among them."""
        return redacted_text(redact(text, self._guard.secrets))

    def _summary(self, arguments: Mapping[str, Any]) -> str:
        return args_summary(redact_data(arguments, self._guard.secrets))

    def _complete(self, entry_id: str, shape: str, **measured: Any) -> None:
        shape = redact(shape, self._guard.secrets)
        self._guard.transcript.complete(entry_id, result_shape=shape, **measured)

    def _failed(self, begun: _Begun, error: BaseException) -> None:
        self._complete(begun.entry_id, failure_shape(error))
        self._check_wallclock()

    def _completed(self, begun: _Begun, answer: Answer) -> Answer:
        response = answer.response
        self._seen.add(begun.entry_id, _values(response))
        self._complete(
            begun.entry_id,
            result_shape(response),
            result_bytes=size_of(response),
            latency_ms=round(response.latency_ms, 3),
        )
        self._check_wallclock()
        return answer

    def _check_wallclock(self) -> None:
        """After each call: an exceeded session ends, even if no further call is tried."""
        if self.seconds_left <= 0:
            self._guard.trip_wallclock(self.scenario_id)

    @contextmanager
    def recorded(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, justification: str
    ) -> Iterator[RecordedUse]:
        """Write down the use of something that is no MCP tool, which happens inside the ``with`` block.

        Reading and writing the evaluation's own files is no work of the scenario, and leaves no line.

        Raises:
            CallRefused: The scenario is over; the block is not entered.
            ValueError: ``tool`` is the name of an MCP tool, or there is no justification.
        """
        if tool.startswith(MCP_PREFIX):
            raise ValueError(f"{tool[:80]!r} is an MCP tool: call it")
        if not justification.strip():
            raise ValueError("a use of something that is no MCP tool needs a justification")
        use = RecordedUse()
        if self._is_housekeeping(tool, arguments or {}):
            yield use
            return
        with self._guard.transcript.locked():
            self._require_running()
            self._require_budget(tool, arguments or {})
            entry = self._written(tool, arguments or {}, is_mcp=False, justification=justification)
        try:
            yield use
        except BaseException as error:
            self._complete(entry.id, failure_shape(error))
            raise
        self._seen.add(entry.id, use.result)
        self._complete(entry.id, shape_of(use.result) if use.result is not None else "none")
        self._check_wallclock()

    def report(
        self, tool: str, arguments: Mapping[str, Any], justification: str | None, result_shape: str
    ) -> None:
        """Write down a use of something that is no MCP tool, after the fact: it counts in any case."""
        if self._is_housekeeping(tool, arguments):
            return
        with self._guard.transcript.locked():
            entry = self._written(tool, arguments, is_mcp=False, justification=justification)
            self._complete(entry.id, result_shape)
            if self.abort_reason is None and self.call_count > self._guard.budget.calls_per_scenario:
                self._synthetic(BUDGET_ABORT, "call budget exceeded", "call_budget", tool, arguments)

    def _is_housekeeping(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        if tool.lower() not in _HOUSEKEEPING:
            return False
        path = next((arguments[name] for name in _PATH_ARGUMENTS if name in arguments), None)
        if not isinstance(path, str) or "\0" in path:
            return False
        folder = os.path.realpath(self._guard.transcript.path.parent)
        return Path(os.path.realpath(path)).is_relative_to(folder)


def _values(response: Response) -> Any:
    try:
        return json_answer(response)
    except ValueError:
        return response.text.split()


def size_of(response: Response) -> int:
    """The bytes of an answer: its text in UTF-8, or else its structured content, and everything else."""
    others = sum(block.size for block in response.blocks if block.type not in ("text", "resource_link"))
    text = response.text
    if not text and response.structured is not None:
        text = json.dumps(response.structured, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass")) + others


INCIDENTS = (ServerStartError, ServerConfigError)
"""Errors of a call that say nothing about the agent: the run could not ask."""
