"""The assertions on tokens, costs and time, over all model calls of a case."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pytest_mcpeval.core.gate import SLACK
from pytest_mcpeval.kinds.agent.assertions.verdicts import Judged, bounded, inconclusive
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.evidence import EvidenceError, Generation, moment
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome, Evidence, Reason
from pytest_mcpeval.kinds.agent.schema import AgentCase
from pytest_mcpeval.loading.messages import counted

Measure = Callable[[Sequence[Generation]], "Measured | None"]
Words = Callable[[float], str]


class Measured(NamedTuple):
    """A total, and how many of the model calls it is over."""

    value: float
    rows: int


def max_total_tokens(case: AgentCase, captured: Captured) -> Iterator[AssertionOutcome]:
    """The model calls used no more tokens than this, all together."""
    limit = case.assertions.max_total_tokens
    if limit is not None:
        judged = Judged("max_total_tokens", None, limit)
        yield _bounded(judged, captured, total_tokens, "total_tokens", "{:,.0f} tokens".format)


def max_total_cost_usd(case: AgentCase, captured: Captured) -> Iterator[AssertionOutcome]:
    """The model calls cost no more than this, in US dollars, all together."""
    limit = case.assertions.max_total_cost_usd
    if limit is not None:
        judged = Judged("max_total_cost_usd", None, limit)
        yield _bounded(judged, captured, total_cost_usd, "total_cost_usd", dollars)


def max_latency_ms(case: AgentCase, captured: Captured) -> Iterator[AssertionOutcome]:
    """From the start of the first model call to the end of the last no more milliseconds went by."""
    limit = case.assertions.max_latency_ms
    if limit is not None:
        judged = Judged("max_latency_ms", None, limit)
        yield _bounded(judged, captured, latency_ms, "started_at and ended_at", milliseconds)


def total_tokens(rows: Sequence[Generation]) -> Measured | None:
    """The sum of tokens over the calls that report them; None when none does."""
    return _sum([row.total_tokens for row in rows if row.total_tokens is not None])


def total_cost_usd(rows: Sequence[Generation]) -> Measured | None:
    """The sum of costs over the calls that report them; None when none does."""
    return _sum([row.total_cost_usd for row in rows if row.total_cost_usd is not None])


def milliseconds(value: float) -> str:
    """A time for people, to the microsecond."""
    return f"{value:,.3f}".rstrip("0").rstrip(".") + " ms"


def dollars(value: float) -> str:
    """A cost for people, with as many digits as small ones need."""
    return f"{value:.12f}".rstrip("0").rstrip(".") + " US dollars"


def _sum(values: Sequence[float]) -> Measured | None:
    return Measured(math.fsum(values), len(values)) if values else None


def latency_ms(rows: Sequence[Generation]) -> Measured | None:
    """The time from the first start to the last end, so that calls side by side count once; None of nothing.

    A call with only one known time extends it, but is not counted in ``rows``.

    Raises:
        EvidenceError: A time is malformed, or a call ended before it started.
    """
    starts = {number: moment(row.started_at) for number, row in enumerate(rows) if row.started_at}
    ends = {number: moment(row.ended_at) for number, row in enumerate(rows) if row.ended_at}
    whole = starts.keys() & ends.keys()
    for number in sorted(whole):
        if ends[number] < starts[number]:
            raise EvidenceError(f"the call of span {rows[number].span_id} ended before it started")
    times = [*starts.values(), *ends.values()]
    return Measured((max(times) - min(times)) / 1000, len(whole)) if times else None


def _bounded(
    judged: Judged, captured: Captured, measure: Measure, field: str, words: Words
) -> AssertionOutcome:
    rows = captured.generations
    if isinstance(rows, Reason):
        return inconclusive(judged, rows)
    path = captured.folder.relative(captured.folder.generations)
    try:
        found = measure(rows)
    except EvidenceError as error:
        return inconclusive(judged, Reason("ObservabilityLogMalformed", f"generations.jsonl: {error}", path))
    if found is None:
        message = f"none of {counted(len(rows), 'model call')} reports {field}"
        return inconclusive(judged, Reason("GenerationFieldMissing", message, path))
    message = f"{words(found.value)}, at most {words(judged.expected)} allowed"
    holds = found.value <= judged.expected + SLACK
    if found.rows < len(rows):
        message += f" ({len(rows) - found.rows} of {counted(len(rows), 'model call')} did not report {field})"
        if holds:
            return inconclusive(judged, Reason("GenerationFieldMissing", message, path))
    detail = f"{field} of {counted(found.rows, 'model call')}"
    value = round(found.value, 9)
    return bounded(judged, holds, message, value, Evidence(path, detail), captured.doubt("generations.jsonl"))
