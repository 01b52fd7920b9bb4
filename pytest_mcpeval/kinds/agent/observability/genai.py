"""Attributes of spans → what a span is: OpenTelemetry's GenAI semantic conventions, and OpenInference's.

Sources: opentelemetry.io/docs/specs/semconv/gen-ai, with the older names that are still sent;
arize-ai.github.io/openinference/spec/semantic_conventions.html, which Phoenix stores. Costs are in neither
GenAI convention; ``gen_ai.usage.cost`` and its like are what instrumentations send.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.kinds.agent.observability.spans import MalformedSpanError, Span, SpanKind, Usage

Attributes = Mapping[str, Any]
NumberT = TypeVar("NumberT", int, float)

KINDS: Mapping[str, SpanKind] = {
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "chat": "generation",
    "text_completion": "generation",
    "generate_content": "generation",
    "embeddings": "generation",
}
"""``gen_ai.operation.name`` → kind."""

OPENINFERENCE_KINDS: Mapping[str, SpanKind] = {
    "TOOL": "tool",
    "AGENT": "agent",
    "LLM": "generation",
    "EMBEDDING": "generation",
}
"""``openinference.span.kind`` → kind."""

TOOL_NAMES = ("gen_ai.tool.name", "tool.name")
AGENT_NAMES = ("gen_ai.agent.name", "agent.name", "gen_ai.agent.id")
ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.arguments",
    "gen_ai.tool.parameters",
    "tool.parameters",
    "input.value",
)
RESULTS = ("gen_ai.tool.call.result", "gen_ai.tool.result", "gen_ai.tool.output", "output.value")
REASONS = ("gen_ai.agent.routing.reason", "gen_ai.routing.reason")
MODELS = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "embedding.model_name")
INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
)
TOTAL_TOKENS = ("gen_ai.usage.total_tokens", "llm.token_count.total")
INPUT_COSTS = ("gen_ai.usage.input_cost", "gen_ai.usage.input_cost_usd", "llm.cost.prompt")
OUTPUT_COSTS = ("gen_ai.usage.output_cost", "gen_ai.usage.output_cost_usd", "llm.cost.completion")
TOTAL_COSTS = (
    "gen_ai.usage.total_cost",
    "gen_ai.usage.total_cost_usd",
    "gen_ai.usage.cost",
    "gen_ai.usage.cost_usd",
    "llm.cost.total",
)


@dataclass(frozen=True)
class RawSpan:
    """A span as it was exported. Ids are hexadecimal, times nanoseconds since 1970, attributes flat."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    started: int
    ended: int | None
    attributes: Attributes


def span_of(raw: RawSpan) -> Span:
    """Return the span that raw attributes describe.

    Raises:
        MalformedSpanError: A number among its attributes is malformed, or a tool or agent has no name.
    """
    kind = kind_of(raw.attributes)
    return Span(
        trace_id=raw.trace_id,
        span_id=raw.span_id,
        parent_id=raw.parent_id,
        kind=kind,
        name=_name(kind, raw),
        started=raw.started,
        ended=raw.ended,
        arguments=object_of(_first(raw.attributes, ARGUMENTS)) if kind == "tool" else None,
        result=text_of(_first(raw.attributes, RESULTS)) if kind == "tool" else None,
        reason=text_of(_first(raw.attributes, REASONS)) if kind == "agent" else None,
        usage=usage_of(raw.attributes) if kind == "generation" else Usage(),
    )


def kind_of(attributes: Attributes) -> SpanKind:
    """The kind of a span: what it says it does, else what it has."""
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation in KINDS:
        return KINDS[operation]
    declared = attributes.get("openinference.span.kind")
    if isinstance(declared, str) and declared.upper() in OPENINFERENCE_KINDS:
        return OPENINFERENCE_KINDS[declared.upper()]
    if operation is not None:
        return "other"
    if "gen_ai.tool.name" in attributes:
        return "tool"
    if "gen_ai.agent.name" in attributes:
        return "agent"
    if any(name.startswith("gen_ai.usage.") for name in attributes):
        return "generation"
    return "other"


def _name(kind: SpanKind, raw: RawSpan) -> str:
    names = {"tool": TOOL_NAMES, "agent": AGENT_NAMES}.get(kind, ())
    given = text_of(_first(raw.attributes, names))
    # By convention the name of a span is its operation, then that of the tool or agent.
    name = given or raw.name.removeprefix("execute_tool ").removeprefix("invoke_agent ")
    if not name and kind in ("tool", "agent"):
        raise MalformedSpanError(f"a span of a {kind} has no name")
    return name


def usage_of(attributes: Attributes) -> Usage:
    """Return the tokens and costs of a model call; a missing total is the sum of its parts, if both
    are known.  Raises: MalformedSpanError: A number is malformed or negative.
    """
    entered, left = _count(attributes, INPUT_TOKENS), _count(attributes, OUTPUT_TOKENS)
    if attributes.get("gen_ai.operation.name") == "embeddings" and left is None:
        left = 0
    paid_in, paid_out = _cost(attributes, INPUT_COSTS), _cost(attributes, OUTPUT_COSTS)
    total = total_or_sum(_count(attributes, TOTAL_TOKENS), entered, left)
    paid = total_or_sum(_cost(attributes, TOTAL_COSTS), paid_in, paid_out)
    return Usage(text_of(_first(attributes, MODELS)), entered, left, total, paid_in, paid_out, paid)


def total_or_sum(total: NumberT | None, first: NumberT | None, second: NumberT | None) -> NumberT | None:
    """A total, or the sum of its two parts where both are known."""
    if total is None and first is not None and second is not None:
        return first + second
    return total


def _first(attributes: Attributes, names: tuple[str, ...]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def _count(attributes: Attributes, names: tuple[str, ...]) -> int | None:
    found = _first(attributes, names)
    return None if found is None else count_of(found)


def _cost(attributes: Attributes, names: tuple[str, ...]) -> float | None:
    found = _first(attributes, names)
    return None if found is None else cost_of(found)


def count_of(value: Any) -> int:
    """A whole number, also as text or as a float.

    Raises:
        MalformedSpanError: It is none, or negative.
    """
    number = cost_of(value)
    if not number.is_integer():
        raise MalformedSpanError(f"expected a whole number, found {str(value)[:40]!r}")
    return int(number)


def cost_of(value: Any) -> float:
    """A number that is not negative, also as text.

    Raises:
        MalformedSpanError: It is none.
    """
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise MalformedSpanError(f"expected a number, found {str(value)[:40]!r}")
    return number


def object_of(value: Any) -> Mapping[str, Any] | None:
    """A JSON object, also as text; None for everything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_constant=_no_constant, parse_float=_finite)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large for a number")
    return number


def text_of(value: Any) -> str | None:
    """Text as it is, other values as JSON; None and blank text as None."""
    if value is None or isinstance(value, str):
        return value if value and value.strip() else None
    return to_json(value)
