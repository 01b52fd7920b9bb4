"""``mcp:``, a target that is a tool of an MCP server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.loading.messages import shortened
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.json_paths import json_answer
from pytest_mcpeval.targets.base import AnswerError, Codec, Request
from pytest_mcpeval.targets.filling import filled
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.targets.base import AnswerReason


class McpTarget:
    """Calls a tool for every request; ``arguments`` hold placeholders.

    ``connect`` opens the connection, or finds it. The answer is the JSON in the tool's structured content, or
    in its text. ``timeout`` is in seconds.
    """

    def __init__(
        self,
        codec: Codec,
        name: str,
        tool: str,
        arguments: Mapping[str, Any],
        connect: Callable[[], Connection],
        timeout: float,
    ) -> None:
        self._codec = codec
        self._name = name
        self._tool = tool
        self._arguments = dict(arguments)
        self._connect = connect
        self._timeout = timeout

    @property
    def name(self) -> str:
        """``mcp: tool of server``."""
        return self._name

    def open(self) -> None:
        """Open the connection.

        Raises:
            ServerStartError: The server cannot be started or reached.
            ServerConfigError: A variable its definition names is not set.
        """
        self._connect()

    def ask(self, request: Request) -> Any:
        """What is read from the JSON value of the answer.

        Raises:
            AnswerError: There is no answer, the tool reports an error, or its answer is not JSON.
        """
        connection = self._connect()
        arguments = filled(self._arguments, request)
        began = connection.moment()
        try:
            response = connection.call_tool(self._tool, arguments, timeout=self._timeout)
        except CallError as error:
            reason: AnswerReason = "unreachable" if error.reason == "unknown_tool" else error.reason
            raise AnswerError(reason, error.message, stderr_tail=error.stderr_tail) from None
        if response.is_error:
            message = f"the tool reported an error: {shortened(redactor.text(response.text).strip(), 200)}"
            raise AnswerError("protocol", message, stderr_tail=connection.stderr_tail(since=began))
        try:
            answer = json_answer(response, with_nan=True)
        except ValueError as error:
            text = shortened(" ".join(response.text.split()), 80)
            message = f"the answer has no structured content and is not JSON ({error}): {text}"
            raise AnswerError("answer", message) from None
        return self._codec.read(answer)

    def close(self) -> None:
        """Do nothing: the code that opened the connection closes it."""
