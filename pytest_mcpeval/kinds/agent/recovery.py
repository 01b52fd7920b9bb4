"""Steps to get missing evidence, by reason and by declared sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_mcpeval.kinds.agent.outcomes import Reason
from pytest_mcpeval.kinds.agent.schema import EvidenceKind, Observability

SCORE_AGAIN = "score what was captured again: pytest --mcpeval MANIFEST --mcpeval-score-only=RUN_DIR"
RUN_AGAIN = "run the case again: pytest --mcpeval MANIFEST::CASE"

TEST_AGAIN = "run the test again"
FROM_MANIFEST = "visit the agent as a case of a manifest does: mcpeval_capture.case(MANIFEST, CASE)"

FIELDS = {
    "tool_calls": "entry and tool_name (for arguments and results also arguments, result)",
    "routing_decisions": "entry and target_agent (also from_agent, reason)",
    "step_count": "entry",
}


def recovery(reason: Reason, observability: Observability) -> tuple[str, ...]:
    """The steps, numbered."""
    return _numbered(_steps(reason, observability))


def _steps(reason: Reason, observability: Observability) -> Iterator[str]:
    steps = {
        "DOMSnapshotMissing": _page_missing,
        "DOMSnapshotUnreadable": _page_missing,
        "DOMSnapshotTooLarge": _page_too_large,
        "ObservabilityLogMissing": _log_missing,
        "ObservabilityLogMalformed": _log_malformed,
        "ArgumentsNotCaptured": _arguments_missing,
        "GenerationFieldMissing": _field_missing,
        "EvidenceIncomplete": _evidence_incomplete,
    }[reason.kind]
    return steps(reason, observability)


def recovery_of_test(reason: Reason) -> tuple[str, ...]:
    """The steps for a test written in Python, numbered; its visit may have had a manifest, or none."""
    steps = [
        TEST_AGAIN if step in (SCORE_AGAIN, RUN_AGAIN) else step for step in _steps(reason, Observability())
    ]
    first = [FROM_MANIFEST] if reason.kind == "ObservabilityLogMissing" else []
    return _numbered((*first, *steps))


def _numbered(steps: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def _page_missing(reason: Reason, observability: Observability) -> Iterator[str]:
    yield f"check that the page is at {reason.expected_artifact_path} in the folder of the case"
    yield RUN_AGAIN


def _page_too_large(reason: Reason, observability: Observability) -> Iterator[str]:
    yield "collapse or hide what does not belong to the answer, by a click in interaction.preconditions"
    yield "or raise interaction.max_dom_bytes in the manifest"
    yield SCORE_AGAIN


def _log_malformed(reason: Reason, observability: Observability) -> Iterator[str]:
    yield f"correct or remove {reason.expected_artifact_path} in the folder of the case"
    yield "write it again: pytest-mcpeval fetch-observability MANIFEST --case CASE --case-dir DIR"
    yield SCORE_AGAIN


def _log_missing(reason: Reason, observability: Observability) -> Iterator[str]:
    kind = reason.expected_artifact_path.rpartition("/")[2].partition(".")[0]
    if kind == "generations":
        yield from _backend_steps(reason, observability)
        return
    ui = observability.ui_introspection
    if ui is not None and kind in ui.exposes:
        yield from _selector_steps(kind, has_selectors=getattr(ui.extract, kind) is not None)
    elif observability.backend is None:
        yield (
            f"declare a source of {kind}: observability.langfuse, observability.otel or "
            "observability.phoenix for a trace backend"
        )
        yield (
            f"or, if the agent's own page shows them, observability.ui_introspection with {kind} in "
            f"`exposes` and selectors in extract.{kind}: {FIELDS[kind]}"
        )
        yield RUN_AGAIN
    if observability.backend is not None:
        yield from _backend_steps(reason, observability)


def _selector_steps(kind: EvidenceKind | str, *, has_selectors: bool) -> Iterator[str]:
    where = f"observability.ui_introspection.extract.{kind}"
    if has_selectors:
        page = "trace/dom/step-002-after_submit.html"
        yield f"check the selectors in {where} against {page}: they found nothing"
        yield "add the action that opens the panel with them to observability.ui_introspection.reveal_actions"
    else:
        yield f"add selectors to the manifest, {where}: {FIELDS[kind]}; a description alone is not read"
    yield RUN_AGAIN


def _backend_steps(reason: Reason, observability: Observability) -> Iterator[str]:
    if observability.backend is None:
        yield (
            "declare a trace backend (observability.langfuse, .otel or .phoenix): pages do not show tokens, "
            "costs or times"
        )
        yield RUN_AGAIN
        return
    yield (
        "check that the agent's traces reach the backend, and carry the session id the manifest says "
        f"({observability.backend.session_id})"
    )
    yield "raise trace_wait_ms of the backend if they arrive late"
    yield "fetch them: pytest-mcpeval fetch-observability MANIFEST --case CASE --case-dir DIR"
    yield SCORE_AGAIN


def _arguments_missing(reason: Reason, observability: Observability) -> Iterator[str]:
    yield (
        "make the source record arguments: gen_ai.tool.call.arguments on the spans of tools, or "
        "extract.tool_calls.arguments for a page"
    )
    yield RUN_AGAIN


def _field_missing(reason: Reason, observability: Observability) -> Iterator[str]:
    yield "make the agent or its trace backend record the field (token usage, model prices, start and end)"
    yield "or remove the assertion"
    yield RUN_AGAIN


def _evidence_incomplete(reason: Reason, observability: Observability) -> Iterator[str]:
    yield "check that the agent exports spans of its tools and agents, all well-formed, before it ends"
    yield "raise trace_wait_ms of the backend if they arrive late"
    yield "fetch them: pytest-mcpeval fetch-observability MANIFEST --case CASE --case-dir DIR"
    yield SCORE_AGAIN
