"""What the fixtures hand out: clients that record every answer, and checks that are recorded too."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_mcpeval.kinds.scenario.checks import Expect
from pytest_mcpeval.kinds.scenario.checks.expect import Negated
from pytest_mcpeval.kinds.scenario.run import Answer
from pytest_mcpeval.python_tests.cases import ExpectationPart, RecordedCall, Recorder, recorder_of
from pytest_mcpeval.python_tests.markers import checks_of, marked_server
from pytest_mcpeval.servers.connection import DEFAULT_TIMEOUT
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.response import Response

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.definitions import ServerDefinition
    from pytest_mcpeval.servers.session import Moment
    from pytest_mcpeval.servers.tools import Tool

# Past the time limit of the call itself: only a blocked connection thread lets a test wait this long.
GRACE_SECONDS = 15.0

OWN_FILES = f"{Path(__file__).parents[1]}{os.sep}"
"""The directory of this package: tracebacks of tests end before it."""


class CallTool(Protocol):
    """The type of the fixture ``mcpeval_call``."""

    def __call__(self, tool: str, /, **arguments: Any) -> Response:
        """Call a tool with its arguments as keywords."""


class AsyncCallTool(Protocol):
    """The type of the fixture ``mcpeval_async_call``."""

    async def __call__(self, tool: str, /, **arguments: Any) -> Response:
        """Call a tool with its arguments as keywords."""


class MakeExpect(Protocol):
    """The type of the fixture ``mcpeval_expect``."""

    def __call__(self, response: Response | str) -> Expect:
        """Begin checks on a response, or on any text."""


CHECK_METHODS = frozenset(name for name, value in vars(Expect).items() if name[0] != "_" and callable(value))


class RecordingExpect(Expect):
    """`Expect` whose checks appear in the tables and reports of the session.

    ``parts`` are the expectation itself, and each ``not_``, ``all()`` and other method that was named: where
    no check came of one of them, the test does not judge what it seems to judge.
    """

    def __init__(self, response: Response, context: RunContext, recorder: Recorder) -> None:
        __tracebackhide__ = True
        super().__init__(response, checks_of(context))
        self.checks = recorder.checks
        self.parts: list[ExpectationPart] = []
        self._recorded = recorder.expectations
        self._block = self._begin("an expectation without a check: call one on it, such as .has_citation()")

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        caller = inspect.currentframe()
        assert caller is not None
        if name not in CHECK_METHODS or (caller.f_back and _is_own(caller.f_back)):
            return found
        if name == "all":
            lack = ".all() without a check: write `with ….all():`, and call checks in its block"
            self._block = self._begin(lack)
            return found
        part = self._begin(f".{name} without brackets evaluates nothing: write .{name}(…)")

        @functools.wraps(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            part.has_check = True
            return found(*args, **kwargs)

        return method

    @property
    def not_(self) -> Expect:
        """The next check must not hold."""
        return _RecordedNegation(
            self, self._begin('.not_ without a check: add one, as in .not_.contains("x")')
        )

    def rule(self, rule: Mapping[str, Any]) -> Expect:
        """A check as it is written in data files."""
        __tracebackhide__ = True
        self._block.has_check = True
        return super().rule(rule)

    def _begin(self, lack: str) -> ExpectationPart:
        if self.parts:
            # What goes on says itself what it lacks.
            self.parts[0].has_check = True
        frame = inspect.currentframe()
        while frame is not None and _is_own(frame):
            frame = frame.f_back
        assert frame is not None
        part = ExpectationPart(frame.f_code.co_filename, frame.f_lineno, lack)
        self.parts.append(part)
        self._recorded.append(part)
        return part


def _is_own(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(OWN_FILES)


class _RecordedNegation(Negated):
    def __init__(self, positive: Expect, part: ExpectationPart) -> None:
        super().__init__(positive)
        self._part = part

    def rule(self, rule: Mapping[str, Any]) -> Expect:
        __tracebackhide__ = True
        self._part.has_check = True
        return super().rule(rule)


class CaseClient:
    """Calls a server from a test, and records what it answered."""

    def __init__(self, item: pytest.Item, context: RunContext) -> None:
        self._item = item
        self._context = context
        self._recorder = recorder_of(item)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._item.name}>"

    @property
    def server(self) -> ServerDefinition:
        """The definition of the test's server.

        Raises:
            ServerConfigError: No such server is defined, or several are and none is named.
            DataFileError: A file that defines servers has problems.
        """
        servers = self._context.servers_at(self._item.path)
        return servers[marked_server(self._item, servers)]

    @property
    def connection(self) -> Connection:
        """The warm connection to the test's server, opened if it is not.

        Raises:
            ServerConfigError: No such server is defined, or several are and none is named.
            ServerStartError: The server would not start.
        """
        server = self.server
        self._recorder.server = server.name
        return self._context.connection(server)

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Call a tool; ``timeout`` is in seconds.

        Raises:
            CallError: No answer that could be judged. A tool's own error is a response with ``is_error``.
            TypeError: An argument is of a type that no call has. Nothing is recorded.
            ValueError: ``timeout`` is not a time.
        """
        __tracebackhide__ = True
        call = self._recorder.begin("tool", name, arguments, timeout)
        return self._answered(call, lambda connection: connection.call_tool(name, arguments, timeout=timeout))

    def read_resource(self, uri: str, *, timeout: float = DEFAULT_TIMEOUT) -> Response:
        """Read a resource.

        Raises:
            CallError: No answer that could be judged.
            TypeError: An argument is of a type that no call has. Nothing is recorded.
            ValueError: ``timeout`` is not a time.
        """
        __tracebackhide__ = True
        call = self._recorder.begin("resource", uri, None, timeout)
        return self._answered(call, lambda connection: connection.read_resource(uri, timeout=timeout))

    def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Get a prompt.

        Raises:
            CallError: No answer that could be judged.
            TypeError: An argument is of a type that no call has. Nothing is recorded.
            ValueError: ``timeout`` is not a time.
        """
        __tracebackhide__ = True
        call = self._recorder.begin("prompt", name, arguments, timeout)
        return self._answered(
            call, lambda connection: connection.get_prompt(name, arguments, timeout=timeout)
        )

    def list_tools(self, *, timeout: float = DEFAULT_TIMEOUT) -> list[Tool]:
        """The tools of the server, asked for once per connection; not recorded.

        Raises:
            CallError: The server did not list them.
        """
        return self.connection.list_tools(timeout=timeout)

    def expect(self, response: Response | str) -> Expect:
        """Checks on a response, or on any text."""
        __tracebackhide__ = True
        judged = Response(response) if isinstance(response, str) else response
        return RecordingExpect(judged, self._context, self._recorder)

    def as_async(self) -> AsyncCaseClient:
        """The same client for ``async def`` tests."""
        return AsyncCaseClient(self)

    def _answered(self, call: RecordedCall, ask: Callable[[Connection], Response]) -> Response:
        connection = self.connection
        began = connection.moment()
        try:
            response = ask(connection)
        except CallError as error:
            record_error(call, error)
            raise
        record_response(call, response, connection, began)
        return response


class AsyncCaseClient:
    """`CaseClient` whose calls are awaited, so that several can be in flight."""

    def __init__(self, client: CaseClient) -> None:
        self._client = client
        self._recorder = client._recorder

    def __repr__(self) -> str:
        return repr(self._client).replace("<", "<Async", 1)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Call a tool, as `CaseClient.call_tool` does."""
        __tracebackhide__ = True
        call = self._recorder.begin("tool", name, arguments, timeout)
        return await self._answered(call, timeout, lambda c: c.start_tool(name, arguments, timeout=timeout))

    async def read_resource(self, uri: str, *, timeout: float = DEFAULT_TIMEOUT) -> Response:
        """Read a resource, as `CaseClient.read_resource` does."""
        __tracebackhide__ = True
        call = self._recorder.begin("resource", uri, None, timeout)
        return await self._answered(call, timeout, lambda c: c.start_resource(uri, timeout=timeout))

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Get a prompt, as `CaseClient.get_prompt` does."""
        __tracebackhide__ = True
        call = self._recorder.begin("prompt", name, arguments, timeout)
        return await self._answered(call, timeout, lambda c: c.start_prompt(name, arguments, timeout=timeout))

    async def list_tools(self, *, timeout: float = DEFAULT_TIMEOUT) -> list[Tool]:
        """The tools of the server, as `CaseClient.list_tools` gives them."""
        return await asyncio.to_thread(self._client.list_tools, timeout=timeout)

    def expect(self, response: Response | str) -> Expect:
        """Checks on a response, or on any text."""
        return self._client.expect(response)

    async def _answered(
        self, call: RecordedCall, timeout: float, start: Callable[[Connection], Future[Response]]
    ) -> Response:
        # Opening a connection waits for the server: in a thread, so that the test's loop goes on.
        connection = await asyncio.to_thread(lambda: self._client.connection)
        began = connection.moment()
        try:
            response = await _awaited(start(connection), timeout)
        except CallError as error:
            record_error(call, error)
            raise
        record_response(call, response, connection, began)
        return response


async def _awaited(started: Future[Response], timeout: float) -> Response:
    try:
        return await asyncio.wait_for(asyncio.wrap_future(started), timeout + GRACE_SECONDS)
    except TimeoutError:
        message = f"no answer within {timeout:g} s, and no way to stop waiting"
        raise CallError("timeout", message) from None


def record_response(call: RecordedCall, response: Response, connection: Connection, began: Moment) -> None:
    """Note the answer to a call, and how to read what the server wrote since it began."""
    tail = partial(connection.stderr_tail, since=began, until=connection.moment())
    call.answer = Answer(call.arguments, response, stderr_tail=tail)


def record_error(call: RecordedCall, error: CallError) -> None:
    """Record that a call got no answer, and why."""
    call.answer = Answer(call.arguments, error=error, stderr_tail=partial(str, error.stderr_tail))
