"""What the fixtures for agents hand out: visits of a web agent, and what it did during the last one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import pytest

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder
from pytest_mcpeval.browser.directive import ActionName, CaptureResult, Directive, PageAction, ResponseReady
from pytest_mcpeval.browser.errors import BrowserError
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.captures import capture_of, write_capture
from pytest_mcpeval.kinds.agent.outcomes import Reason
from pytest_mcpeval.kinds.agent.schema import DEFAULT_MAX_DOM_BYTES
from pytest_mcpeval.python_cases import EvidenceMissing, recorder_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from pytest_mcpeval.browser.directive import Driver
    from pytest_mcpeval.kinds.agent.evidence import Generation, RoutingDecision, ToolCall
    from pytest_mcpeval.kinds.agent.spec import AgentSuite
    from pytest_mcpeval.runtime import Runtime

PYTHON_RUNS = "python-tests"
"""The folder, among those of agents, with the visits of tests written in Python."""

LONGEST_ID = 80

FoundT = TypeVar("FoundT")

Action = PageAction | Mapping[str, str]
Ready = ResponseReady | Mapping[str, Any] | str


@dataclass(frozen=True)
class AgentVisit:
    """A visit that came to its end. ``folder`` has its artifacts; ``result`` says how it went."""

    folder: CaseFolder
    result: CaptureResult

    @property
    def html(self) -> str:
        """The page with the answer."""
        return self.folder.after_submit_dom.read_text(encoding="utf-8")

    @property
    def text(self) -> str:
        """The visible text of the page with the answer."""
        return Trajectory(lambda: self.folder).response_text


class CaptureAgent:
    """Visits agents as the cases of manifests do; what is captured lies under ``runs/python-tests``."""

    def __init__(self, item: pytest.Item, runtime: Runtime) -> None:
        self._item = item
        self._runtime = runtime
        self._recorder = recorder_of(item)

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
        before, after, ready = _actions(preconditions), _actions(reveal_actions), _ready(response_ready)
        _check(
            {
                "url": url,
                "input": input,
                "preconditions": [_given(action) for action in before],
                "reveal_actions": [_given(action) for action in after],
                "response_ready": None if ready is None else _given(ready),
                "input_selector": input_selector,
                "response_wait_ms": response_wait_ms,
            }
        )
        folder = self._next_folder()
        directive = Directive(
            agent=PYTHON_RUNS,
            run_id=self._runtime.settings.run.run_id,
            case_id=folder.path.name,
            url=url,
            input=input,
            folder=folder,
            preconditions=before,
            input_selector=input_selector,
            response_wait_ms=response_wait_ms,
            response_ready=ready,
            reveal_actions=after,
            storage_state=str(storage_state) if isinstance(storage_state, Path) else storage_state,
        )
        folder.create()
        result = driver_of(self._runtime).capture(directive)
        write_capture(folder, capture_of(directive, result))
        return self._visited(folder, result)

    def case(self, manifest: str | Path, case_id: str, *, url: str | None = None) -> AgentVisit:
        """Visit the agent of a manifest as its case says, with all its evidence; assertions are the test's.

        ``manifest`` is relative to the root directory; the origin of ``url`` takes the place of that of
        ``access.url``.

        Raises:
            BrowserError: The visit did not come to its end.
            DataFileError: The manifest has problems.
            TargetError: Its agent cannot be driven.
            OSError: The artifacts cannot be written.
        """
        from pytest_mcpeval.kinds.agent.run import Places, drive

        suite = self._suite(manifest)
        chosen = next((case for case in suite.manifest.cases if case.id == case_id), None)
        if chosen is None:
            known = ", ".join(case.id for case in suite.manifest.cases)
            raise BrowserError(f"{suite.key} has no case {case_id!r} (cases: {known})")
        visit = drive(suite, chosen, driver_of(self._runtime), Places({} if url is None else {"url": url}))
        assert visit.capture is not None
        if visit.capture.error is not None:
            self._recorder.captures.append(visit.folder)
            raise BrowserError(visit.capture.error)
        result = CaptureResult(visit.capture.started, visit.capture.ended, (), notes=visit.capture.notes)
        return self._visited(visit.folder, result)

    def _suite(self, manifest: str | Path) -> AgentSuite:
        from pytest_mcpeval.kinds.agent.spec import AgentSuite

        suite = self._runtime.suite(self._runtime.settings.rootdir / manifest)
        if not isinstance(suite, AgentSuite):
            raise BrowserError(f"{manifest} is no manifest of an agent")
        runs = self._runtime.settings.run.runs_root / PYTHON_RUNS / self._next_folder().path.name
        return replace(suite, settings=suite.settings.model_copy(update={"runs": str(runs)}))

    def _next_folder(self) -> CaseFolder:
        run = self._runtime.settings.run
        number = len(self._recorder.captures) + 1
        name = (
            re.sub(r"[^A-Za-z0-9._-]+", "-", self._item.nodeid).strip("-._")[-LONGEST_ID + 5 :].strip("-._")
        )
        return RunFolder.of(run.runs_root, PYTHON_RUNS, run.run_id).case(f"{name}-{number}")

    def _visited(self, folder: CaseFolder, result: CaptureResult) -> AgentVisit:
        self._recorder.captures.append(folder)
        if result.error is not None:
            raise BrowserError(f"{result.error.step.replace('_', ' ')}: {result.error.message}")
        return AgentVisit(folder, result)


class Trajectory:
    """What an agent did, as the evidence in a folder shows it.

    Where evidence is missing, or may be incomplete, `EvidenceMissing` is raised, and the test is
    inconclusive: what a log does not show may have happened all the same. The marker ``mcpeval_assert`` can
    tell what even an incomplete log proves.
    """

    def __init__(self, folder: Callable[[], CaseFolder]) -> None:
        self._folder = folder

    @property
    def _captured(self) -> Captured:
        return Captured(self._folder(), DEFAULT_MAX_DOM_BYTES)

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

    def folder() -> CaseFolder:
        captures = recorder_of(item).captures
        if not captures:
            message = "mcpeval_trajectory: the test has visited no agent yet; use mcpeval_capture first"
            pytest.fail(message, pytrace=False)
        return captures[-1]

    return Trajectory(folder)


@contextmanager
def leased_page(runtime: Runtime) -> Iterator[Page]:
    """A page of a browser of its own, on a slot of the pool; both end with the block.

    Not the browser of the driver: that one lives on another thread.

    Raises:
        BrowserError: There is no browser, it does not start, or no slot is free.
    """
    from pytest_mcpeval.browser.playwright_browser import PlaywrightBrowser
    from pytest_mcpeval.browser.slots import SlotPool

    options = runtime.settings.run.driver
    browser = PlaywrightBrowser(options)
    with SlotPool(options.pool_size, options.lock_directory).lease():
        try:
            with browser.fresh_page() as control:
                yield control.page
        finally:
            browser.close()


def driver_of(runtime: Runtime) -> Driver:
    """The driver of this process, the same that cases of manifests use.

    Raises:
        BrowserError: It cannot be used.
    """
    from pytest_mcpeval.browser.making import make_driver

    options = runtime.settings.run.driver
    return runtime.target(("agent", "playwright"), lambda: make_driver("playwright", options))


def _actions(given: Sequence[Action]) -> tuple[PageAction, ...]:
    return tuple(map(_action, given))


def _given(part: PageAction | ResponseReady) -> dict[str, Any]:
    return {name: value for name, value in vars(part).items() if value is not None}


def _check(arguments: Mapping[str, Any]) -> None:
    """Hold the arguments of a visit to what manifests are held to."""
    from pydantic import ValidationError

    from pytest_mcpeval.kinds.agent.schema import VisitModel

    try:
        VisitModel.model_validate(arguments)
    except ValidationError as error:
        found = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)]
        raise ValueError(f"mcpeval_capture: {'; '.join(found)}") from None


def _action(given: Action) -> PageAction:
    if isinstance(given, PageAction):
        return given
    unknown = given.keys() - {"action", "selector", "value"}
    if unknown or given.get("action") not in get_args(ActionName) or "selector" not in given:
        raise ValueError(
            f"expected an action such as {{'action': 'click', 'selector': '#open'}}, found {dict(given)!r}"
        )
    return PageAction(**given)  # type: ignore[arg-type]


def _ready(given: Ready | None) -> ResponseReady | None:
    if given is None or isinstance(given, ResponseReady):
        return given
    return ResponseReady(selector=given) if isinstance(given, str) else ResponseReady(**given)


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
