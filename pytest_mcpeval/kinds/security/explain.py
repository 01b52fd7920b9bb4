"""The report text about a wrong verdict: which rule fired on which characters of the description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.security.detectors.texts import text_at
from pytest_mcpeval.kinds.security.spec import SecuritySpec, SecuritySuite
from pytest_mcpeval.text.visible import clipped, indented, revealed, visible

SHOWN_CHARACTERS = 4_000
SHOWN_DETECTIONS = 20
AROUND = 40
"""Number of characters shown on either side of a span."""


def explain(suite: SecuritySuite, case: Case[SecuritySpec], sample: Sample) -> str:
    """Return verdict, description, detections and the place in the file, safe for a terminal."""
    return visible("\n".join([sample.message, *_lines(suite, case, sample)]))


def _lines(suite: SecuritySuite, case: Case[SecuritySpec], sample: Sample) -> Iterator[str]:
    entry = case.spec.entry
    yield f"detector: {case.spec.detector}; entry: {entry.id} at {suite.key}:{case.line}"
    yield "description:"
    yield indented(clipped(revealed(entry.description), SHOWN_CHARACTERS), "  | ")
    if entry.notes:
        yield f"notes: {entry.notes}"
    yield from detection_lines(entry.seen, sample.measured)
    if sample.run.get("stderr"):
        yield "the detector's stderr ends with:"
        yield indented(sample.run["stderr"])


def detection_lines(seen: Mapping[str, Any], measured: Mapping[str, Any]) -> Iterator[str]:
    """Yield the detections in an entry, rule by rule, with the characters they point at."""
    detections = measured.get("detections", ())
    if measured.get("flagged") is not None and not detections:
        yield "no rule fired" if not measured["flagged"] else "the detector gives no reason"
    for detection in detections[:SHOWN_DETECTIONS]:
        severity = f" ({detection['severity']})" if detection.get("severity") else ""
        message = f": {clipped(revealed(detection['message']), 300)}" if detection.get("message") else ""
        yield f"✗ {revealed(detection['rule'])}{severity}{message}"
        if excerpt := _excerpt(seen, detection):
            yield indented(excerpt, "    ")
    left_out = measured.get("detections_left_out", 0)
    if (more := len(detections) + left_out - SHOWN_DETECTIONS) > 0:
        kept = f" (the last {left_out} are not kept in reports)" if left_out else ""
        yield f"and {more} more{kept}"
    if measured.get("score") is not None:
        yield f"score: {measured['score']:.4g}"


def _excerpt(seen: Mapping[str, Any], detection: Mapping[str, Any]) -> str:
    """``description, characters 3–9: …before⟦these⟧after…``."""
    span, field = detection.get("span"), detection.get("field", "description")
    text = text_at(seen, field)
    if span is None or text is None or span[1] > len(text):
        return ""
    start, end = span
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    marked = f"{before}⟦{clipped(text[start:end], 300)}⟧{after}"
    words = " ".join(revealed(marked).split())
    left, right = "…" if start > AROUND else "", "…" if end + AROUND < len(text) else ""
    return f"{field}, characters {start}–{end}: {left}{words}{right}"
