"""Spans → canonical logs. The same rules for every trace backend; pure, but for the writing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent.evidence import (
    Generation,
    RoutingDecision,
    ToolCall,
    span_ids,
    write_rows,
    write_step_count,
)
from pytest_mcpeval.kinds.agent.observability.spans import Span, iso_time

Key = tuple[str, str]

BEHIND_MODELS = ("tool_calls.jsonl", "routing_decisions.jsonl", "step_count.json")
"""Logs of what is not seen by tracing the calls of models."""

LOGS = (*BEHIND_MODELS, "generations.jsonl")


@dataclass(frozen=True)
class Logs:
    """What the canonical logs of a case hold, each in the order in which things began."""

    tool_calls: tuple[ToolCall, ...]
    routing_decisions: tuple[RoutingDecision, ...]
    step_span_ids: tuple[str, ...]
    generations: tuple[Generation, ...]


def logs_of(spans: Iterable[Span]) -> Logs:
    """The canonical logs of all spans of a case; a span that was sent twice counts once.

    TOOL spans are tool calls. AGENT spans are routing decisions, from the nearest AGENT above them. A step
    is an AGENT or TOOL span that is at the top of its trace, or right below the top or an AGENT.
    """
    by_key = unique(spans)
    ordered = sorted(by_key.values(), key=lambda span: (span.started, span.span_id))
    return Logs(
        tool_calls=tuple(_tool_call(span) for span in ordered if span.kind == "tool"),
        routing_decisions=tuple(_decision(span, by_key) for span in ordered if span.kind == "agent"),
        step_span_ids=tuple(span.span_id for span in ordered if _is_step(span, by_key)),
        generations=tuple(_generation(span) for span in ordered if span.kind == "generation"),
    )


def unique(spans: Iterable[Span]) -> dict[Key, Span]:
    """Spans by their keys."""
    found: dict[Key, Span] = {}
    for span in spans:
        found.setdefault(span.key, span)
    return found


def tells_anything(spans: Iterable[Span]) -> bool:
    """Whether any span is one of a tool, an agent or a model.

    Traces without such a span mean that the agent is not instrumented; they do not show what it did not do.
    """
    return any(span.kind != "other" for span in spans)


def shows_more_than_models(spans: Iterable[Span]) -> bool:
    """Return whether any span belongs to a tool or an agent.

    Spans of an instrumented model client alone do not show what else the agent did.
    """
    return any(span.kind in ("tool", "agent") for span in spans)


def is_complete(spans: Collection[Span]) -> bool:
    """Whether every trace has ended at its top, no span lacks its parent, and the agent is among them.

    Ends are exported last, and what a page requests besides may be traced before the agent's own work.
    """
    topped = {span.trace_id for span in spans if span.parent_id is None and span.ended is not None}
    return tells_anything(spans) and not _orphans(spans) and topped == {span.trace_id for span in spans}


def ends_below_remote_parents(spans: Collection[Span]) -> bool:
    """Whether all that is known has ended, and spans at the top have parents that are not here.

    They may still come, or be kept elsewhere: then no more will.
    """
    ended = all(span.ended is not None for span in spans)
    return tells_anything(spans) and ended and bool(_orphans(spans))


def _orphans(spans: Collection[Span]) -> list[Span]:
    keys = {span.key for span in spans}
    return [span for span in spans if span.parent_key is not None and span.parent_key not in keys]


def _tool_call(span: Span) -> ToolCall:
    return ToolCall(
        tool_name=span.name,
        span_id=span.span_id,
        arguments=None if span.arguments is None else dict(span.arguments),
        result=span.result,
        timestamp=iso_time(span.started),
    )


def _decision(span: Span, by_key: Mapping[Key, Span]) -> RoutingDecision:
    return RoutingDecision(
        target_agent=span.name,
        span_id=span.span_id,
        from_agent=_agent_above(span, by_key),
        reason=span.reason,
        timestamp=iso_time(span.started),
    )


def _agent_above(span: Span, by_key: Mapping[Key, Span]) -> str | None:
    seen = {span.key}
    above = _parent(span, by_key)
    while above is not None and above.key not in seen:
        if above.kind == "agent":
            return above.name
        seen.add(above.key)
        above = _parent(above, by_key)
    return None


def _parent(span: Span, by_key: Mapping[Key, Span]) -> Span | None:
    return None if span.parent_key is None else by_key.get(span.parent_key)


def _is_step(span: Span, by_key: Mapping[Key, Span]) -> bool:
    if span.kind not in ("agent", "tool"):
        return False
    parent = _parent(span, by_key)
    return parent is None or parent.kind == "agent" or _parent(parent, by_key) is None


def _generation(span: Span) -> Generation:
    return Generation(
        span_id=span.span_id,
        **vars(span.usage),
        started_at=iso_time(span.started),
        ended_at=None if span.ended is None else iso_time(span.ended),
    )


def tells_of_any(folder: CaseFolder, name: str) -> bool:
    """Whether a log of a case is there, and names a span."""
    return bool(span_ids(folder.observability / name))


def write_logs(logs: Logs, folder: CaseFolder, kept: Collection[str] = ()) -> tuple[str, ...]:
    """Write the logs over those from the agent's page, all but those that are kept; returns their names.

    Raises:
        OSError: One cannot be written.
    """
    written = tuple(name for name in LOGS if name not in kept)
    for name in written:
        path = folder.observability / name
        if path == folder.step_count:
            write_step_count(folder, logs.step_span_ids)
        else:
            write_rows(path, getattr(logs, path.stem))
    return written
