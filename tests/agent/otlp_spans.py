"""Traces as exporters send them, built by hand for tests."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_800_000_000_000_000_000
"""2027-01-15T08:00:00Z in nanoseconds."""

Span = dict[str, Any]


def value(given: Any) -> dict[str, Any]:
    """A value of OTLP; integers as strings, as protobuf's JSON has them."""
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given}
    if isinstance(given, list):
        return {"arrayValue": {"values": [value(entry) for entry in given]}}
    if isinstance(given, Mapping):
        return {"kvlistValue": {"values": attributes(given)}}
    return {"stringValue": given}


def attributes(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes of OTLP."""
    return [{"key": key, "value": value(one)} for key, one in given.items()]


def span(
    number: int, parent: int | None = None, *, name: str = "span", session: str = "s", **given: Any
) -> Span:
    """A span that starts ``number`` ms after `START` and takes 100 ms; ``a__b`` stands for ``a.b``."""
    named = {key.replace("__", "."): one for key, one in given.items()}
    started = START + number * 1_000_000
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent:016x}"}),
        "name": name,
        "startTimeUnixNano": str(started),
        "endTimeUnixNano": str(started + 100_000_000),
        "attributes": attributes({"session.id": session, **named}),
    }


def agent(number: int, parent: int | None, name: str, **given: Any) -> Span:
    """A span of an agent."""
    return span(number, parent, gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name, **given)


def tool(number: int, parent: int | None, name: str, **given: Any) -> Span:
    """A span of a tool."""
    return span(number, parent, gen_ai__operation__name="execute_tool", gen_ai__tool__name=name, **given)


def chat(number: int, parent: int | None, **given: Any) -> Span:
    """A span of a model call; keys of ``given`` follow ``gen_ai.usage.``."""
    usage = {f"gen_ai__usage__{key}": one for key, one in given.items()}
    return span(number, parent, gen_ai__operation__name="chat", gen_ai__request__model="m-1", **usage)


WHOLE = [
    span(1, name="POST /chat"),
    agent(2, 1, "concierge"),
    chat(3, 2, input_tokens=10, output_tokens=5, cost=0.25),
    agent(4, 2, "org_chart", gen_ai__agent__routing__reason="a question on managers"),
    tool(5, 4, "search", gen_ai__tool__call__arguments='{"query": "Ada"}', gen_ai__tool__call__result="[1]"),
    span(6, 4, name="retry"),
    tool(7, 6, "get", gen_ai__tool__call__arguments={"id": 7, "deep": {"list": [1, 2.5, True]}}),
]
"""A trace with everything: two agents, two tools (one below a span of no kind), one model call."""


def batches(*spans: Span) -> dict[str, Any]:
    """A trace as Tempo gives it: ``batches``, with ids in base64."""
    return {"batches": resource_spans(*(_in_base64(one) for one in spans))["resourceSpans"]}


def resource_spans(*spans: Span) -> dict[str, Any]:
    """A trace as OTLP has it: ``resourceSpans``, with ids in hexadecimal."""
    resource = {"attributes": attributes({"service.name": "people"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def _in_base64(one: Span) -> Span:
    ids = {key: one[key] for key in ("traceId", "spanId", "parentSpanId") if key in one}
    return {**one, **{key: base64.b64encode(bytes.fromhex(found)).decode() for key, found in ids.items()}}
