"""One open connection, for use from ordinary code and from ``async`` tests alike."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_mcpeval.servers.errors import CallError, ServerStartError
from pytest_mcpeval.servers.interruptible import result_of
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.servers.tools import Prompt, Tool
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from pytest_mcpeval.servers.definitions import ServerDefinition
    from pytest_mcpeval.servers.session import Moment, Session
    from pytest_mcpeval.servers.thread import ConnectionThread

ResultT = TypeVar("ResultT")

DEFAULT_TIMEOUT = 60.0
_TAIL_LINES = 20
# Past every limit inside: only a blocked connection thread lets the caller wait this long.
_GRACE_SECONDS = 15.0
_BLOCKED_SECONDS = 5.0
"""Past its limit, an event loop that has not ended a call by itself is blocked by an in-process server."""
_UNFINISHED_SECONDS = 1.0
"""How long a tool of an in-process server may take to end once its call was cancelled."""
_BLOCKED = "the server blocks its event loop, so its thread was abandoned"


class Connection:
    """A connection to one server; open it with `Connections.get`.

    Every method that waits has a twin that starts: the future it returns is resolved with the response or a
    `CallError`, several may be pending at once, and ``await asyncio.wrap_future(...)`` fits it into a loop.
    """

    def __init__(
        self,
        definition: ServerDefinition,
        session: Session,
        thread: ConnectionThread,
    ) -> None:
        self._definition = definition
        self._session = session
        self._thread = thread
        self._kept_open: Future[None] = Future()

    def open(self) -> None:
        """Start the server and complete the handshake.

        Raises:
            ServerStartError: It did not work, or not within the definition's ``start_timeout``.
        """
        ready: Future[None] = Future()
        self._kept_open = self._thread.start(self._session.keep_open, ready)
        try:
            result_of(ready, self._definition.start_timeout + _BLOCKED_SECONDS if self._is_here else math.inf)
        except ServerStartError as error:
            raise self._explained(error) from None
        except FutureTimeout:
            self._thread.is_blocked = True
            seconds = self._definition.start_timeout
            reason = f"no handshake within {seconds:g} s: {_BLOCKED}"
            raise self._explained(ServerStartError(self.name, reason)) from None
        except CancelledError:
            raise self._explained(ServerStartError(self.name, "it was cancelled while it started")) from None
        except BaseException:
            self._kept_open.cancel()
            raise

    def _explained(self, error: ServerStartError) -> ServerStartError:
        return ServerStartError(
            self.name,
            redactor.text(error.reason),
            command=self._definition.display(),
            origin=self._definition.origin,
            exit_code=error.exit_code,
            stderr_tail=redactor.text(error.stderr_tail),
        )

    @property
    def name(self) -> str:
        """The name the server is defined under."""
        return self._definition.name

    @property
    def protocol_version(self) -> str:
        """The protocol version agreed on."""
        return self._session.client.protocol_version if self._session.client else ""

    @property
    def server_name(self) -> str:
        """What the server calls itself; empty if it does not say."""
        info = self._session.client.server_info if self._session.client else None
        return info.name if info else ""

    @property
    def server_version(self) -> str:
        """The server's version in its own words; empty if it does not say."""
        info = self._session.client.server_info if self._session.client else None
        return info.version if info else ""

    @property
    def alive(self) -> bool:
        """Whether calls can be expected to be answered. No request is made to find out."""
        session = self._session
        ended = session.files is not None and session.files.status.exists()
        return not (session.dead or ended or self._kept_open.done())

    def responsive(self) -> bool:
        """Like `alive`; after a call that went wrong, the server is asked for a sign of life."""
        if not self.alive:
            return False
        if not self._session.suspect:
            return True
        from pytest_mcpeval.servers.session import LIFE_SIGN_SECONDS

        try:
            answered = self._thread.start(self._session.answers, LIFE_SIGN_SECONDS)
            self._session.suspect = not result_of(answered, _GRACE_SECONDS)
        except (FutureTimeout, CancelledError, RuntimeError):
            return False
        return not self._session.suspect

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        any_name: bool = False,
    ) -> Response:
        """Call a tool; ``timeout`` is in seconds.

        With ``any_name``, a tool that the server does not list is rejected in the server's own words.

        Raises:
            CallError: No answer that could be judged. A tool's own error is a response with ``is_error``.
        """
        from pytest_mcpeval.servers import calls

        return self._wait(self._start(timeout, calls.call_tool, name, arguments, timeout, any_name), timeout)

    def start_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Future[Response]:
        """Like `call_tool`, without waiting for the answer."""
        from pytest_mcpeval.servers import calls

        return self._start(timeout, calls.call_tool, name, arguments, timeout)

    def start_tool_verbatim(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Future[tuple[Response, CallToolResult]]:
        """Like `start_tool`; beside the response, the future has the result as the server sent it."""
        from pytest_mcpeval.servers import calls

        return self._start(timeout, calls.call_tool_verbatim, name, arguments, timeout)

    def read_resource(self, uri: str, *, timeout: float = DEFAULT_TIMEOUT) -> Response:
        """Read a resource.

        Raises:
            CallError: No answer that could be judged.
        """
        return self._wait(self.start_resource(uri, timeout=timeout), timeout)

    def start_resource(self, uri: str, *, timeout: float = DEFAULT_TIMEOUT) -> Future[Response]:
        """Like `read_resource`, without waiting for the answer."""
        from pytest_mcpeval.servers import calls

        return self._start(timeout, calls.read_resource, uri, timeout)

    def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Get a prompt.

        Raises:
            CallError: No answer that could be judged.
        """
        return self._wait(self.start_prompt(name, arguments, timeout=timeout), timeout)

    def start_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Future[Response]:
        """Like `get_prompt`, without waiting for the answer."""
        from pytest_mcpeval.servers import calls

        return self._start(timeout, calls.get_prompt, name, arguments, timeout)

    def list_tools(self, *, timeout: float = DEFAULT_TIMEOUT, fresh: bool = False) -> list[Tool]:
        """All tools of the server, asked for once per connection, again when the server says that they
        changed, and with ``fresh`` in any case.

        Raises:
            CallError: The server did not list them, or its list has no end.
        """
        from pytest_mcpeval.servers import calls

        session = self._session
        if session.tools is not None and not session.tools_changed and not fresh:
            return list(session.tools)
        return list(self._wait(self._start(timeout, calls.list_tools, timeout, fresh), timeout))

    def list_prompts(self, *, timeout: float = DEFAULT_TIMEOUT) -> list[Prompt]:
        """All prompts of the server.

        Raises:
            CallError: The server did not list them, or its list has no end.
        """
        from pytest_mcpeval.servers import calls

        return list(self._wait(self._start(timeout, calls.list_prompts, timeout), timeout))

    def list_resources(self, *, timeout: float = DEFAULT_TIMEOUT) -> tuple[list[str], list[str]]:
        """The URIs of all resources of the server, and all its templates of such URIs.

        Raises:
            CallError: The server did not list them, or its list has no end.
        """
        from pytest_mcpeval.servers import calls

        return self._wait(self._start(timeout, calls.list_resources, timeout), timeout)

    def output_schema(self, tool: str, *, timeout: float = DEFAULT_TIMEOUT) -> Mapping[str, Any] | None:
        """The JSON Schema the server declares for a tool's structured content, if any.

        Raises:
            CallError: The server did not list its tools.
        """
        tools = self.list_tools(timeout=timeout)
        return next((found.output_schema for found in tools if found.name == tool), None)

    def moment(self) -> Moment:
        """Now, for `stderr_tail`: taken before the calls of a case, and after each."""
        return self._session.moment()

    def stderr_tail(
        self, lines: int = _TAIL_LINES, *, since: Moment | None = None, until: Moment | None = None
    ) -> str:
        """What the server last wrote on standard error between two moments, without secrets.

        By default from the handshake until now.

        A note about lines on its standard output that are no JSON-RPC comes after it, and a note on other
        calls that were in flight last.
        """
        return redactor.text(self._session.last_words(lines, since, until))

    def close(self) -> None:
        """End the connection and the server's process; returns when both are gone, within some seconds."""
        self.start_close()
        self.wait_closed(_GRACE_SECONDS)

    def start_close(self) -> None:
        """Like `close`, without waiting."""
        try:
            self._thread.start(self._stop)
        except RuntimeError:
            # The connection thread has ended, and everything on it.
            return

    async def _stop(self) -> None:
        self._session.stop()

    def wait_closed(self, seconds: float) -> bool:
        """Whether the connection has ended within the time."""
        if self._thread.is_blocked:
            return True
        if self._session.unfinished:
            seconds = min(seconds, _UNFINISHED_SECONDS)
        try:
            self._kept_open.result(seconds)
        except FutureTimeout:
            return self._kept_open.done()
        except (CancelledError, Exception):
            pass
        return True

    def _start(
        self, timeout: float, call: Callable[..., Coroutine[Any, Any, ResultT]], *arguments: Any
    ) -> Future[ResultT]:
        future = self._thread.start(self._with_stderr, call, *arguments)
        return self._bounded(future, timeout) if self._is_here else future

    @property
    def _is_here(self) -> bool:
        return self._definition.transport == "module"

    def _bounded(self, inner: Future[ResultT], seconds: float) -> Future[ResultT]:
        """The same future, ended from another thread when the server keeps its own from ending anything."""
        outer: Future[ResultT] = Future()
        timer = threading.Timer(seconds + _BLOCKED_SECONDS, self._abandon, (outer, seconds))
        timer.daemon = True

        def settle(done: Future[ResultT]) -> None:
            timer.cancel()
            if outer.done():
                return
            with suppress(InvalidStateError):
                if done.cancelled():
                    # Not by the caller, since what it waits for would be done.
                    self._session.dead = True
                    outer.set_exception(CallError("crashed", "the server cancelled all tasks of its thread"))
                elif (error := done.exception()) is not None:
                    outer.set_exception(error)
                else:
                    outer.set_result(done.result())

        def cancel(done: Future[ResultT]) -> None:
            if done.cancelled():
                inner.cancel()

        timer.start()
        inner.add_done_callback(settle)
        outer.add_done_callback(cancel)
        return outer

    def _abandon(self, outer: Future[ResultT], seconds: float) -> None:
        self._thread.is_blocked = self._session.dead = True
        with suppress(InvalidStateError):
            outer.set_exception(CallError("timeout", f"no answer within {seconds:g} s: {_BLOCKED}"))

    async def _with_stderr(
        self, call: Callable[..., Coroutine[Any, Any, ResultT]], *arguments: Any
    ) -> ResultT:
        """Return the result of a call; complete its error with the server's output, redacted."""
        began = self.moment()
        try:
            return await call(self._session, *arguments)
        except CallError as error:
            raise CallError(
                error.reason,
                redactor.text(error.message),
                http_status=error.http_status,
                stderr_tail=self.stderr_tail(since=began),
                is_rejection=error.is_rejection,
            ) from None

    def _wait(self, future: Future[ResultT], timeout: float) -> ResultT:
        try:
            return result_of(future, timeout + _GRACE_SECONDS)
        except FutureTimeout:
            self._session.dead = True
            future.cancel()
            raise CallError(
                "timeout", f"no answer within {timeout:g} s, and no way to stop waiting"
            ) from None
        except BaseException:
            # Ctrl-C: tell the server that the call is cancelled.
            future.cancel()
            raise
