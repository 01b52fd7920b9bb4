"""Checks of the call itself: tool errors and latency."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from pytest_mcpeval.servers.response import Response

from .parameters import NoParameters, Number, Parameters, Text
from .registry import ParsedCheck, check_type
from .verdict import Verdict, failed, judged, passed, quoted


class IsError(Parameters):
    contains: Text | None = None


class MaxLatency(Parameters):
    ms: Annotated[Number, Field(gt=0)]


@check_type("is_error", IsError)
def is_error(parameters: IsError, response: Response) -> Verdict:
    """The tool reports an error; its text contains `contains` when given, in upper or lower case.

    A call that the server rejects with an error of the protocol, such as one of a tool or resource that does
    not exist, is an error too: the text is then the message.
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


@check_type("max_latency_ms", MaxLatency)
def max_latency_ms(parameters: MaxLatency, response: Response) -> Verdict:
    """The answer came within `ms` milliseconds."""
    latency = response.latency_ms
    fast = latency <= parameters.ms
    message = f"latency {latency:.0f} ms {'≤' if fast else '>'} {parameters.ms} ms"
    return judged(fast, message, {"latencyMs": round(latency, 3)})


def allows_error(checks: Iterable[ParsedCheck]) -> bool:
    """Whether some check expects a tool error: ``is_error``, or a negated ``not_error``, at any depth."""
    return any(_allows(check, wanted=True) for check in checks)


def _allows(check: ParsedCheck, wanted: bool) -> bool:
    if check.name == "is_error":
        return wanted
    if check.name == "not_error":
        return not wanted
    inner = wanted if check.name != "not" else not wanted
    return any(_allows(child, inner) for child in check.children)
