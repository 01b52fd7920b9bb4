"""Hooks around tests written in Python: they check and judge markers, and put failures into words."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from unittest import TestCase

import pytest

from pytest_mcpeval.core.errors import InvalidTest
from pytest_mcpeval.kinds.scenario.checks import CheckFailed, CheckSpecError
from pytest_mcpeval.kinds.scenario.explain import evidence, explain_sample
from pytest_mcpeval.kinds.scenario.run import evaluated, headline
from pytest_mcpeval.python_tests.assertions import MarkedAssertionsFailed, judge_marked_assertions
from pytest_mcpeval.python_tests.cases import (
    INCIDENTS,
    EvidenceMissing,
    ExpectationPart,
    MarkedChecksFailed,
    is_python_case,
    is_python_test,
    is_verdict,
    python_sample,
    raised,
    recorder_of,
    withdraw_xfail,
)
from pytest_mcpeval.python_tests.client import OWN_FILES
from pytest_mcpeval.python_tests.markers import (
    CHECKS_MARKER,
    MARKERS,
    checks_of,
    marked_checks,
    marker_problems,
)
from pytest_mcpeval.reports.failure import FailureText
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.text.visible import visible

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext

SECTION = "mcpeval"


class PythonCases:
    """Judges tests marked with ``mcpeval_checks`` on what they returned, or on the last answer they got."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._known: dict[tuple[int, Path], pytest.Mark] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Mistakes in markers are errors of the file, before anything runs."""
        report = yield
        problems = list(self._problems(report.result)) if report.passed else []
        if problems:
            report.outcome, report.result = "failed", []
            report.longrepr = FailureText("\n".join(problems))  # type: ignore[assignment]
        return report

    def _problems(self, collected: Iterable[pytest.Item | pytest.Collector] | None) -> Iterator[str]:
        for item in collected or ():
            if is_python_test(item):
                path, line, _ = item.reportinfo()
                place = f"{item.nodeid.partition('::')[0]}:{(line or 0) + 1}: "
                yield from (place + problem for problem in self._problems_of(item, Path(path)))

    def _problems_of(self, item: pytest.Function, path: Path) -> Iterator[str]:
        for marker in item.iter_markers():
            if marker.name in MARKERS and (id(marker), path) not in self._known:
                # Kept, so that no other marker gets its id.
                self._known[id(marker), path] = marker
                yield from marker_problems(marker, path, self._context)
        is_method = item.cls is not None and issubclass(item.cls, TestCase)
        if is_method and item.get_closest_marker(CHECKS_MARKER):
            yield f"{CHECKS_MARKER} does not work on unittest.TestCase methods: write a plain test function"
        if inspect.isasyncgenfunction(item.function) and is_python_case(item):
            yield f"{item.name} has a `yield`, so that it is never run: write `return` instead"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run the test, keep what it returns, then evaluate the checks of its markers."""
        if not is_python_case(item):
            return (yield)
        self._require_good_markers(item)
        recorder = recorder_of(item)
        recorder.came_through = False
        of_fixtures = set(recorder.expectations)
        marked = item.get_closest_marker(CHECKS_MARKER) is not None
        function, returned = item.obj, list[object]()
        if marked:
            item.obj = keeping(function, returned)
        try:
            result = yield
        except Exception as error:
            if isinstance(error, InvalidTest):
                _require_checks(item, except_for=of_fixtures)  # Says where.
            if not item.config.option.fulltrace:
                hide_own_frames(error)
            raise
        finally:
            item.obj = function
        self._require_good_markers(item)
        _require_checks(item, except_for=of_fixtures)
        if marked:
            self._judge(item, returned)
        if broke := [check for check in recorder.checks if check.broke]:
            # The test may have caught what that raised, as it may a failed check.
            raise MarkedChecksFailed(f"{broke[0].name}: {broke[0].message}", broke)
        judge_marked_assertions(item)
        recorder.came_through = True
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """What fixtures expect may be judged in their tear-down; that it was is seen after it."""
        result = yield
        if is_python_case(item):
            recorder = recorder_of(item)
            if recorder.came_through:
                _require_checks(item)
            # An item may be run again.
            recorder.expectations.clear()
        return result

    def _require_good_markers(self, item: pytest.Function) -> None:
        """Fail a test for mistakes in markers that were added while it ran."""
        __tracebackhide__ = True
        problems = [
            problem
            for marker in item.iter_markers()
            if marker.name in MARKERS and (id(marker), item.path) not in self._known
            for problem in marker_problems(marker, item.path, self._context)
        ]
        if problems:
            raise InvalidTest("\n".join(problems))

    def _judge(self, item: pytest.Function, returned: list[object]) -> None:
        __tracebackhide__ = True
        response = response_to_judge(item, returned)
        checks = list(evaluated(marked_checks(item, checks_of(self._context)), response))
        recorder_of(item).checks.extend(checks)
        if not all(check.passed for check in checks):
            raise MarkedChecksFailed(headline(checks), checks)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show words instead of a traceback that would say nothing; add calls and checks to one that does."""
        report = yield
        if is_python_case(item):
            if not is_verdict(call):
                withdraw_xfail(item, call, report)
            if call.excinfo is not None and report.failed:
                _put_into_words(item, call, report)
        return report


def _require_checks(item: pytest.Item, except_for: Container[ExpectationPart] = ()) -> None:
    """Refuse a test with an expectation of which no check came.

    Raises:
        InvalidTest: It says where that is written.
    """
    __tracebackhide__ = True
    found = [
        f"{Path(os.path.relpath(part.path, item.config.rootpath)).as_posix()}:{part.line}: {part.lack}"
        for part in recorder_of(item).expectations
        if not part.has_check and part not in except_for
    ]
    if found:
        raise InvalidTest("\n".join(dict.fromkeys(found)))


def _put_into_words(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Replace a traceback that says nothing by words; add calls and checks to one that says something."""
    error = raised(call)
    recorder = recorder_of(item)
    if isinstance(error, (InvalidTest, *INCIDENTS)):
        report.longrepr = str(error).replace(f"{item.config.rootpath}/", "")
        return
    in_words = isinstance(error, (MarkedChecksFailed, MarkedAssertionsFailed, EvidenceMissing))
    sample = python_sample(item, call, report) if in_words or recorder.calls else None
    if sample is None:
        return
    if in_words:
        path, line, _ = item.location
        text = visible("\n".join(explain_sample(sample)))
        report.longrepr = f"{text}\n{path}:{(line or 0) + 1}"
    else:
        # Without the message, which the traceback shows already.
        recorded = replace(sample, checks=sample.checks[: len(recorder.checks)])
        report.sections.append((SECTION, visible("\n".join(evidence(recorded)))))


def keeping(function: Callable[..., Any], returned: list[object]) -> Callable[..., Any]:
    """The test function, its result put into ``returned``: pytest warns about tests that return something."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def keep_awaited(*args: object, **kwargs: object) -> None:
            returned.append(await function(*args, **kwargs))

        return keep_awaited

    @functools.wraps(function)
    def keep(*args: object, **kwargs: object) -> None:
        returned.append(function(*args, **kwargs))

    return keep


def response_to_judge(item: pytest.Item, returned: list[object]) -> Response:
    """What the test returned, or the last answer it got.

    Raises:
        InvalidTest: There is neither, or the test returned something that is not an answer.
    """
    __tracebackhide__ = True
    values = [value for value in returned if value is not None]
    if not values:
        last = recorder_of(item).last_response
        if last is None:
            raise InvalidTest(
                f"{CHECKS_MARKER} has nothing to judge: the test returned nothing and got no answer "
                "from a server; return a Response or a text, or call a tool"
            )
        return last
    if not isinstance(values[-1], Response | str):
        found = type(values[-1]).__name__
        raise InvalidTest(f"{CHECKS_MARKER} judges a Response or a text, and the test returned {found}")
    return values[-1] if isinstance(values[-1], Response) else Response(values[-1])


def hide_own_frames(error: Exception) -> None:
    """End the traceback of one of our errors where the test called us: our own frames do not concern it."""
    if not isinstance(error, (CheckFailed, CheckSpecError, CallError, *INCIDENTS)):
        return
    # The first frame is that of the hook that caught the error.
    frames = list(_frames(error.__traceback__))[1:]
    inside = next((i for i, frame in enumerate(frames) if _file(frame).startswith(OWN_FILES)), len(frames))
    while inside and _file(frames[inside - 1]).endswith("contextlib.py"):
        inside -= 1
    if 0 < inside < len(frames):
        frames[inside - 1].tb_next = None


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _file(traceback: TracebackType) -> str:
    return traceback.tb_frame.f_code.co_filename
