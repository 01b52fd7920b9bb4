"""The eleven assertions on an agent: one function for each, from captured evidence to outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_mcpeval.kinds.agent.assertions.calls import (
    must_call,
    must_call_exactly,
    must_call_in_order,
    must_call_with_args,
    must_not_call,
)
from pytest_mcpeval.kinds.agent.assertions.generations import (
    max_latency_ms,
    max_total_cost_usd,
    max_total_tokens,
)
from pytest_mcpeval.kinds.agent.assertions.response import final_response_contains
from pytest_mcpeval.kinds.agent.assertions.steps import max_steps, must_route_to
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome
from pytest_mcpeval.kinds.agent.schema import AgentCase

Evaluate = Callable[[AgentCase, Captured], Iterator[AssertionOutcome]]

ASSERTIONS: Mapping[str, Evaluate] = {
    "final_response_contains": final_response_contains,
    "must_call": must_call,
    "must_not_call": must_not_call,
    "must_call_exactly": must_call_exactly,
    "must_call_with_args": must_call_with_args,
    "must_call_in_order": must_call_in_order,
    "must_route_to": must_route_to,
    "max_steps": max_steps,
    "max_total_tokens": max_total_tokens,
    "max_total_cost_usd": max_total_cost_usd,
    "max_latency_ms": max_latency_ms,
}
"""In the order in which outcomes are listed."""
