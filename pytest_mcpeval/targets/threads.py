"""Threads and an event loop for users' code, with time limits; they never prevent the process from ending."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Generic, TypeVar

from pytest_mcpeval.servers.interruptible import result_of

ResultT = TypeVar("ResultT")

_GRACE_SECONDS = 5.0


class Late(Exception):  # noqa: N818 (names what happened)
    """The time is over. The call may continue; its result is dropped."""


class DaemonThreads:
    """Runs functions on threads that are kept and reused: as long as one is enough, it is always the same.

    A function that does not return keeps its thread; the process can still end.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[tuple[_Attempt[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0

    def call(self, function: Callable[[], ResultT], seconds: float) -> ResultT:
        """What the function returns or raises.

        Raises:
            Late: It did not return in time.
        """
        attempt: _Attempt[ResultT] = _Attempt()
        with self._lock:
            self._jobs.put((attempt, function))
            if self._free:
                self._free -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()
        return attempt.outcome(seconds)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            attempt, function = job
            try:
                result = function()
            except BaseException as error:
                self._release()
                attempt.fail(error)
            else:
                self._release()
                attempt.succeed(result)

    def _release(self) -> None:
        with self._lock:
            self._free += 1

    def close(self) -> None:
        """Let the threads end, except those that never return."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)
            self._threads = self._free = 0


class EventLoop:
    """An asyncio event loop on a thread of its own, begun when it is first needed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, awaitable: Awaitable[ResultT], seconds: float) -> ResultT:
        """Return the result of the awaitable, or raise its exception.

        Raises:
            Late: It did not end in time, and was cancelled.
        """
        self._start()
        attempt: _Attempt[ResultT] = _Attempt()
        waiting = asyncio.run_coroutine_threadsafe(_awaited(awaitable, attempt, seconds), self._loop)
        try:
            result_of(waiting, seconds + _GRACE_SECONDS)
        except FutureTimeout:
            waiting.cancel()
            raise Late from None
        return attempt.outcome(0)

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            started = threading.Event()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._main(started)), name=self._name, daemon=True
            )
            self._thread.start()
            started.wait()

    async def _main(self, started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        started.set()
        await self._stopped.wait()

    def close(self) -> None:
        """End the loop, unless something blocks it."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            thread.join(_GRACE_SECONDS)


class _Attempt(Generic[ResultT]):
    """A future result or error. It distinguishes its own time limit from a `TimeoutError` of the work."""

    def __init__(self) -> None:
        self._future: Future[tuple[ResultT | None, BaseException | None]] = Future()

    def succeed(self, result: ResultT) -> None:
        self._future.set_result((result, None))

    def fail(self, error: BaseException) -> None:
        self._future.set_result((None, error))

    def outcome(self, seconds: float) -> ResultT:
        try:
            result, error = result_of(self._future, seconds)
        except FutureTimeout:
            raise Late from None
        if error is not None:
            raise error
        return result  # type: ignore[return-value]


async def _awaited(awaitable: Awaitable[ResultT], attempt: _Attempt[ResultT], seconds: float) -> None:
    async def work() -> None:
        try:
            attempt.succeed(await awaitable)
        except (Exception, SystemExit) as error:
            attempt.fail(error)

    try:
        await asyncio.wait_for(work(), seconds)
    except TimeoutError:
        # The attempt stays open, so asking for its outcome raises `Late`.
        return
