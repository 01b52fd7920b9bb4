"""What the fixtures hand out: clients that record every answer, and checks that are recorded too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mcpeval.kinds.scenario.checks import Expect
from pytest_mcpeval.kinds.scenario.run import Answer
from pytest_mcpeval.python_cases import SERVER_MARKER, Recorder, recorder_of
from pytest_mcpeval.servers.errors import CallError, ServerConfigError
from pytest_mcpeval.servers.response import Response

if TYPE_CHECKING:
    from pytest_mcpeval.runtime import Runtime
    from pytest_mcpeval.servers.connection import Connection

DEFAULT_TIMEOUT = 60.0


class RecordingExpect(Expect):
    """`Expect` whose checks appear in the tables and reports of the session."""

    def __init__(self, response: Response, runtime: Runtime, recorder: Recorder) -> None:
        super().__init__(response, runtime.checks)
        self.checks = recorder.checks


class CaseClient:
    """Calls a server from a test, and records what it answered."""

    def __init__(self, item: pytest.Item, runtime: Runtime) -> None:
        self._item = item
        self._runtime = runtime
        self._recorder = recorder_of(item)

    @property
    def connection(self) -> Connection:
        """The warm connection to the test's server.

        Raises:
            ServerConfigError: No such server is defined, or several are and none is named.
            ServerStartError: The server would not start.
        """
        servers = self._runtime.project_files.servers_at(self._item.path)
        marker = self._item.get_closest_marker(SERVER_MARKER)
        name = (
            marker.args[0] if marker and marker.args else next(iter(servers), "") if len(servers) == 1 else ""
        )
        if name not in servers:
            known = ", ".join(sorted(servers)) or "none"
            wanted = f"no server {name!r} is defined" if name else f"mark the test with {SERVER_MARKER}(name)"
            raise ServerConfigError(f"{wanted} (defined: {known})")
        self._recorder.server = name
        return self._runtime.connection(servers[name])

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Call a tool; ``timeout`` is in seconds.

        Raises:
            CallError: No answer that could be judged. A tool's own error is a response with ``is_error``.
        """
        return self._recorded("tool", name, arguments, self.start("tool", name, arguments, timeout))

    def read_resource(self, uri: str, *, timeout: float = DEFAULT_TIMEOUT) -> Response:
        """Read a resource.

        Raises:
            CallError: No answer that could be judged.
        """
        return self._recorded("resource", uri, None, self.start("resource", uri, None, timeout))

    def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Get a prompt.

        Raises:
            CallError: No answer that could be judged.
        """
        return self._recorded("prompt", name, arguments, self.start("prompt", name, arguments, timeout))

    def start(
        self, target: str, name: str, arguments: Mapping[str, Any] | None, timeout: float
    ) -> Future[Response]:
        """Begin a call without waiting for its answer."""
        connection = self.connection
        if target == "resource":
            return connection.start_resource(name, timeout=timeout)
        if target == "prompt":
            return connection.start_prompt(name, arguments, timeout=timeout)
        return connection.start_tool(name, arguments, timeout=timeout)

    def _recorded(
        self, target: str, name: str, arguments: Mapping[str, Any] | None, started: Future[Response]
    ) -> Response:
        try:
            response = started.result()
        except CallError as error:
            self.record(target, name, Answer(arguments or {}, error=error, stderr_tail=error.stderr_tail))
            raise
        except BaseException:
            started.cancel()
            raise
        self.record(target, name, Answer(arguments or {}, response))
        return response

    def record(self, target: str, name: str, answer: Answer) -> None:
        """Note an answer for the reports."""
        self._recorder.calls.append((target, name))
        self._recorder.answers.append(answer)

    def expect(self, response: Response | str) -> RecordingExpect:
        """Checks on a response, or on any text."""
        judged = Response(response) if isinstance(response, str) else response
        return RecordingExpect(judged, self._runtime, self._recorder)

    def as_async(self) -> AsyncCaseClient:
        """The same client for ``async def`` tests."""
        return AsyncCaseClient(self)


class AsyncCaseClient:
    """`CaseClient` whose calls are awaited, so that several can be in flight."""

    def __init__(self, client: CaseClient) -> None:
        self._client = client

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Call a tool, as `CaseClient.call_tool` does."""
        return await self._answered("tool", name, arguments, timeout)

    async def read_resource(self, uri: str, *, timeout: float = DEFAULT_TIMEOUT) -> Response:
        """Read a resource, as `CaseClient.read_resource` does."""
        return await self._answered("resource", uri, None, timeout)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> Response:
        """Get a prompt, as `CaseClient.get_prompt` does."""
        return await self._answered("prompt", name, arguments, timeout)

    async def _answered(
        self, target: str, name: str, arguments: Mapping[str, Any] | None, timeout: float
    ) -> Response:
        # Opening a connection waits for the server: in a thread, so that the test's loop goes on.
        started = await asyncio.to_thread(self._client.start, target, name, arguments, timeout)
        try:
            response = await asyncio.wrap_future(started)
        except CallError as error:
            self._client.record(
                target, name, Answer(arguments or {}, error=error, stderr_tail=error.stderr_tail)
            )
            raise
        self._client.record(target, name, Answer(arguments or {}, response))
        return response

    def expect(self, response: Response | str) -> RecordingExpect:
        """Checks on a response, or on any text."""
        return self._client.expect(response)
