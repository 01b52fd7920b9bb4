"""Calls in flight at once: the answers of coming cases are asked for while others are reported in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.interruptible import result_of
from pytest_mcpeval.kinds.base import Case, Suite

if TYPE_CHECKING:
    from pytest_mcpeval.runtime import Runtime

Upcoming = Callable[[Suite[Any], Case[Any], int], Iterable[Case[Any]]]
"""(suite, case in hand, how many) → cases of the suite that this process will certainly ask next, in order.

The case in hand is the first of them, unless nothing may be asked ahead while it is its turn.
"""


def nothing_upcoming(suite: Suite[Any], case: Case[Any], count: int) -> Iterable[Case[Any]]:
    """For a process that knows nothing of the order of its cases."""
    return (case,)


class Ahead:
    """Asks for the answers of up to ``concurrency`` cases of a suite at once.

    Threads only wait: the calls themselves all run on the one connection thread.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._pending: dict[tuple[str, str, int], Future[Any]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self.upcoming: Upcoming = nothing_upcoming

    def answers(self, suite: Suite[Any], case: Case[Any]) -> Iterator[Any]:
        """The answers to a case, run by run: those already asked for, or asked for when it is their turn."""
        for run in range(self._runtime.runs(suite)):
            yield self._answers(suite, case, run)

    def _answers(self, suite: Suite[Any], case: Case[Any], run: int) -> Any:
        kind = self._runtime.kind(suite.kind)
        width = self._runtime.settings.concurrency or suite.concurrency
        if width > 1 and case.may_run_ahead:
            self._start_upcoming(suite, case, run, width)
        pending = self._pending.pop((suite.key, case.id, run), None)
        if pending is not None:
            answers = result_of(pending)
            if not kind.must_ask_again(answers):
                return answers
        return kind.ask(suite, case, self._runtime)

    def _start_upcoming(self, suite: Suite[Any], case: Case[Any], run: int, width: int) -> None:
        for other, number in islice(self._coming(suite, case, run, width), width):
            key = (suite.key, other.id, number)
            if other.may_run_ahead and key not in self._pending:
                self._pending[key] = self._submit(suite, other, width)

    def _coming(
        self, suite: Suite[Any], case: Case[Any], run: int, width: int
    ) -> Iterator[tuple[Case[Any], int]]:
        """The case in hand and those after it, each with the numbers of its runs still to come."""
        runs = self._runtime.runs(suite)
        for other in self.upcoming(suite, case, width):
            yield from ((other, number) for number in range(run if other is case else 0, runs))

    def _submit(self, suite: Suite[Any], case: Case[Any], width: int) -> Future[Any]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(max(width, 64), thread_name_prefix="mcpeval-ahead")
        return self._threads.submit(self._runtime.kind(suite.kind).ask, suite, case, self._runtime)

    def close(self) -> None:
        """Forget answers nobody came for. Calls in flight end when the connections are closed."""
        self._pending.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
