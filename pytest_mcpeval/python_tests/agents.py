"""The values of the fixtures for agents: visits of a web agent, and what it did during the last one."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import pytest

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder, make_private
from pytest_mcpeval.browser.directive import (
    DEFAULT_MAX_DOM_BYTES,
    ActionName,
    BrowserError,
    CaptureResult,
    Directive,
    PageAction,
    ResponseReady,
)
from pytest_mcpeval.browser.login import storage_state_problem
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.agent.captures import capture_of, write_capture
from pytest_mcpeval.kinds.agent.outcomes import Reason
from pytest_mcpeval.python_tests.cases import EvidenceMissing, MadeVisit, recorder_of
from pytest_mcpeval.text.visible import clipped

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from pytest_mcpeval.browser.directive import Driver
    from pytest_mcpeval.browser.pool_driver import DriverName
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.agent.captured import Captured
    from pytest_mcpeval.kinds.agent.evidence import Generation, RoutingDecision, ToolCall
    from pytest_mcpeval.kinds.agent.load import AgentSuite
    from pytest_mcpeval.kinds.agent.preparing import Places
    from pytest_mcpeval.kinds.agent.schema import VisitModel

PYTHON_RUNS = "_python-tests"
"""The folder with the visits of tests written in Python, among those of agents: no agent can be named so."""

PAGE_CASE = "page"
"""The folder of a visit that no manifest has a case for."""

LONGEST_NAME = 80

ACTION_KEYS = frozenset({"action", "selector", "value"})
AN_ACTION = "{'action': 'click', 'selector': '#open'}"

FoundT = TypeVar("FoundT")

Action = PageAction | Mapping[str, str]
Ready = ResponseReady | Mapping[str, Any] | str


@dataclass(frozen=True)
class AgentVisit:
    """A completed visit. ``folder`` has its artifacts; ``result`` is the result of the capture."""

    folder: CaseFolder
    result: CaptureResult
    max_dom_bytes: int = DEFAULT_MAX_DOM_BYTES

    @property
    def html(self) -> str:
        """The page with the answer."""
        return self.folder.after_submit_dom.read_text(encoding="utf-8")

    @property
    def text(self) -> str:
        """The visible text of the page with the answer."""
        return Trajectory(lambda: MadeVisit(self.folder, self.max_dom_bytes)).response_text


class CaptureAgent:
    """Visits agents as the cases of manifests do. Every visit is a run of its own.

    They lie in ``runs/_python-tests/<run id of the session>/<test>-<number of the visit>-<random>/<case>``.
    """

    def __init__(self, request: pytest.FixtureRequest, context: RunContext) -> None:
        self._request = request
        self._item: pytest.Item = request.node
        self._context = context
        self._recorder = recorder_of(self._item)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._item.name}>"

    def __call__(
        self,
        url: str,
        input: str,
        *,
        preconditions: Sequence[Action] = (),
        input_selector: str | None = None,
        response_wait_ms: int = 2000,
        response_ready: Ready | None = None,
        reveal_actions: Sequence[Action] = (),
        storage_state: str | Path | Mapping[str, Any] | None = None,
    ) -> AgentVisit:
        """Open a page, type, and wait for the answer; the arguments are those of ``interaction``.

        Raises:
            ValueError: An argument is not what it would have to be in a manifest.
            BrowserError: The visit did not come to its end; the text says at which step, and why.
            OSError: The artifacts cannot be written.
        """
        _check_storage_state(storage_state)
        visit = _checked(
            {
                "url": url,
                "input": input,
                "preconditions": _actions("preconditions", preconditions),
                "reveal_actions": _actions("reveal_actions", reveal_actions),
                "response_ready": _ready(response_ready),
                "input_selector": input_selector,
                "response_wait_ms": response_wait_ms,
            }
        )
        run = self._new_run()
        folder = run.case(PAGE_CASE)
        directive = Directive(
            agent=PYTHON_RUNS,
            run_id=run.path.name,
            case_id=PAGE_CASE,
            url=url,
            input=input,
            folder=folder,
            interaction=visit,
            reveal_actions=visit.reveal_actions,
            storage_state=str(storage_state) if isinstance(storage_state, Path) else storage_state,
        )
        folder.create()
        result = driver_of(self._context).capture(directive)
        write_capture(folder, capture_of(directive, result))
        self._recorder.visits.append(MadeVisit(folder, DEFAULT_MAX_DOM_BYTES))
        if result.error is not None:
            raise BrowserError(f"{result.error.step.replace('_', ' ')}: {result.error.message}")
        return AgentVisit(folder, result)

    def case(self, manifest: str | Path, case_id: str, *, url: str | None = None) -> AgentVisit:
        """Visit the agent of a manifest as its case says, with all its evidence; assertions are the test's.

        The settings of the manifest hold, its fixtures and its driver included. ``manifest`` is relative to
        the root directory; the origin of ``url`` takes the place of that of ``access.url``.

        Raises:
            ValueError: ``url`` is none.
            BrowserError: The visit did not come to its end.
            DataFileError: The manifest has problems.
            TargetError: Its agent cannot be driven, or its trace backend cannot be asked.
            OSError: The artifacts cannot be written.
        """
        from pytest_mcpeval.kinds.agent.preparing import require_credentials
        from pytest_mcpeval.kinds.agent.run import drive

        suite = self._suite(manifest)
        chosen = next((case for case in suite.manifest.cases if case.id == case_id), None)
        if chosen is None:
            known = ", ".join(case.id for case in suite.manifest.cases)
            raise BrowserError(f"{suite.key} has no case {case_id!r} (cases: {known})")
        require_credentials(suite)
        places = self._places(suite, url)
        driver = driver_of(self._context, suite.settings.driver)
        visit = drive(suite, chosen, driver, places, self._new_run())
        made = MadeVisit(visit.folder, suite.manifest.interaction.max_dom_bytes)
        self._recorder.visits.append(made)
        assert visit.capture is not None
        if visit.capture.error is not None:
            raise BrowserError(visit.capture.error)
        made.captured()
        result = CaptureResult(visit.capture.started, visit.capture.ended, (), notes=visit.capture.notes)
        return AgentVisit(made.folder, result, made.max_dom_bytes)

    def _suite(self, manifest: str | Path) -> AgentSuite:
        from pytest_mcpeval.kinds.agent.load import AgentSuite

        suite = self._context.suite(self._context.rootdir / manifest)
        if not isinstance(suite, AgentSuite):
            raise BrowserError(f"{manifest} is not a manifest of an agent")
        return suite

    def _places(self, suite: AgentSuite, url: str | None) -> Places:
        """What the fixtures of a manifest say, and the URL of the test, which goes before theirs."""
        from pytest_mcpeval.kinds.agent.load import fixtures_of
        from pytest_mcpeval.kinds.agent.preparing import Places, places_of
        from pytest_mcpeval.kinds.agent.urls import page_url

        found = places_of(suite, {name: self._fixture(suite, name) for name in fixtures_of(suite.settings)})
        return found if url is None else Places({**found.urls, "url": page_url(url)}, found.storage_state)

    def _fixture(self, suite: AgentSuite, name: str) -> Any:
        try:
            return self._request.getfixturevalue(name)
        except pytest.FixtureLookupError as error:
            raise TargetError(f"{suite.key}: fixture {error.argname!r} not found") from None
        except Exception as error:
            # For a case of the manifest this is an error of its set-up.
            raise TargetError(f"{suite.key}: the fixture {name} failed: {error}") from error

    def _new_run(self) -> RunFolder:
        """A folder that no other visit has, though the names of several tests may be spelled alike in it."""
        run = self._context.options("agent")
        session = run.runs_root.absolute() / PYTHON_RUNS / run.run_id
        make_private(session, above=run.runs_root.absolute())
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self._item.nodeid)[-LONGEST_NAME:].strip("-._")
        return RunFolder(session / f"{name}-{len(self._recorder.visits) + 1}-{secrets.token_hex(4)}")


class Trajectory:
    """What an agent did, as the evidence in a folder shows it.

    Where evidence is missing, or may be incomplete, `EvidenceMissing` is raised, and the test is
    inconclusive: what a log does not show may have happened all the same. The marker ``mcpeval_assert`` finds
    what even an incomplete log proves.
    """

    def __init__(self, visit: Callable[[], MadeVisit]) -> None:
        self._visit = visit

    @property
    def _captured(self) -> Captured:
        return self._visit().captured()

    @property
    def response_text(self) -> str:
        """The visible text of the page with the answer."""
        return _found(self._captured.response_text)

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls of tools, in their order."""
        captured = self._captured
        return _whole(captured.tool_calls, captured.doubt("tool_calls.jsonl"))

    @property
    def tools(self) -> list[str]:
        """The names of the tools, in the order they were called."""
        return [call.tool_name for call in self.tool_calls]

    @property
    def routing_decisions(self) -> list[RoutingDecision]:
        """The agents that were entered, in their order."""
        captured = self._captured
        return _whole(captured.routing_decisions, captured.doubt("routing_decisions.jsonl"))

    @property
    def steps(self) -> int:
        """The number of reasoning steps."""
        captured = self._captured
        return _whole(captured.step_count, captured.doubt("step_count.json")).total_steps

    @property
    def generations(self) -> list[Generation]:
        """The calls of models, with tokens, costs and times."""
        captured = self._captured
        return _whole(captured.generations, captured.doubt("generations.jsonl"))


def last_trajectory(item: pytest.Item) -> Trajectory:
    """The trajectory of the visit that a test makes last; known only when it is asked for something."""

    def visit() -> MadeVisit:
        visits = recorder_of(item).visits
        if not visits:
            message = "mcpeval_trajectory: the test has visited no agent yet; use mcpeval_capture first"
            pytest.fail(message, pytrace=False)
        return visits[-1]

    return Trajectory(visit)


@contextmanager
def leased_page(context: RunContext) -> Iterator[Page]:
    """A page of a browser of its own, on a slot of the pool; both end with the block.

    Visits that are made meanwhile are on the same slot.

    Not the browser of the driver: that one lives on another thread.

    Raises:
        BrowserError: There is no browser, it does not start, or no slot is free.
    """
    from pytest_mcpeval.browser.playwright_browser import PlaywrightBrowser
    from pytest_mcpeval.browser.slots import pool_of_process

    options = context.options("agent").driver
    browser = PlaywrightBrowser(options)
    slots = pool_of_process(options.pool_size, options.lock_directory)
    with slots.lease(shared=True):
        try:
            with browser.fresh_page() as control:
                yield control.page
        finally:
            browser.close()


def driver_of(context: RunContext, name: DriverName = "playwright") -> Driver:
    """The driver of that name of this process, the same that cases of manifests use.

    Raises:
        BrowserError: It cannot be used.
    """
    from pytest_mcpeval.browser.pool_driver import make_driver

    options = context.options("agent").driver
    return context.target(("agent", name), lambda: make_driver(name, options))


def _actions(argument: str, given: object) -> list[Action]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise _wrong(argument, f"expected a list of actions, each {AN_ACTION}", given)
    return [_action(argument, one) for one in given]


def _wrong(argument: str, expected: str, found: object) -> ValueError:
    return ValueError(f"mcpeval_capture: {argument}: {expected}, found {clipped(repr(found), 80)}")


def _check_storage_state(given: object) -> None:
    """Hold it to what it may be; cookies are credentials, so no value is shown."""
    if given is None or isinstance(given, str | Path):
        return
    if (problem := storage_state_problem(given)) is not None:
        raise ValueError(f"mcpeval_capture: storage_state: {problem}; or the path of a file with it")


def _checked(arguments: Mapping[str, Any]) -> VisitModel:
    """The arguments of a visit, held to what manifests are held to."""
    from pydantic import ValidationError

    from pytest_mcpeval.kinds.agent.schema import VisitModel
    from pytest_mcpeval.loading.schema import sentences

    try:
        return VisitModel.model_validate(arguments)
    except ValidationError as error:
        found = "; ".join(text for _, text in sentences(error, VisitModel, arguments))
        raise ValueError(f"mcpeval_capture: {found}") from None


def _action(argument: str, given: object) -> Action:
    if isinstance(given, PageAction):
        return given
    known = given if isinstance(given, Mapping) else {}
    has_its_keys = {"action", "selector"} <= known.keys() <= ACTION_KEYS
    if not has_its_keys or known["action"] not in get_args(ActionName):
        raise _wrong(argument, f"expected an action such as {AN_ACTION}", given)
    return known


def _ready(given: object) -> ResponseReady | Mapping[str, Any] | None:
    if given is None or isinstance(given, ResponseReady):
        return given
    if isinstance(given, str):
        return {"selector": given}
    if not isinstance(given, Mapping) or not given.keys() <= {"selector", "dom_quiet_ms"}:
        words = "expected a selector, {'selector': '.answer'} or {'dom_quiet_ms': 500}"
        raise _wrong("response_ready", words, given)
    return given


def _found(evidence: FoundT | Reason) -> FoundT:
    if isinstance(evidence, Reason):
        from pytest_mcpeval.kinds.agent.recovery import recovery_of_test

        message = f"{evidence.message}: {evidence.expected_artifact_path} was expected"
        raise EvidenceMissing(message, recovery_of_test(evidence))
    return evidence


def _whole(evidence: FoundT | Reason, doubt: Reason | None) -> FoundT:
    found = _found(evidence)
    if doubt is not None:
        from pytest_mcpeval.kinds.agent.recovery import recovery_of_test

        message = f"{doubt.expected_artifact_path} may be incomplete: {doubt.message}"
        raise EvidenceMissing(message, recovery_of_test(doubt))
    return found
