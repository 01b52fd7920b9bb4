"""The report text about a scenario that did not pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.sample import MARKS, Sample
from pytest_mcpeval.kinds.session.spec import SessionSpec, SessionSuite
from pytest_mcpeval.text.visible import clipped, indented, visible

SHOWN_CALLS = 30
SHOWN_CHARACTERS = 1_200


def explain(suite: SessionSuite, case: Case[SessionSpec], sample: Sample) -> str:
    """Checks, the calls that were made, what the agent said, and the place in the file."""
    return visible("\n".join(_lines(suite, case, sample)))


def _lines(suite: SessionSuite, case: Case[SessionSpec], sample: Sample) -> Iterator[str]:
    yield sample.message
    name = sample.traits.get("name")
    if name:
        yield f"scenario: {clipped(name, 200)}"
    if sample.run.get("critic_output"):
        yield f"it is kept in {sample.run['critic_output']}: correct it, or the critic, and go on with"
        yield f"  --mcpeval-resume --mcpeval-name {sample.run['evaluation']}"
    for check in sample.checks:
        step = f"step {check.step}, " if check.step else ""
        yield f"  {MARKS[check.status]} {step}{check.name}: {clipped(check.message, SHOWN_CHARACTERS)}"
    calls = sample.measured.get("transcript", [])
    if calls:
        yield "transcript:"
    yield from (f"  {_call(call)}" for call in calls[:SHOWN_CALLS])
    if len(calls) > SHOWN_CALLS:
        yield f"  … and {len(calls) - SHOWN_CALLS} more"
    if sample.run.get("answer"):
        yield "the agent said:"
        yield indented(clipped(sample.run["answer"], SHOWN_CHARACTERS))
    if case.keys:
        yield from suite.place_of(case)


def _call(call: Mapping[str, Any]) -> str:
    shape = call["result_shape"] or call.get("blocked_tool") or "no answer recorded"
    why = f" ({call['justification']})" if call["justification"] else ""
    return f"{call['id']} {call['tool']} {call['args_summary']} → {shape}{why}"
