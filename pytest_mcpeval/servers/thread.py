"""Threads with the event loops that connections live on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

ResultT = TypeVar("ResultT")

_STOP_SECONDS = 5.0


class ConnectionThread:
    """An event loop in a thread of its own, from the first connection on it to the last.

    ``is_blocked`` says that an in-process server keeps the loop from going on: nothing on it ends any more.
    """

    def __init__(self) -> None:
        self.is_blocked = False
        from anyio.from_thread import start_blocking_portal

        from pytest_mcpeval.servers.quiet import ThreadFilter

        self._context: AbstractContextManager[BlockingPortal] = start_blocking_portal(
            name="mcpeval-connections"
        )
        self._portal = self._context.__enter__()
        self._loop = self._portal.call(asyncio.get_running_loop)
        self._filter = ThreadFilter(self._portal.call(threading.get_ident))
        self._filter.install()

    def start(
        self, function: Callable[..., Coroutine[Any, Any, ResultT]], *arguments: Any
    ) -> Future[ResultT]:
        """Run a coroutine function on the loop; cancelling the future cancels it.

        Raises:
            RuntimeError: The thread has ended.
        """
        # Not the portal's own way: that one waits until the task exists, a second switch of threads per call.
        coroutine = function(*arguments)
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise

    def stop(self) -> None:
        """End the thread, unless a blocking tool of an in-process server holds it up."""
        if self.is_blocked:
            self._filter.remove()
            return
        # Leaving the context joins the thread without a limit; a daemon may wait for that in our place.
        leaving = threading.Thread(target=self._leave, name="mcpeval-connections-close", daemon=True)
        leaving.start()
        leaving.join(_STOP_SECONDS)
        self._filter.remove()

    def _leave(self) -> None:
        with suppress(RuntimeError):
            self._portal.call(self._portal.stop, True)
        self._context.__exit__(None, None, None)
