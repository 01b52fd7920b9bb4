"""Notes which calls the server answered with an error of its own: mcp raises the same for errors it makes.

Imports mcp: import this module only when a connection is opened.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

from mcp_types import JSONRPCError, JSONRPCRequest

from pytest_mcpeval.servers.exchange import Exchange, current_exchange

# Requests by their id, which a server may send back as a text.
_Asked = WeakValueDictionary[str, Exchange]


@asynccontextmanager
async def watched(streams: AbstractAsyncContextManager[Any]) -> AsyncGenerator[Any]:
    """The streams of a transport that delivers as error responses only what the server sent."""
    asked: _Asked = WeakValueDictionary()
    async with streams as (reading, writing):
        yield _Reading(reading, asked), _Writing(writing, asked)


class _Stream:
    def __init__(self, inner: Any, asked: _Asked) -> None:
        self._inner = inner
        self._asked = asked

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Writing(_Stream):
    async def send(self, item: Any) -> None:
        exchange = current_exchange.get()
        if exchange is not None and isinstance(item.message, JSONRPCRequest):
            self._asked[str(item.message.id)] = exchange
        await self._inner.send(item)


class _Reading(_Stream):
    @property
    def last_context(self) -> Any:
        """The context of the sender, which mcp asks for."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        return self._noted(await self._inner.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._noted(await self._inner.__anext__())

    def _noted(self, item: Any) -> Any:
        message = getattr(item, "message", None)
        if isinstance(message, JSONRPCError):
            exchange = self._asked.get(str(message.id))
            if exchange is not None:
                exchange.turned_down = True
        return item
