"""Spans in OpenTelemetry's GenAI conventions, by the real SDK, to whatever collector is configured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from examples.web_agent.understanding import Agent

SERVICE = "people-agent"
MODEL = "people-rules-1"
# There is no bill for rules; these prices, in US dollars a token, make costs visible.
INPUT_PRICE, OUTPUT_PRICE = 0.15 / 1_000_000, 0.60 / 1_000_000

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def make_provider() -> TracerProvider:
    """A provider that exports over OTLP/HTTP, if the SDK's usual variables name a collector."""
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    if any(os.environ.get(name) for name in ENDPOINTS):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Recorder:
    """Records one conversation turn. Every span carries the session; parents are given, never implied."""

    def __init__(self, tracer: Tracer, session: str) -> None:
        self._tracer = tracer
        self._session = session

    @contextmanager
    def request(self) -> Iterator[Span]:
        """The whole turn."""
        with self._span("POST /chat", None, SpanKind.SERVER, {"http.route": "/chat"}) as span:
            yield span

    @contextmanager
    def agent(self, name: Agent, parent: Span, reason: str) -> Iterator[Span]:
        """An agent at work; the reason is why it was chosen."""
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.agent.routing.reason": reason,
        }
        with self._span(f"invoke_agent {name}", parent, SpanKind.INTERNAL, attributes) as span:
            yield span

    @contextmanager
    def tool(self, name: str, arguments: dict[str, Any], parent: Span) -> Iterator[Span]:
        """A tool at work; `result` tells what came of it."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.arguments": json.dumps(arguments),
        }
        with self._span(f"execute_tool {name}", parent, SpanKind.INTERNAL, attributes) as span:
            yield span

    @contextmanager
    def generation(self, prompt: str, parent: Span) -> Iterator[Span]:
        """The model at work on a prompt; `written` tells what it wrote."""
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "people-rules",
            "gen_ai.request.model": MODEL,
            "gen_ai.usage.input_tokens": len(prompt.split()),
        }
        with self._span(f"chat {MODEL}", parent, SpanKind.CLIENT, attributes) as span:
            yield span

    @contextmanager
    def _span(
        self, name: str, parent: Span | None, kind: SpanKind, attributes: dict[str, Any]
    ) -> Iterator[Span]:
        context = None if parent is None else trace.set_span_in_context(parent)
        given = {**attributes, "session.id": self._session}
        span = self._tracer.start_span(name, context=context, kind=kind, attributes=given)
        try:
            yield span
        finally:
            span.end()


def result(span: Span, text: str, *, failed: bool = False) -> None:
    """What a tool answered."""
    span.set_attribute("gen_ai.tool.call.result", text)
    if failed:
        span.set_status(Status(StatusCode.ERROR, text))


def written(span: Span, prompt: str, text: str) -> None:
    """What the model wrote, in tokens (words, for this one) and US dollars."""
    entered, left = len(prompt.split()), len(text.split())
    span.set_attribute("gen_ai.usage.output_tokens", left)
    span.set_attribute("gen_ai.usage.cost", entered * INPUT_PRICE + left * OUTPUT_PRICE)
