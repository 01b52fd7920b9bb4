"""One case: driven and its evidence gathered, or found where it was captured before; then scored."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder
from pytest_mcpeval.browser.directive import Driver
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.captures import UNFINISHED, Capture, capture_of, read_capture, write_capture
from pytest_mcpeval.kinds.agent.directives import directive_of, placeholders
from pytest_mcpeval.kinds.agent.folders import captured_folder
from pytest_mcpeval.kinds.agent.load import AgentSuite
from pytest_mcpeval.kinds.agent.preparing import Places, learn
from pytest_mcpeval.kinds.agent.schema import AgentCase, TraceBackend
from pytest_mcpeval.kinds.agent.scoring import CaseScore, score_case
from pytest_mcpeval.kinds.agent.urls import filled, with_origin
from pytest_mcpeval.text.redact import redactor


@dataclass(frozen=True)
class Visit:
    """A case that was captured, now or before; ``capture`` is None when that did not finish."""

    folder: CaseFolder
    capture: Capture | None


def drive(
    suite: AgentSuite, case: AgentCase, driver: Driver, places: Places, run: RunFolder | None = None
) -> Visit:
    """Visit the page, then gather what the page and the trace backend tell.

    ``run`` is a folder to capture into that is not the one of the suite's run.

    Raises:
        OSError: The artifacts cannot be written.
    """
    directive = directive_of(
        suite, case, run, base_url=places.urls.get("url"), storage_state=places.storage_state
    )
    if directive.folder.path.is_dir():
        # A rerun of the same case: what an earlier attempt left is no evidence of this one.
        shutil.rmtree(directive.folder.path)
    directive.folder.create()
    learn(suite.manifest)
    capture = capture_of(directive, driver.capture(directive))
    if capture.error is None:
        capture = _with_evidence(suite, case, directive.folder, capture, places)
    write_capture(directive.folder, capture)
    return Visit(directive.folder, capture)


def _with_evidence(
    suite: AgentSuite, case: AgentCase, folder: CaseFolder, capture: Capture, places: Places
) -> Capture:
    """Read the page first; if a trace backend has traces of the case, they replace the logs from the page."""
    from pytest_mcpeval.kinds.agent.observability.fetching import ObservabilityError, TraceQuery, fetch
    from pytest_mcpeval.kinds.agent.observability.introspection import extract

    observability = suite.manifest.observability
    notes = [*capture.notes]
    if observability.ui_introspection is not None:
        notes += extract(observability.ui_introspection, folder)
    if observability.backend is None:
        return replace(capture, notes=tuple(notes))
    session = filled(observability.backend.session_id, placeholders(RunFolder(folder.path.parent), case))
    query = TraceQuery(session_id=session, since=capture.started, until=None)
    try:
        notes += fetch(backend_at(observability.backend, places), query, folder).notes
    except ObservabilityError as error:
        return replace(capture, notes=tuple(notes), fetch_error=str(error))
    return replace(capture, notes=tuple(notes))


def backend_at(backend: TraceBackend, places: Places) -> TraceBackend:
    """The backend where it really is."""
    if backend.key not in places.urls:
        return backend
    url = with_origin(backend.url, places.urls[backend.key])
    return backend.model_copy(update={backend.url_key: url})


def revisit(suite: AgentSuite, case: AgentCase) -> Visit:
    """A case as it was captured before.

    Raises:
        TargetError: It was not, or with another input than it has now.
    """
    folder = captured_folder(suite, case.id)
    try:
        capture = read_capture(folder)
    except ValueError as error:
        raise TargetError(str(error)) from None
    if capture is not None and redactor.text(capture.input) != redactor.text(case.input):
        raise TargetError(
            f"the case {case.id!r} was captured with another input than it has now, so what was captured "
            "says nothing about it: run it again without --mcpeval-score-only"
        )
    return Visit(folder, capture)


def problem_of(capture: Capture | None) -> str | None:
    """Return why a captured case cannot be judged; None if its capture is complete."""
    if capture is None:
        return UNFINISHED
    fetching = None if capture.fetch_error is None else f"observability: {capture.fetch_error}"
    return capture.error or fetching


def score(suite: AgentSuite, case: AgentCase, visit: Visit) -> CaseScore:
    """The outcomes of a case's assertions, or why it could not be captured."""
    manifest, capture = suite.manifest, visit.capture
    if capture is None or capture.error is not None:
        error = UNFINISHED if capture is None else capture.error
        return CaseScore(agent_name=manifest.name, case_id=case.id, outcomes=(), error=error)
    captured = Captured(visit.folder, manifest.interaction.max_dom_bytes)
    found = _scored(suite, case, captured)
    fetch_error = capture.fetch_error
    if fetch_error is None:
        return found
    return found.model_copy(update={"error": f"observability: {fetch_error}"})


def _scored(suite: AgentSuite, case: AgentCase, captured: Captured) -> CaseScore:
    """The outcomes. An assertion may hold of a value as it is, or of what artifacts have in its place."""
    manifest, kept = suite.manifest, case.assertions
    typed = case.model_copy(update={"input": redactor.text(case.input)})
    found = score_case(manifest.name, typed, captured, manifest.observability)
    without = kept.model_copy(
        update={
            "final_response_contains": redactor.data(kept.final_response_contains),
            "must_call_with_args": [
                call.model_copy(update={"args": redactor.data(call.args)})
                for call in kept.must_call_with_args
            ],
        }
    )
    if without == kept:
        return found
    masked = typed.model_copy(update={"assertions": without})
    other = score_case(manifest.name, masked, captured, manifest.observability)
    better = (b if b.status == "passed" else a for a, b in zip(found.outcomes, other.outcomes, strict=True))
    return found.model_copy(update={"outcomes": tuple(better)})
