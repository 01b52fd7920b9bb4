"""Tests written in Python as cases: what their fixtures recorded becomes a sample like any other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import pytest

from pytest_mcpeval.browser.directive import BrowserError
from pytest_mcpeval.core.errors import InvalidTest, TargetError
from pytest_mcpeval.core.sample import Check, CheckStatus, Outcome, Sample
from pytest_mcpeval.core.sample_store import Selection
from pytest_mcpeval.kinds.scenario.checks import CheckFailed, CheckSpecError
from pytest_mcpeval.kinds.scenario.run import Answer, headline, measured, measured_run
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.python_tests.markers import ASSERT_MARKER, CASE_MARKER, CHECKS_MARKER, case_problems
from pytest_mcpeval.servers.errors import CallError, ServerConfigError, ServerStartError
from pytest_mcpeval.text.visible import clipped

if TYPE_CHECKING:
    from pytest_mcpeval.browser.artifacts import CaseFolder
    from pytest_mcpeval.kinds.agent.captured import Captured
    from pytest_mcpeval.servers.response import Response

Target = Literal["tool", "resource", "prompt"]

FIXTURE_PREFIX = "mcpeval_"
INCIDENTS = (ServerStartError, ServerConfigError, DataFileError, BrowserError, TargetError)
SHOWN_MESSAGE = 500


class EvidenceMissing(Exception):  # noqa: N818 - reads as what happened
    """No assertion of a test failed, and some lack the evidence for a verdict.

    ``recovery`` says what to do about it.
    """

    def __init__(self, message: str, recovery: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.recovery = recovery


class MarkedChecksFailed(AssertionError):  # noqa: N818 - reads as what happened
    """The ``checks`` of the markers did not all pass."""

    def __init__(self, message: str, checks: Sequence[Check]) -> None:
        super().__init__(message)
        self.checks = checks


@dataclass
class RecordedCall:
    """One call of a test; ``answer`` is None as long as the test has not got one."""

    target: str
    name: str
    arguments: Mapping[str, Any]
    answer: Answer | None = None


@dataclass(frozen=True)
class MadeVisit:
    """A visit of an agent: its folder, and the size of the largest page that is read."""

    folder: CaseFolder
    max_dom_bytes: int

    def captured(self) -> Captured:
        """Its evidence, as it is now.

        Raises:
            TargetError: The visit did not come to its end, or its trace backend could not be asked.
        """
        from pytest_mcpeval.kinds.agent.captured import Captured
        from pytest_mcpeval.kinds.agent.captures import read_capture
        from pytest_mcpeval.kinds.agent.run import problem_of

        try:
            problem = problem_of(read_capture(self.folder))
        except ValueError as error:
            problem = str(error)
        if problem is not None:
            raise TargetError(problem)
        return Captured(self.folder, self.max_dom_bytes)


@dataclass(eq=False)
class ExpectationPart:
    """A part of an expectation that a check must come of: where it is, and what it lacks otherwise."""

    path: str
    line: int
    lack: str
    has_check: bool = False


@dataclass
class Recorder:
    """What one Python test did: the calls it made, in the order it made them, and the checks it evaluated.

    ``visits`` are those it made to agents, in their order, ``expectations`` the parts of what it expected.
    ``came_through`` says that the test itself, before its tear-down, raised nothing.
    """

    server: str = ""
    calls: list[RecordedCall] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    visits: list[MadeVisit] = field(default_factory=list)
    expectations: list[ExpectationPart] = field(default_factory=list)
    came_through: bool = False

    def begin(
        self, target: Target, name: str, arguments: Mapping[str, Any] | None, timeout: float
    ) -> RecordedCall:
        """Note a call before it is made, so that calls in flight at once keep their order.

        Raises:
            TypeError: No such call can be made; it is not noted.
            ValueError: ``timeout`` is not a time.
        """
        __tracebackhide__ = True
        _require_callable(target, name, arguments, timeout)
        call = RecordedCall(target, name, as_json_data(arguments or {}))
        self.calls.append(call)
        return call

    @property
    def last_response(self) -> Response | None:
        """The response to the last call that got one."""
        responses = [call.answer.response for call in self.calls if call.answer and call.answer.response]
        return responses[-1] if responses else None


def _require_callable(target: Target, name: object, arguments: object, timeout: object) -> None:
    """Refuse what could not be sent, in words: the layers below speak of models and fields."""
    __tracebackhide__ = True
    if not isinstance(name, str):
        meant = "the URI of a resource" if target == "resource" else f"the name of a {target}"
        raise TypeError(f"{meant} is a text, found {_brief(name)}")
    if not isinstance(arguments, Mapping | None):
        example = '{"query": "x"}'
        raise TypeError(
            f"the arguments of {name!r} are a mapping such as {example}, found {_brief(arguments)}"
        )
    for key, value in (arguments or {}).items():
        if not isinstance(key, str):
            raise TypeError(f"the names of arguments are texts, found {_brief(key)} in those of {name!r}")
        if target == "prompt" and not isinstance(value, str):
            raise TypeError(f"the arguments of prompts are texts, found {_brief(value)} as {key!r}")
    if not isinstance(timeout, int | float) or isinstance(timeout, bool):
        raise TypeError(f"timeout is a number of seconds, found {_brief(timeout)}")
    if not 0 < timeout < inf:
        raise ValueError(f"timeout is a number of seconds above 0, found {timeout!r}")


def _brief(value: object) -> str:
    return clipped(repr(value), 80)


recorder_key = pytest.StashKey[Recorder]()


def recorder_of(item: pytest.Item) -> Recorder:
    """The recorder of a test, made on first use."""
    return item.stash.setdefault(recorder_key, Recorder())


def as_json_data(value: Any) -> Any:
    """The value as JSON data; what JSON has no form for becomes a text."""
    return json.loads(json.dumps(value, default=str))


def is_python_test(item: pytest.Item | pytest.Collector) -> TypeGuard[pytest.Function]:
    """Whether an item is a test function of a Python module: those of data files are not imported."""
    return isinstance(item, pytest.Function) and item.module.__spec__ is not None


def is_python_case(item: pytest.Item) -> TypeGuard[pytest.Function]:
    """Whether a test written in Python is a case: it uses one of our fixtures, or is marked as one.

    The marker that only names a server makes none: on a module it also stands over ordinary tests.
    """
    if not is_python_test(item):
        return False
    return any(name.startswith(FIXTURE_PREFIX) for name in item.fixturenames) or any(
        item.get_closest_marker(name) for name in (ASSERT_MARKER, CASE_MARKER, CHECKS_MARKER)
    )


def raised(call: pytest.CallInfo[None]) -> BaseException | None:
    """What a phase of a test ended with, if it raised anything."""
    return call.excinfo.value if call.excinfo is not None else None


def withdraw_xfail(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Report what is no verdict as it would be without ``xfail``, which is for a known wrong answer.

    A mark whose ``raises`` names the error, and not just any exception, accepts it.
    """
    error = raised(call)
    if not (report.skipped and hasattr(report, "wasxfail")) or isinstance(error, pytest.xfail.Exception):
        return
    for mark in item.iter_markers("xfail"):
        raises = mark.kwargs.get("raises")
        for named in raises if isinstance(raises, tuple) else (raises,):
            if isinstance(named, type) and not issubclass(Exception, named) and isinstance(error, named):
                return
    report.outcome = "failed"
    del report.wasxfail
    report.sections.append(("mcpeval", "The mark xfail expects a wrong answer, and this is none."))


def suite_and_id(item: pytest.Item) -> tuple[str, str]:
    """A test's file and the rest of its node id."""
    suite, _, case = item.nodeid.partition("::")
    return suite, case


def python_selections(items: Iterable[pytest.Item]) -> list[Selection]:
    """One selection per Python file that holds cases. What was deselected there is not known, nor needed."""
    found: dict[str, list[str]] = {}
    for item in items:
        if is_python_case(item):
            suite, case = suite_and_id(item)
            found.setdefault(suite, []).append(case)
    return [Selection(suite, "scenario", None, "", cases, cases) for suite, cases in sorted(found.items())]


def python_sample(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Sample | None:
    """The sample of a Python test, or None when it is not a case."""
    if not is_python_case(item):
        return None
    recorder = recorder_of(item)
    outcome = _outcome(call, report)
    checks = [replace(check, rule=as_json_data(check.rule)) for check in recorder.checks]
    if outcome in ("failed", "inconclusive", "xfailed"):
        checks += _unexplained(recorder, outcome, call, report)
    answers = [made.answer or Answer(made.arguments) for made in recorder.calls]
    suite, case = suite_and_id(item)
    return Sample(
        suite=suite,
        kind="scenario",
        id=case,
        outcome=outcome,
        checks=tuple(checks),
        message=_message(outcome, checks, call, report),
        traits=_traits(item, recorder),
        measured=measured(recorder.server, [(made.target, made.name) for made in recorder.calls], answers),
        run=measured_run(answers, range(len(answers) if outcome != "passed" else 0)),
    )


def _outcome(call: pytest.CallInfo[None], report: pytest.TestReport) -> Outcome:
    if report.passed:
        return "passed"
    if report.skipped:
        return "xfailed" if hasattr(report, "wasxfail") else "skipped"
    if isinstance(raised(call), EvidenceMissing):
        return "inconclusive"
    return "error" if _is_incident(call) else "failed"


def _is_incident(call: pytest.CallInfo[None]) -> bool:
    error = raised(call)
    could_not_ask = isinstance(error, INCIDENTS) or (isinstance(error, CallError) and error.is_incident)
    broke = isinstance(error, (CheckFailed, MarkedChecksFailed)) and any(one.broke for one in error.checks)
    return could_not_ask or broke or (error is not None and call.when != "call")


def is_verdict(call: pytest.CallInfo[None]) -> bool:
    """Whether what a test raised may mean that an answer was wrong."""
    error = raised(call)
    if isinstance(error, (CheckFailed, MarkedChecksFailed)) and not _is_incident(call):
        return any(check.status == "failed" for check in error.checks)
    if isinstance(error, CallError) and error.reason == "unknown_tool":
        return False
    return not _is_incident(call) and not isinstance(error, (EvidenceMissing, InvalidTest, CheckSpecError))


def _unexplained(
    recorder: Recorder, outcome: Outcome, call: pytest.CallInfo[None], report: pytest.TestReport
) -> Iterable[Check]:
    """A failure, or a lack of evidence, that no recorded check explains, as a check of its own."""
    if all(check.passed for check in recorder.checks):
        status: CheckStatus = "inconclusive" if outcome == "inconclusive" else "failed"
        error = raised(call)
        steps = error.recovery if isinstance(error, EvidenceMissing) else ()
        yield Check(
            {"type": "python"}, status, _first_line(call, report), {"recovery": steps} if steps else None
        )


def _message(
    outcome: Outcome, checks: list[Check], call: pytest.CallInfo[None], report: pytest.TestReport
) -> str:
    if outcome == "passed":
        return ""
    wrong = ("failed", "inconclusive", "xfailed")
    return headline(checks) if outcome in wrong else _first_line(call, report)


def _first_line(call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    error = raised(call)
    if error is None:
        # A strict xfail that passed raises nothing.
        return str(report.longrepr).partition("\n")[0]
    return (str(error).partition("\n")[0] or type(error).__name__)[:SHOWN_MESSAGE]


def _traits(item: pytest.Item, recorder: Recorder) -> dict[str, Any]:
    tools = tuple(dict.fromkeys(call.name for call in recorder.calls if call.target == "tool"))
    given: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(CASE_MARKER))):
        if not any(case_problems(marker)):
            given.update(marker.kwargs)
    traits: dict[str, Any] = {
        "difficulty": given.get("difficulty"),
        "project": given.get("project"),
        "tags": tuple(dict.fromkeys(given.get("tags", ()))),
        "tool": tools[0] if len(tools) == 1 else tools,
        "name": given.get("name", item.name),
    }
    return {name: value for name, value in traits.items() if value}
