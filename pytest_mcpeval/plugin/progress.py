"""While cases run: a line on a terminal that says how far they are, in the place of a letter for each."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_mcpeval.plugin.runtime import Runtime

SHOWN_AFTER = 2.0
"""Seconds: what is done by then needs no line."""
INTERVAL = 0.2
FORESEEN = 0.1
"""The share that has to be done before it tells how long the rest takes."""


class Progress:
    """Without ``-v``, cases of data files leave no letters; on a terminal one line is rewritten instead.

    The line stands below what was printed last, and is taken away before anything else is printed.
    """

    def __init__(self, runtime: Runtime, reporter: pytest.TerminalReporter) -> None:
        self._runtime = runtime
        self._reporter = reporter
        self._is_rewritten = reporter.isatty and reporter.config.option.capture != "no"
        # Not with workers: pytest-xdist has turned it off.
        self._shows_path = reporter.showfspath
        self._files: Mapping[str, str] = {}
        self._started = self._written = time.monotonic()
        self._done = self._total = self._wrong = 0
        self._is_shown = False

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> None:
        """Note which items are cases of data files, and when they begin."""
        self._begin(len(items))

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        """The same with workers."""
        self._begin(len(ids))

    def _begin(self, total: int) -> None:
        self._total = total
        self._files = {suite.key: suite.kind for suite in self._runtime.suites}
        self._started = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, Any, Any]:
        """No letter for a case of a data file: the word still counts for pytest's own progress."""
        found = yield
        if found and _file_of(report.nodeid) in self._files:
            category, _, word = found
            return category, "", word
        return found

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say what runs now; of a case of a data file, pytest does not print the path."""
        is_case = _file_of(nodeid) in self._files
        if self._shows_path:
            self._reporter.showfspath = not is_case
        if is_case:
            self._write(nodeid)
        else:
            self._take_away()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what failed."""
        self._wrong += report.failed

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Count what is done."""
        self._done += 1
        if _file_of(nodeid) in self._files:
            self._write(nodeid)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Take the line away, however the session ends."""
        try:
            return (yield)
        finally:
            self._take_away()

    def _write(self, nodeid: str) -> None:
        now = time.monotonic()
        if not self._is_rewritten or now - self._started < SHOWN_AFTER or now - self._written < INTERVAL:
            return
        self._written, self._is_shown = now, True
        file = _file_of(nodeid)
        line = progress_line(self._done, self._total, self._wrong, now - self._started)
        name = f"{self._files[file]} {nodeid}"
        width = self._reporter.config.get_terminal_writer().fullwidth - 1
        room = width - len(line) - 2
        shown = name if len(name) <= room else f"…{name[1 - room :]}" if room > 10 else ""
        self._reporter.rewrite(f"{line}  {shown}"[:width], erase=True)
        self._reporter.flush()

    def _take_away(self) -> None:
        if self._is_shown:
            self._reporter.rewrite("", erase=True)
            self._reporter.rewrite("")
            self._is_shown = False


def progress_line(done: int, total: int, wrong: int, seconds: float) -> str:
    """How far a session is: ``120 of 1198, 45/s, 24 s left, 2 failed``."""
    rate = done / seconds
    parts = [f"{done} of {total}"]
    if done:
        parts.append(f"{rate:.0f}/s" if rate >= 1 else f"{1 / rate:.1f} s each")
    if done >= FORESEEN * total:
        left = round((total - done) / rate)
        parts.append(f"{left // 60} min {left % 60} s left" if left >= 60 else f"{left} s left")
    return ", ".join([*parts, f"{wrong} failed"] if wrong else parts)


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]
