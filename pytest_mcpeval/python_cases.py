"""Tests written in Python as cases: what their fixtures recorded becomes a sample like any other."""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mcpeval.ledger import Selection
from pytest_mcpeval.samples import Check, Outcome, Sample

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.scenario.run import Answer
    from pytest_mcpeval.runtime import Runtime
    from pytest_mcpeval.servers.response import Response

CASE_MARKER = "mcpeval_case"
CHECKS_MARKER = "mcpeval_checks"
SERVER_MARKER = "mcpeval_server"
MARKERS = (CASE_MARKER, CHECKS_MARKER, SERVER_MARKER)
FIXTURE_PREFIX = "mcpeval_"


@dataclass
class Recorder:
    """What one Python test did: the calls it made, and the checks it evaluated."""

    server: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)


recorder_key = pytest.StashKey[Recorder]()


def recorder_of(item: pytest.Item) -> Recorder:
    """The recorder of a test, made on first use."""
    return item.stash.setdefault(recorder_key, Recorder())


def is_python_case(item: pytest.Item) -> bool:
    """Whether a test written in Python is a case: it has one of our markers or uses one of our fixtures."""
    if not isinstance(item, pytest.Function):
        return False
    return any(name.startswith(FIXTURE_PREFIX) for name in item.fixturenames) or any(
        item.get_closest_marker(name) for name in MARKERS
    )


def suite_and_id(item: pytest.Item) -> tuple[str, str]:
    """A test's file and the rest of its node id."""
    suite, _, case = item.nodeid.partition("::")
    return suite, case


def python_selections(items: Iterable[pytest.Item]) -> list[Selection]:
    """One selection per Python file that holds cases. What was deselected there is not known, nor needed."""
    found: dict[str, list[str]] = {}
    for item in items:
        if is_python_case(item) and not hasattr(item, "suite"):
            suite, case = suite_and_id(item)
            found.setdefault(suite, []).append(case)
    return [Selection(suite, "scenario", None, "", cases, cases) for suite, cases in sorted(found.items())]


def python_sample(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Sample | None:
    """The sample of a Python test, or None when it is not a case."""
    if not is_python_case(item):
        return None
    from pytest_mcpeval.kinds.scenario.run import headline, measured, measured_run

    recorder = recorder_of(item)
    checks = [*recorder.checks, *_assertion_checks(recorder, call)]
    suite, case = suite_and_id(item)
    return Sample(
        suite=suite,
        kind="scenario",
        id=case,
        outcome=_outcome(call, report),
        checks=tuple(checks),
        message=headline(checks),
        traits=_traits(item, recorder),
        measured=measured(recorder.server, recorder.calls, recorder.answers),
        run=measured_run(recorder.answers),
    )


def _assertion_checks(recorder: Recorder, call: pytest.CallInfo[None]) -> Iterable[Check]:
    """A failure that no recorded check explains, as a check of its own."""
    if call.excinfo is None or not all(check.passed for check in recorder.checks):
        return
    lines = str(call.excinfo.value).splitlines()
    message = lines[0] if lines else type(call.excinfo.value).__name__
    yield Check({"type": "python"}, "failed", message[:500])


def _outcome(call: pytest.CallInfo[None], report: pytest.TestReport) -> Outcome:
    if report.passed:
        return "passed"
    if report.skipped:
        return "xfailed" if hasattr(report, "wasxfail") else "skipped"
    return "error" if call.when == "setup" else "failed"


def _traits(item: pytest.Item, recorder: Recorder) -> dict[str, Any]:
    tools = tuple(dict.fromkeys(name for target, name in recorder.calls if target == "tool"))
    marker = item.get_closest_marker(CASE_MARKER)
    given: Mapping[str, Any] = marker.kwargs if marker else {}
    traits: dict[str, Any] = {
        "difficulty": given.get("difficulty"),
        "project": given.get("project"),
        "tags": tuple(given.get("tags", ())),
        "tool": tools[0] if len(tools) == 1 else tools,
        "name": given.get("name", item.name),
    }
    return {name: value for name, value in traits.items() if value}


class PythonCases:
    """Judges tests marked with ``mcpeval_checks`` on what they returned, or on the last answer they got."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Keep what the test returns, then evaluate the checks of its markers."""
        marked = list(pyfuncitem.iter_markers(CHECKS_MARKER))
        if not marked:
            return (yield)
        returned = _keep_return_value(pyfuncitem)
        result = yield
        self._judge(pyfuncitem, marked, returned)
        return result

    def _judge(self, item: pytest.Item, marked: list[pytest.Mark], returned: list[object]) -> None:
        from pytest_mcpeval.kinds.scenario.checks import CheckFailed, rule_of_keyword
        from pytest_mcpeval.kinds.scenario.run import evaluated

        response = _response_to_judge(recorder_of(item), returned)
        given = {name: value for mark in reversed(marked) for name, value in mark.kwargs.items()}
        rules = [rule_of_keyword(self._runtime.checks, name, value) for name, value in given.items()]
        checks = list(evaluated([self._runtime.checks.parse(rule) for rule in rules], response))
        recorder_of(item).checks.extend(checks)
        wrong = [check for check in checks if not check.passed]
        if wrong:
            raise CheckFailed(wrong, response)


def _keep_return_value(item: pytest.Function) -> list[object]:
    """Make the test function keep what it returns (pytest warns about tests that return something)."""
    returned: list[object] = []
    function = item.obj

    @functools.wraps(function)
    def keeping(*args: object, **kwargs: object) -> None:
        value = function(*args, **kwargs)
        if value is not None:
            returned.append(value)

    item.obj = keeping
    return returned


def _response_to_judge(recorder: Recorder, returned: list[object]) -> Response:
    from pytest_mcpeval.servers.response import Response

    if returned:
        value = returned[-1]
        if isinstance(value, Response):
            return value
        if isinstance(value, str):
            return Response(value)
        raise TypeError(
            f"{CHECKS_MARKER} judges a Response or a text, and the test returned {type(value).__name__}"
        )
    answered = [answer.response for answer in recorder.answers if answer.response is not None]
    if not answered:
        raise ValueError(
            f"{CHECKS_MARKER} has nothing to judge: the test returned nothing and called no tool"
        )
    return answered[-1]
