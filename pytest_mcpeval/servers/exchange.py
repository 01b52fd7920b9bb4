"""HTTP to an MCP server, with a record of what went wrong for each call.

Imports mcp and httpx2: import this module only when a connection is opened.
"""

from __future__ import annotations

import http
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from pytest_mcpeval.servers.causes import cause_in_words
from pytest_mcpeval.servers.definitions import ServerDefinition

_CONNECT_SECONDS = 30.0


@dataclass
class Exchange:
    """The HTTP exchange of one call: the last error status, or why there was none.

    ``response`` is the last response to a POST. ``turned_down`` says that the server's own error response
    to the call came in, over a transport that delivers nothing else as one. ``give_up`` ends the wait for an
    answer that the transport will never deliver.
    """

    status: int | None = None
    response: httpx2.Response | None = None
    turned_down: bool = False
    error: Exception | None = None
    give_up: anyio.CancelScope | None = None

    @property
    def failed(self) -> bool:
        """Whether anything went wrong."""
        return self.status is not None or self.error is not None

    @property
    def has_json(self) -> bool:
        """Whether the response is declared to be JSON."""
        return _content_type(self.response) == "application/json"

    @property
    def has_events(self) -> bool:
        """Whether the response is declared to be a stream of events."""
        return _content_type(self.response) == "text/event-stream"

    @property
    def has_rpc_error(self) -> bool:
        """Whether the body of the response is a JSON-RPC error."""
        if self.response is None or not self.has_json:
            return False
        try:
            message = jsonrpc_message_adapter.validate_json(self.response.content, by_name=False)
        except (httpx2.StreamError, ValidationError):
            return False
        return isinstance(message, JSONRPCError)

    @property
    def never_connected(self) -> bool:
        """Whether the request could not even be sent."""
        return isinstance(self.error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)

    def words(self, url: str) -> str:
        """What went wrong, naming the URL."""
        if self.error is not None:
            return f"{cause_in_words(self.error)} ({url})"
        return f"HTTP {self.status}{_phrase(self.status or 0)} from {url}"


def _content_type(response: httpx2.Response | None) -> str:
    given = "" if response is None else response.headers.get("content-type", "")
    return given.partition(";")[0].strip().lower()


def _phrase(status: int) -> str:
    try:
        return f" {http.HTTPStatus(status).phrase}"
    except ValueError:
        return ""


# mcp sends each request in the context of the task that asked for it, so the record is that of the one call.
current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


class RecordingClient(httpx2.AsyncClient):
    """An HTTP client that notes failures in the current exchange.

    A POST that finds no server becomes a 503 response: raised, the exception would end the connection for
    all calls in flight, not only for the one it belongs to.
    """

    def __init__(self, method: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._recorded_methods = {"POST", method}

    async def send(self, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
        """Send, and note an error status or a transport error."""
        exchange = current_exchange.get()
        recorded = exchange is not None and request.method in self._recorded_methods
        try:
            response = await super().send(request, **kwargs)
        except httpx2.TransportError as error:
            if exchange is None or not recorded:
                raise
            exchange.error = error
            response = httpx2.Response(503, request=request)
            _give_up(exchange)
            if request.method != "POST":
                raise
            return response
        if exchange is not None and recorded:
            exchange.response = response
            if response.status_code >= 400:
                exchange.status = response.status_code
                _give_up(exchange)
        return response


def _give_up(exchange: Exchange) -> None:
    if exchange.give_up is not None:
        exchange.give_up.cancel()


@asynccontextmanager
async def streamable_http(definition: ServerDefinition) -> AsyncGenerator[Any]:
    """The streams of a streamable HTTP connection."""
    # Calls have their own time limit, so reading has none here; events may be of any size.
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=None)
    async with (
        RecordingClient("POST", headers=dict(definition.headers), timeout=timeout) as client,
        streamable_http_client(definition.url, http_client=client, max_sse_event_size=None) as streams,
    ):
        yield streams


@asynccontextmanager
async def legacy_sse(definition: ServerDefinition) -> AsyncGenerator[Any]:
    """The streams of a connection over the legacy SSE transport."""

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return RecordingClient("GET", headers=headers, timeout=timeout, auth=auth)

    async with sse_client(
        definition.url,
        headers=dict(definition.headers),
        timeout=_CONNECT_SECONDS,
        # The stream is silent between answers, for as long as a run may last.
        sse_read_timeout=24 * 3600.0,
        httpx_client_factory=client,
    ) as streams:
        yield streams
