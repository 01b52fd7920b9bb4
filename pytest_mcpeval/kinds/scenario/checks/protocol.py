"""Checks of the call itself: tool errors and latency."""

from __future__ import annotations

from math import inf, nextafter
from typing import Annotated

from pydantic import Field

from pytest_mcpeval.servers.response import Response

from .claims import MOST, Claim, Combined, Fact, fact, opposite, text_has
from .parameters import NoParameters, Number, Parameters, SpecProblem, Text, at_most
from .registry import CheckSpecError, check_type
from .verdict import Verdict, failed, judged, passed, quoted


class IsError(Parameters):
    contains: Text | None = None


class MaxLatency(Parameters):
    ms: Annotated[
        Number,
        Field(gt=0),
        at_most(MOST, "no call takes that long, so every answer would pass; lower it"),
    ]


def _error(given: IsError) -> Claim:
    error = fact("tool error")
    return Combined("all_of", (error, text_has(given.contains))) if given.contains else error


def no_less_than_limit(latency: float, limit: float) -> str:
    """Return why a latency limit decides nothing: it is not below the time limit of the call."""
    return (
        f"{latency:g} ms is no less than the time limit of the call, {limit:g} ms, so every answer would "
        "pass; say less, or raise `timeout`"
    )


@check_type("is_error", IsError, claim=_error)
def is_error(parameters: IsError, response: Response) -> Verdict:
    """The tool reports an error; its text contains `contains` when given, in upper or lower case.

    A call that the server rejects with a protocol error is an error too; its text is the message. The call
    must still be valid, unless the case says `expect_rejection: true`. A response that violates the protocol,
    such as an HTML page, an empty body or only an HTTP status, is not an answer.
    """
    if not response.is_error:
        return failed(f"no tool error: {quoted(response.text)}")
    wanted = parameters.contains
    if wanted is None or wanted.lower() in response.text.lower():
        return passed(f"tool error as expected: {quoted(response.text)}")
    return failed(f"tool error without {quoted(wanted)}: {quoted(response.text)}")


@check_type("not_error", NoParameters, claim=lambda _: opposite(fact("tool error")))
def not_error(parameters: NoParameters, response: Response) -> Verdict:
    """The tool reports no error."""
    if response.is_error:
        return failed(f"tool error: {quoted(response.text)}")
    return passed("no tool error")


@check_type(
    "max_latency_ms",
    MaxLatency,
    timed=True,
    claim=lambda given: opposite(Fact("latency", "at least", nextafter(given.ms, inf))),
)
def max_latency_ms(parameters: MaxLatency, response: Response) -> Verdict:
    """The answer came within `ms` milliseconds."""
    limit = response.time_limit_ms
    if limit is not None and parameters.ms >= limit:
        raise CheckSpecError([SpecProblem((), no_less_than_limit(parameters.ms, limit))])
    latency = response.latency_ms
    fast = latency <= parameters.ms
    message = f"latency {latency:.0f} ms {'≤' if fast else '>'} {parameters.ms} ms"
    return judged(fast, message, {"latencyMs": round(latency, 3)})
