"""LangFuse's observations → spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.kinds.agent.observability.genai import cost_of, count_of, object_of, text_of, total_or_sum
from pytest_mcpeval.kinds.agent.observability.spans import (
    MalformedSpanError,
    Span,
    SpanKind,
    Usage,
    nanoseconds_of,
    parsed_time,
)

KINDS: Mapping[str, SpanKind] = {
    "TOOL": "tool",
    "AGENT": "agent",
    "GENERATION": "generation",
    "EMBEDDING": "generation",
}
"""``type`` of an observation → kind."""


def span_of_observation(row: Mapping[str, Any]) -> Span:
    """An observation as LangFuse's API gives it.

    Raises:
        MalformedSpanError: An id, a time or a number is missing or none.
    """
    kind = KINDS.get(str(row.get("type")).upper(), "other")
    name = text_of(row.get("name")) or ""
    if not name and kind in ("tool", "agent"):
        raise MalformedSpanError(f"an observation of a {kind} has no name")
    ended = row.get("endTime")
    return Span(
        trace_id=_id(row, "traceId"),
        span_id=_id(row, "id"),
        parent_id=_parent(row),
        kind=kind,
        name=name.removeprefix("execute_tool ").removeprefix("invoke_agent "),
        started=nanoseconds_of(parsed_time(row.get("startTime"))),
        ended=None if ended is None else nanoseconds_of(parsed_time(ended)),
        arguments=object_of(row.get("input")) if kind == "tool" else None,
        result=text_of(row.get("output")) if kind == "tool" else None,
        usage=_usage(row) if kind == "generation" else Usage(),
    )


def _id(row: Mapping[str, Any], name: str) -> str:
    found = row.get(name)
    if not isinstance(found, str) or not found:
        raise MalformedSpanError(f"expected an id in `{name}`")
    return found


def _parent(row: Mapping[str, Any]) -> str | None:
    # The SDK marks the top of an application, whose parent may be the span of another system.
    if row.get("isRootObservation") is True:
        return None
    return _id(row, "parentObservationId") if row.get("parentObservationId") else None


def _usage(row: Mapping[str, Any]) -> Usage:
    used = _details(row, "usageDetails") or _details(row, "usage")
    paid = _details(row, "costDetails")
    total = paid.get("total")
    # Without prices of the model, servers give a total of 0 and no details: that is no price.
    if total is None and row.get("totalCost"):
        total = row["totalCost"]
    entered, left = _count(used.get("input")), _count(used.get("output"))
    paid_in, paid_out = _cost(paid.get("input")), _cost(paid.get("output"))
    return Usage(
        model=text_of(row.get("model")),
        input_tokens=entered,
        output_tokens=left,
        total_tokens=total_or_sum(_count(used.get("total")), entered, left),
        input_cost_usd=paid_in,
        output_cost_usd=paid_out,
        total_cost_usd=total_or_sum(_cost(total), paid_in, paid_out),
    )


def _details(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = row.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise MalformedSpanError(f"expected a mapping in `{name}`")
    return found


def _count(found: Any) -> int | None:
    return None if found is None else count_of(found)


def _cost(found: Any) -> float | None:
    return None if found is None else cost_of(found)
