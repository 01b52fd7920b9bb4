"""What an agent did, as figures and as a list in time: from the canonical logs, whatever they hold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.kinds.agent.assertions.generations import latency_ms, total_cost_usd, total_tokens
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.evidence import (
    EvidenceError,
    Generation,
    RoutingDecision,
    StepCount,
    ToolCall,
    moment,
)
from pytest_mcpeval.kinds.agent.outcomes import Reason

SHOWN_EVENTS = 200


def measured(captured: Captured) -> dict[str, Any]:
    """Tools called and agents entered, in order, the steps and tokens; None for what no log tells."""
    calls, routes = captured.tool_calls, captured.routing_decisions
    steps, rows = captured.step_count, captured.generations
    tokens = None if isinstance(rows, Reason) else total_tokens(rows)
    return {
        "tool_calls": None if isinstance(calls, Reason) else [call.tool_name for call in calls],
        "routing": None if isinstance(routes, Reason) else [route.target_agent for route in routes],
        "steps": steps.total_steps if isinstance(steps, StepCount) else None,
        "total_tokens": None if tokens is None else round(tokens.value),
    }


def measured_run(captured: Captured) -> dict[str, Any]:
    """Cost and time of the model calls, which differ from run to run; None for what no log tells."""
    rows = captured.generations
    if isinstance(rows, Reason):
        return {"total_cost_usd": None, "latency_ms": None}
    cost = total_cost_usd(rows)
    return {"total_cost_usd": None if cost is None else round(cost.value, 9), "latency_ms": _latency(rows)}


def _latency(rows: Sequence[Generation]) -> float | None:
    try:
        found = latency_ms(rows)
    except EvidenceError:
        return None
    return None if found is None else round(found.value, 3)


def timeline(captured: Captured) -> list[list[str]]:
    """Rows of (time, what, with what, result): agents entered and tools called, by time where it is known."""
    calls, routes = captured.tool_calls, captured.routing_decisions
    events: list[tuple[str, list[str]]] = []
    if not isinstance(routes, Reason):
        events += [(route.timestamp or "", _route_row(route)) for route in routes]
    if not isinstance(calls, Reason):
        events += [(call.timestamp or "", _call_row(call)) for call in calls]
    # Stable: without times, agents come first and everything keeps the order of its log.
    with suppress(EvidenceError):
        moments = {time: moment(time) for time, _ in events if time}
        return [row for _, row in sorted(events, key=lambda event: moments.get(event[0], 0))[:SHOWN_EVENTS]]
    return [row for _, row in sorted(events, key=lambda event: event[0])[:SHOWN_EVENTS]]


def _route_row(route: RoutingDecision) -> list[str]:
    origin = f"from {route.from_agent}" if route.from_agent else ""
    return [route.timestamp or "", f"agent {route.target_agent}", origin, route.reason or ""]


def _call_row(call: ToolCall) -> list[str]:
    arguments = "" if call.arguments is None else to_json(call.arguments)
    return [call.timestamp or "", f"tool {call.tool_name}", arguments, call.result or ""]
