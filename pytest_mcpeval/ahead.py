"""Calls in flight at once: the answers of coming cases are asked for while others are reported in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.base import Case, Suite

if TYPE_CHECKING:
    from pytest_mcpeval.runtime import Runtime

Upcoming = Callable[[Suite[Any], Case[Any], int], Iterable[Case[Any]]]
"""(suite, case, how many) → the cases of the same suite that this process will certainly run next."""


def nothing_upcoming(suite: Suite[Any], case: Case[Any], count: int) -> Iterable[Case[Any]]:
    """For a process that knows nothing of the order of its cases."""
    return ()


class Ahead:
    """Asks for the answers of up to ``concurrency`` cases of a suite at once.

    Threads only wait: the calls themselves all run on the one connection thread.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._pending: dict[tuple[str, str], Future[Any]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self.upcoming: Upcoming = nothing_upcoming

    def answers(self, suite: Suite[Any], case: Case[Any]) -> Any:
        """The answers to a case: those already asked for, or asked for now."""
        kind = self._runtime.kind(suite.kind)
        width = self._runtime.settings.concurrency or suite.concurrency
        if width > 1 and case.may_run_ahead:
            self._start_upcoming(suite, case, width)
        pending = self._pending.pop((suite.key, case.id), None)
        if pending is not None:
            answers = pending.result()
            if not kind.must_ask_again(answers):
                return answers
        return kind.ask(suite, case, self._runtime)

    def _start_upcoming(self, suite: Suite[Any], case: Case[Any], width: int) -> None:
        if (suite.key, case.id) in self._pending:
            coming: Iterable[Case[Any]] = self.upcoming(suite, case, width - 1)
        else:
            coming = (case, *self.upcoming(suite, case, width - 1))
        for other in coming:
            if other.may_run_ahead and (suite.key, other.id) not in self._pending:
                self._pending[suite.key, other.id] = self._submit(suite, other, width)

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
