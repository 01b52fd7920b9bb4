"""The five assertions on tool calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

from pytest_mcpeval.kinds.agent.assertions.verdicts import Judged, bounded, decided, inconclusive
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.evidence import ToolCall
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome, Evidence, Reason
from pytest_mcpeval.kinds.agent.schema import AgentCase, CallSpec
from pytest_mcpeval.loading.messages import counted, shown

SHOWN_CALLS = 50

Judge = Callable[[Judged, Sequence[ToolCall], Captured], AssertionOutcome]


def _over_calls(
    listed: Callable[[AgentCase], Iterable[tuple[Judged, Judge]]],
) -> Callable[[AgentCase, Captured], Iterator[AssertionOutcome]]:
    """An assertion that reads the log of tool calls: inconclusive without it."""

    @wraps(listed)
    def evaluate(case: AgentCase, captured: Captured) -> Iterator[AssertionOutcome]:
        for judged, judge in listed(case):
            calls = captured.tool_calls
            yield inconclusive(judged, calls) if isinstance(calls, Reason) else judge(judged, calls, captured)

    return evaluate


@_over_calls
def must_call(case: AgentCase) -> Iterator[tuple[Judged, Judge]]:
    """Each tool was called at least once."""
    for tool in dict.fromkeys(case.assertions.must_call):
        yield Judged("must_call", tool, tool), _was_called


@_over_calls
def must_not_call(case: AgentCase) -> Iterator[tuple[Judged, Judge]]:
    """None of the tools was called."""
    for tool in dict.fromkeys(case.assertions.must_not_call):
        yield Judged("must_not_call", tool, tool), _was_not_called


@_over_calls
def must_call_exactly(case: AgentCase) -> Iterator[tuple[Judged, Judge]]:
    """Each tool was called exactly so often."""
    for tool, count in case.assertions.must_call_exactly.items():
        yield Judged("must_call_exactly", tool, count), _was_called_so_often


@_over_calls
def must_call_with_args(case: AgentCase) -> Iterator[tuple[Judged, Judge]]:
    """Each tool was called with these arguments, so often or more."""
    for spec in case.assertions.must_call_with_args:
        expected = {"tool_name": spec.tool_name, "args": dict(spec.args), "min_count": spec.min_count}
        yield Judged("must_call_with_args", spec.tool_name, expected), _with_arguments(spec)


@_over_calls
def must_call_in_order(case: AgentCase) -> Iterator[tuple[Judged, Judge]]:
    """The tools were called in this order, whatever was called between them."""
    tools = case.assertions.must_call_in_order
    if tools:
        yield Judged("must_call_in_order", None, list(tools)), _came_in_order


def _was_called(judged: Judged, calls: Sequence[ToolCall], captured: Captured) -> AssertionOutcome:
    found = _of(judged.target, calls)
    message = f"{judged.target} was called {_times(found)}" if found else f"{judged.target} was not called"
    return decided(judged, bool(found), message, _names(calls), _evidence(captured, found, calls))


def _was_not_called(judged: Judged, calls: Sequence[ToolCall], captured: Captured) -> AssertionOutcome:
    found = _of(judged.target, calls)
    message = f"{judged.target} was called {_times(found)}" if found else f"{judged.target} was not called"
    evidence, doubt = _evidence(captured, found, calls), captured.doubt("tool_calls.jsonl")
    return bounded(judged, not found, message, _names(calls), evidence, doubt)


def _was_called_so_often(judged: Judged, calls: Sequence[ToolCall], captured: Captured) -> AssertionOutcome:
    found = _of(judged.target, calls)
    message = f"{judged.target} was called {_times(found)}, wanted exactly {judged.expected}"
    holds = len(found) == judged.expected
    evidence, doubt = _evidence(captured, found, calls), captured.doubt("tool_calls.jsonl")
    return bounded(judged, holds, message, len(found), evidence, doubt)


def _with_arguments(spec: CallSpec) -> Judge:
    def judge(judged: Judged, calls: Sequence[ToolCall], captured: Captured) -> AssertionOutcome:
        of_tool = _of(spec.tool_name, calls)
        found = [call for call in of_tool if is_subset(spec.args, call.arguments)]
        unknown = [call for call in of_tool if call.arguments is None and call not in found]
        if len(found) < spec.min_count <= len(found) + len(unknown):
            message = (
                f"the arguments of {counted(len(unknown), 'call')} of {spec.tool_name} were not recorded"
            )
            path = captured.folder.relative(captured.folder.tool_calls)
            return inconclusive(judged, Reason("ArgumentsNotCaptured", message, path))
        message = (
            f"{len(found)} of {counted(len(of_tool), 'call')} of {spec.tool_name} had the arguments, "
            f"wanted at least {spec.min_count}"
        )
        observed = [call.arguments for call in of_tool[:SHOWN_CALLS]]
        holds = len(found) >= spec.min_count
        return decided(judged, holds, message, observed, _evidence(captured, found, calls))

    return judge


def _came_in_order(judged: Judged, calls: Sequence[ToolCall], captured: Captured) -> AssertionOutcome:
    wanted: Sequence[str] = judged.expected
    found = subsequence(wanted, calls)
    if len(found) == len(wanted):
        message = f"the calls came in the order {' → '.join(wanted)}"
    else:
        after = f" after {' → '.join(wanted[: len(found)])}" if found else ""
        message = f"{shown(wanted[len(found)])} was not called{after}"
    holds = len(found) == len(wanted)
    return decided(judged, holds, message, _names(calls), _evidence(captured, found, calls))


def subsequence(wanted: Sequence[str], calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The earliest calls of the tools in their order; fewer than wanted when the order ends early."""
    found: list[ToolCall] = []
    for call in calls:
        if len(found) < len(wanted) and call.tool_name == wanted[len(found)]:
            found.append(call)
    return found


def is_subset(wanted: Any, found: Any) -> bool:
    """Whether every key of nested mappings is there with its value; other values must be equal as JSON."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and is_subset(value, found[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(found, (list, tuple))
            and len(wanted) == len(found)
            and all(
                is_subset(one, other) and is_subset(other, one)
                for one, other in zip(wanted, found, strict=True)
            )
        )
    # In Python True is 1; in JSON it is not.
    return isinstance(wanted, bool) == isinstance(found, bool) and bool(wanted == found)


def _of(tool: str | None, calls: Sequence[ToolCall]) -> list[ToolCall]:
    return [call for call in calls if call.tool_name == tool]


def _times(calls: Sequence[ToolCall]) -> str:
    return counted(len(calls), "time")


def _names(calls: Sequence[ToolCall]) -> list[str]:
    return [call.tool_name for call in calls[:SHOWN_CALLS]]


def _evidence(captured: Captured, found: Sequence[ToolCall], calls: Sequence[ToolCall]) -> Evidence:
    path = captured.folder.relative(captured.folder.tool_calls)
    if not found:
        return Evidence(path, f"none of {counted(len(calls), 'call')}")
    spans = ", ".join(call.span_id for call in found[:SHOWN_CALLS])
    return Evidence(path, f"{counted(len(found), 'call')}: span {spans}")
