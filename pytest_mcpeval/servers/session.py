"""The asynchronous side of a connection: from handshake to end, in one task of the connection thread.

Imports mcp: import this module only when a connection is opened.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import anyio.abc
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ClientSession
from mcp.client.stdio import get_default_environment, stdio_client

from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.exchange import Exchange, current_exchange, legacy_sse, streamable_http
from pytest_mcpeval.servers.failures import (
    HandshakeTimeoutError,
    InProcessCrashError,
    call_error,
    start_error,
    wait_for_ending,
)
from pytest_mcpeval.servers.garbage import Garbage
from pytest_mcpeval.servers.modules import load_server
from pytest_mcpeval.servers.processes import ProcessFiles, launch
from pytest_mcpeval.servers.tools import Tool
from pytest_mcpeval.servers.watching import watched

ResultT = TypeVar("ResultT")
Send = Callable[[ClientSession], Awaitable[ResultT]]

_CLIENT = types.Implementation(name="pytest-mcpeval", version="1")
# mcp ends a request at its time limit by itself; this is for a server that does not even read the request.
_MARGIN_SECONDS = 1.0
LIFE_SIGN_SECONDS = 3.0
"""How long a server whose last call went wrong may take to show that it still answers."""
OTHERS_IN_FLIGHT = "(other calls were in flight at the same time: this may be about them)"


@dataclass(frozen=True)
class Moment:
    """How much a server had said outside the protocol at some time, and what else was going on then."""

    stderr_bytes: int
    garbage_lines: int
    calls_in_flight: int
    overlaps: int


class Session:
    """One client of one server.

    ``definition`` has its variables expanded, ``written_url`` is its URL before that. ``importer`` is the
    thread that imports an in-process server, while it does. ``suspect`` says that the last call went so
    wrong that the server should be asked for a sign of life; ``dead`` that the session is of no more use, and
    ``failure`` why, if known; ``ended`` that nothing of it is left. ``unfinished`` counts the calls that an
    in-process server has not returned from, whether anyone waits or not. ``tools`` are those the server
    listed last, and ``tools_changed`` says that it announced others since.
    """

    def __init__(self, definition: ServerDefinition, written_url: str, files: ProcessFiles | None) -> None:
        self.definition = definition
        self.written_url = written_url
        self.files = files
        self.garbage = Garbage()
        self.exchange = Exchange()
        self.importer: int | None = None
        self.suspect = False
        self.dead = False
        self.failure: BaseException | None = None
        self.unfinished = 0
        self.client: Client | None = None
        self.tools: tuple[Tool, ...] | None = None
        self.tools_changed = False
        self.listing = anyio.Lock()
        self._connected_at = 0
        self.ended = anyio.Event()
        self._stop = anyio.Event()
        self._in_flight = 0
        self._overlaps = 0
        self._tasks: anyio.abc.TaskGroup | None = None

    async def keep_open(self, ready: Future[None]) -> None:
        """Connect, resolve ``ready``, stay until `stop`.

        What goes wrong before the handshake is complete becomes the exception of ``ready``, a
        `ServerStartError`; later failures mark the session dead.
        """
        current_exchange.set(self.exchange)
        try:
            await self._stay(ready)
        except (Exception, BaseExceptionGroup, SystemExit, KeyboardInterrupt) as error:
            self.failure = error
            if not ready.done():
                ending = None if isinstance(error, HandshakeTimeoutError) else await wait_for_ending(self)
                ready.set_exception(start_error(self, error, ending))
        finally:
            self.dead = True
            self.ended.set()
            ready.cancel()

    async def _stay(self, ready: Future[None]) -> None:
        with anyio.CancelScope() as scope:
            scope.deadline = anyio.current_time() + self.definition.start_timeout
            self.exchange.give_up = scope if self.definition.transport == "sse" else None
            client = Client(
                await self._server(), cache=None, message_handler=self._observe, client_info=_CLIENT
            )
            async with client, anyio.create_task_group() as self._tasks:
                scope.deadline = math.inf
                self.exchange.give_up = None
                self._connected_at = self.files.stderr_size() if self.files else 0
                self.client = client
                ready.set_result(None)
                await self._stop.wait()
                self._tasks.cancel_scope.cancel()
        if not ready.done():
            raise HandshakeTimeoutError

    async def _observe(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.tools_changed = True
        await self.garbage.observe(message)

    async def _server(self) -> Any:
        definition = self.definition
        if definition.transport == "module":
            # In a thread that can be left behind, without a loop: what makes the server may run one itself.
            return await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        if definition.transport == "stdio":
            assert self.files is not None
            return watched(_stdio(definition, self.files))
        if definition.transport == "http":
            return streamable_http(definition)
        return watched(legacy_sse(definition))

    def _load(self) -> Any:
        self.importer = threading.get_ident()
        server = load_server(self.definition)
        self.importer = None
        return server

    def stop(self) -> None:
        """Let `keep_open` end."""
        self._stop.set()

    def live(self) -> ClientSession:
        """The session of mcp.

        Raises:
            MCPError: The connection is closed.
        """
        if self.dead or self.client is None:
            raise MCPError(types.CONNECTION_CLOSED, "Connection closed")
        return self.client.session

    def moment(self) -> Moment:
        """What `last_words` takes, to leave out what was said before."""
        said = self.files.stderr_size() if self.files else 0
        return Moment(said, self.garbage.count, self._in_flight, self._overlaps)

    def last_words(
        self,
        lines: int,
        since: Moment | None = None,
        until: Moment | None = None,
        *,
        from_start: bool = False,
    ) -> str:
        """What the server last said outside the protocol from one moment, or the handshake, to another.

        Servers built on mcp 1.x answer the handshake's first question with a validation error on their
        standard error, which says nothing about the case at hand. Where other calls were in flight meanwhile,
        a last line says that the words may be about them.
        """
        start = 0 if from_start else max(self._connected_at, since.stderr_bytes if since else 0)
        until = until or self.moment()
        said = self.files.tail(lines, start, until.stderr_bytes) if self.files else ""
        garbage = self.garbage.words(since.garbage_lines if since else 0, until.garbage_lines)
        shared = since is not None and (since.calls_in_flight > 0 or until.overlaps > since.overlaps)
        note = OTHERS_IN_FLIGHT if shared and (said or garbage) else ""
        return "\n".join(part for part in (said, garbage, note) if part)

    async def answers(self, seconds: float) -> bool:
        """Whether the server gives a sign of life within the time; any answer counts, even an error."""
        exchange = Exchange()
        current_exchange.set(exchange)
        try:
            with anyio.fail_after(seconds):
                await self.live().send_request(types.PingRequest(), types.EmptyResult)
        except MCPError as error:
            # Later protocol versions have no ping, and say so with HTTP 404.
            known = not exchange.failed or (error.code == types.METHOD_NOT_FOUND and exchange.has_json)
            return known and (error.code != types.CONNECTION_CLOSED or exchange.turned_down)
        except Exception:
            return False
        return True

    async def perform(
        self, send: Send[ResultT | types.InputRequiredResult], timeout: float, what: str
    ) -> tuple[ResultT, float]:
        """The result of one request and its latency in milliseconds.

        Raises:
            CallError: Anything that kept the result from coming; ``what`` names the request in its text.
        """
        exchange = Exchange()
        current_exchange.set(exchange)
        started = time.perf_counter()
        self._overlaps += self._in_flight > 0
        self._in_flight += 1
        try:
            with anyio.fail_after(timeout + _MARGIN_SECONDS) as scope:
                exchange.give_up = scope if self.definition.transport == "sse" else None
                result = await self._send(send, timeout)
        except Exception as error:
            seconds = time.perf_counter() - started
            raise await call_error(self, error, exchange, what, seconds, timeout) from error
        finally:
            self._in_flight -= 1
            self._spare_the_others_waiting()
        if isinstance(result, types.InputRequiredResult):
            raise CallError("protocol", f"{what}: the server asks for input from a person or a model")
        return result, (time.perf_counter() - started) * 1000

    def _spare_the_others_waiting(self) -> None:
        """When one call went wrong, the others in flight need not wait for a server that answers no more."""
        if self.suspect and self._in_flight and self._tasks is not None and not self.dead:
            self._tasks.start_soon(self._end_unless_it_answers)

    async def _end_unless_it_answers(self) -> None:
        if await self.answers(LIFE_SIGN_SECONDS):
            self.suspect = False
        else:
            self.stop()

    async def _send(self, send: Send[ResultT], timeout: float) -> ResultT:
        if self.definition.transport != "module":
            return await send(self.live())
        return await self._abandonable(send, timeout)

    async def _abandonable(self, send: Send[ResultT], timeout: float) -> ResultT:
        """Send in a task of its own: a blocking tool in this process cannot be cancelled, only left."""
        outcome: Future[ResultT] = Future()
        done, scope = anyio.Event(), anyio.CancelScope()
        session = self.live()

        async def run() -> None:
            try:
                with scope:
                    outcome.set_result(await send(session))
            except Exception as error:
                outcome.set_exception(error)
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:
                crash = InProcessCrashError()
                crash.__cause__ = error
                outcome.set_exception(crash)
            finally:
                self.unfinished -= 1
                done.set()

        assert self._tasks is not None
        self._tasks.start_soon(run)
        self.unfinished += 1
        try:
            with anyio.fail_after(timeout):
                await done.wait()
        finally:
            scope.cancel()
        if not outcome.done():
            self.dead = True
            raise MCPError(types.CONNECTION_CLOSED, "Connection closed")
        return outcome.result()


@asynccontextmanager
async def _stdio(definition: ServerDefinition, files: ProcessFiles) -> AsyncGenerator[Any]:
    """The streams of a server process, whose standard error goes to its file."""
    started = launch(definition, files, get_default_environment())
    parameters = StdioServerParameters(
        command=started.command, args=started.args, env=started.env, cwd=definition.cwd
    )
    with files.stderr.open("w", encoding="utf-8") as log:
        async with stdio_client(parameters, errlog=log) as streams:
            yield streams
