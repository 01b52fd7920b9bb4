"""Prefetch answers: calls of the next cases start while earlier cases are reported in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.servers.interruptible import result_of

if TYPE_CHECKING:
    from pytest_mcpeval.config.settings import Settings
    from pytest_mcpeval.core.kind import Kind
    from pytest_mcpeval.core.run_context import RunContext

_SLICE_SECONDS = 0.5
"""A wait without end would keep the main thread from noticing Ctrl-C."""

Upcoming = Callable[[Suite[Any], Case[Any], int], Iterable[Case[Any]]]
"""(suite, case in hand, how many) → cases of the suite that this process will certainly ask next, in order.

The case in hand is the first of them, unless nothing may be prefetched while it is its turn.
"""


def nothing_upcoming(suite: Suite[Any], case: Case[Any], count: int) -> Iterable[Case[Any]]:
    """Return no cases, for a process that does not know the order of its cases."""
    return (case,)


class Prefetch:
    """Asks for the answers of up to ``concurrency`` cases of a suite at once.

    Threads only wait: the calls themselves all run on the one connection thread.
    """

    def __init__(self, context: RunContext, kinds: Mapping[str, Kind[Any]], settings: Settings) -> None:
        self._context = context
        self._kinds = kinds
        self._settings = settings
        self._pending: dict[tuple[str, str, int], Future[Any]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._repeated: dict[str, dict[tuple[str, int], Any]] = {}
        self.upcoming: Upcoming = nothing_upcoming
        self.selected: Callable[[Suite[Any]], Sequence[Case[Any]]] = lambda suite: suite.cases

    def runs(self, suite: Suite[Any]) -> int:
        """How many times each case of a suite is asked."""
        return 1 if self._kinds[suite.kind].asks_once else self._settings.runs or suite.runs

    def answers(self, suite: Suite[Any], case: Case[Any]) -> Iterator[Any]:
        """The answers to a case, run by run: those already asked for, or asked for when it is their turn."""
        repeated = suite.stateful and self.runs(suite) > 1
        for run in range(self.runs(suite)):
            yield self._of_whole_runs(suite, case, run) if repeated else self._answers(suite, case, run)

    def has_answers(self, suite: Suite[Any]) -> bool:
        """Whether the cases of a suite, repeated as a whole, were all asked already."""
        return suite.key in self._repeated

    def _of_whole_runs(self, suite: Suite[Any], case: Case[Any], run: int) -> Any:
        """The answers to a case of a suite whose cases build on each other: each run is one of them all."""
        if suite.key not in self._repeated:
            self._repeated[suite.key] = self._repeat(suite)
        found = self._repeated[suite.key].get((case.id, run))
        if found is None:
            raise TargetError("a mark set this case aside when its suite was repeated as a whole")
        if isinstance(found, Exception):
            raise found
        return found

    def _repeat(self, suite: Suite[Any]) -> dict[tuple[str, int], Any]:
        kind, cases = self._kinds[suite.kind], self.selected(suite)
        runs, answers = self.runs(suite), dict[tuple[str, int], Any]()
        if any(case.fixtures for case in cases):
            raise TargetError(
                f"{suite.key} is stateful and repeated as a whole, {runs} times: "
                "its cases cannot have fixtures"
            )
        for run in range(runs):
            if run:
                kind.start_over(suite, self._context)
            for case in cases:
                try:
                    answers[case.id, run] = kind.ask(suite, case, self._context)
                except Exception as error:
                    answers[case.id, run] = error
        return answers

    def _answers(self, suite: Suite[Any], case: Case[Any], run: int) -> Any:
        kind = self._kinds[suite.kind]
        width = self._settings.concurrency or suite.concurrency
        if width > 1 and case.may_prefetch:
            self._start_upcoming(suite, case, run, width)
        pending = self._pending.pop((suite.key, case.id, run), None)
        if pending is not None:
            answers = result_of(pending)
            if not kind.must_ask_again(answers):
                return answers
            # Alone this time, since the call of another case could end the server again.
            while wait(self._pending.values(), _SLICE_SECONDS).not_done:
                continue
        return kind.ask(suite, case, self._context)

    def _start_upcoming(self, suite: Suite[Any], case: Case[Any], run: int, width: int) -> None:
        """Have the case in hand and those after it asked, each in its runs still to come."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(max(width, 64), thread_name_prefix="mcpeval-prefetch")
        coming = (
            (other, number)
            for other in self.upcoming(suite, case, width)
            for number in range(run if other is case else 0, self.runs(suite))
        )
        ask = self._kinds[suite.kind].ask
        for other, number in islice(coming, width):
            key = (suite.key, other.id, number)
            if other.may_prefetch and key not in self._pending:
                self._pending[key] = self._threads.submit(ask, suite, other, self._context)

    def close(self) -> None:
        """Forget answers that no item has used. Calls in flight end when the connections are closed."""
        self._pending.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
