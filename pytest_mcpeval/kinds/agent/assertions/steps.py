"""The assertions on routing and on the number of steps."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_mcpeval.kinds.agent.assertions.verdicts import Judged, bounded, decided, inconclusive
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome, Evidence, Reason
from pytest_mcpeval.kinds.agent.schema import AgentCase
from pytest_mcpeval.loading.messages import counted

SHOWN_SPANS = 50


def must_route_to(case: AgentCase, captured: Captured) -> Iterator[AssertionOutcome]:
    """The agent was entered at least once."""
    wanted = case.assertions.must_route_to
    if wanted is None:
        return
    judged = Judged("must_route_to", wanted, wanted)
    decisions = captured.routing_decisions
    if isinstance(decisions, Reason):
        yield inconclusive(judged, decisions)
        return
    found = [decision for decision in decisions if decision.target_agent == wanted]
    observed = [decision.target_agent for decision in decisions]
    spans = ", ".join(decision.span_id for decision in found[:SHOWN_SPANS])
    detail = f"span {spans}" if found else f"none of {counted(len(decisions), 'decision')}"
    path = captured.folder.relative(captured.folder.routing_decisions)
    message = f"{wanted} was entered" if found else f"{wanted} was not entered"
    yield decided(judged, bool(found), message, observed, Evidence(path, detail))


def max_steps(case: AgentCase, captured: Captured) -> Iterator[AssertionOutcome]:
    """No more steps than this: tools and agents right below the root of the trace or below an agent."""
    limit = case.assertions.max_steps
    if limit is None:
        return
    judged = Judged("max_steps", None, limit)
    count = captured.step_count
    if isinstance(count, Reason):
        yield inconclusive(judged, count)
        return
    path = captured.folder.relative(captured.folder.step_count)
    spans = ", ".join(count.step_span_ids[:SHOWN_SPANS]) or "none"
    message = f"{counted(count.total_steps, 'step')}, at most {limit} allowed"
    holds = count.total_steps <= limit
    evidence = Evidence(path, f"total_steps; spans {spans}")
    yield bounded(judged, holds, message, count.total_steps, evidence, captured.doubt("step_count.json"))
