"""Threads with the event loops that connections live on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


class ConnectionThread:
    """An event loop in a thread of its own, from the first connection on it to the last.

    ``is_blocked`` says that an in-process server keeps the loop from going on: nothing on it ends any more.
    """

    def __init__(self) -> None:
        self.is_blocked = False
        self._is_stopping = False
        from pytest_mcpeval.servers.quiet import ThreadFilter

        started: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon: the process can end while a server blocks it.
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="mcpeval-connections", daemon=True
        )
        self._thread.start()
        self._loop = started.result()
        self._filter = ThreadFilter(self._thread.ident or 0)
        self._filter.install()

    def _run(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        # What an in-process server raises to end its process, or `loop.stop()`, ends its connection at most.
        raised = (SystemExit, KeyboardInterrupt)
        with suppress(*raised), asyncio.Runner() as runner:
            loop = runner.get_loop()
            loop.set_default_executor(_DaemonExecutor())
            started.set_result(loop)
            while not self._is_stopping:
                with suppress(*raised):
                    loop.run_forever()

    def start(
        self, function: Callable[..., Coroutine[Any, Any, ResultT]], *arguments: Any
    ) -> Future[ResultT]:
        """Run a coroutine function on the loop; cancelling the future cancels it.

        Raises:
            RuntimeError: The thread has ended.
        """
        coroutine = function(*arguments)
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise

    def stop(self, seconds: float) -> None:
        """End the thread, and wait for that, unless an in-process server holds it up."""
        self._is_stopping = True
        if not self.is_blocked:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(seconds)
        self._filter.remove()


class _DaemonExecutor(ThreadPoolExecutor):
    """What `asyncio.to_thread` of an in-process server runs on.

    The end of the interpreter waits for the threads of any other executor, also for those that never end.
    """

    def submit(self, function: Callable[..., ResultT], /, *args: Any, **kwargs: Any) -> Future[ResultT]:
        """Begin to call the function, in a thread of its own."""
        future: Future[ResultT] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="mcpeval-to-thread", daemon=True).start()
        return future
