"""Checks of the call itself: tool errors and latency."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_mcpeval.servers.response import Response

from .parameters import NoParameters, Number, Parameters, Text
from .registry import check_type
from .verdict import Verdict, failed, judged, passed, quoted


class IsError(Parameters):
    contains: Text | None = None


class MaxLatency(Parameters):
    ms: Annotated[Number, Field(gt=0)]


@check_type("is_error", IsError)
def is_error(parameters: IsError, response: Response) -> Verdict:
    """The tool reports an error; its text contains `contains` when given, in upper or lower case.

    A call that the server rejects with an error of the protocol is an error too, and its text the message.
    What the case asks must be valid all the same, unless it says `expect_rejection: true`.
    What breaks the protocol, such as a page of HTML, an empty body or an HTTP status alone, is no answer.
    """
    if not response.is_error:
        return failed(f"no tool error: {quoted(response.text)}")
    wanted = parameters.contains
    if wanted is None or wanted.lower() in response.text.lower():
        return passed(f"tool error as expected: {quoted(response.text)}")
    return failed(f"tool error without {quoted(wanted)}: {quoted(response.text)}")


@check_type("not_error", NoParameters)
def not_error(parameters: NoParameters, response: Response) -> Verdict:
    """The tool reports no error."""
    if response.is_error:
        return failed(f"tool error: {quoted(response.text)}")
    return passed("no tool error")


@check_type("max_latency_ms", MaxLatency, timed=True)
def max_latency_ms(parameters: MaxLatency, response: Response) -> Verdict:
    """The answer came within `ms` milliseconds."""
    latency = response.latency_ms
    fast = latency <= parameters.ms
    message = f"latency {latency:.0f} ms {'≤' if fast else '>'} {parameters.ms} ms"
    return judged(fast, message, {"latencyMs": round(latency, 3)})
