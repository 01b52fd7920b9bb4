"""What a span is by its attributes, when traces are whole, and how ids are written."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcpeval.kinds.agent.observability.genai import RawSpan, kind_of, span_of, usage_of
from pytest_mcpeval.kinds.agent.observability.logs import ends_below_remote_parents, is_complete, logs_of
from pytest_mcpeval.kinds.agent.observability.otlp import identifier
from pytest_mcpeval.kinds.agent.observability.spans import MalformedSpanError, Span, SpanKind


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.operation.name": "execute_tool"}, "tool"),
        ({"gen_ai.operation.name": "invoke_agent"}, "agent"),
        ({"gen_ai.operation.name": "create_agent"}, "agent"),
        *(
            ({"gen_ai.operation.name": name}, "generation")
            for name in ("chat", "text_completion", "generate_content", "embeddings")
        ),
        ({"gen_ai.tool.name": "search"}, "tool"),
        ({"gen_ai.agent.name": "concierge"}, "agent"),
        ({"gen_ai.usage.output_tokens": 1}, "generation"),
        # The operation decides: spans of tools and models name their agent as well.
        ({"gen_ai.operation.name": "chat", "gen_ai.agent.name": "concierge"}, "generation"),
        ({"gen_ai.operation.name": "rerank", "gen_ai.tool.name": "search"}, "other"),
        ({"openinference.span.kind": "TOOL"}, "tool"),
        ({"openinference.span.kind": "AGENT"}, "agent"),
        ({"openinference.span.kind": "EMBEDDING"}, "generation"),
        ({"openinference.span.kind": "CHAIN", "gen_ai.tool.name": "search"}, "tool"),
        ({"http.route": "/chat"}, "other"),
    ],
)
def test_the_kind_of_a_span(attributes: dict[str, Any], kind: SpanKind) -> None:
    assert kind_of(attributes) == kind


def raw(name: str, **attributes: Any) -> RawSpan:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return RawSpan("t", "s", None, name, 0, 1, named)


def test_a_span_without_a_name_of_its_own_has_that_of_its_operation() -> None:
    assert span_of(raw("execute_tool search", gen_ai__operation__name="execute_tool")).name == "search"
    assert span_of(raw("invoke_agent concierge", gen_ai__operation__name="invoke_agent")).name == "concierge"
    assert span_of(raw("look", openinference__span__kind="TOOL", tool__name="search")).name == "search"


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": [1]}, {"a": [1]}),
        ("[1]", None),
        ("a", None),
        ('{"a": NaN}', None),
        (7, None),
    ],
)
def test_arguments_are_objects(given: Any, arguments: Any) -> None:
    span = span_of(raw("x", gen_ai__tool__name="t", gen_ai__tool__call__arguments=given))
    assert span.arguments == arguments


def test_results_are_text() -> None:
    def result(value: Any) -> str | None:
        return span_of(raw("x", gen_ai__tool__name="t", gen_ai__tool__call__result=value)).result

    assert result("found") == "found"
    assert result({"found": [1, None]}) == '{"found": [1, null]}'
    assert result(" ") is None


def test_totals_are_sums_where_both_parts_are_known() -> None:
    used = {"gen_ai.usage.prompt_tokens": "3", "gen_ai.usage.completion_tokens": 4.0}
    assert usage_of(used).total_tokens == 7
    assert usage_of({**used, "gen_ai.usage.total_tokens": 9}).total_tokens == 9
    assert usage_of({"gen_ai.usage.input_tokens": 3}).total_tokens is None
    embedded = {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 3}
    assert usage_of(embedded).total_tokens == 3
    assert usage_of({"gen_ai.usage.input_cost": 0.5, "gen_ai.usage.output_cost": 0.25}).total_cost_usd == 0.75
    assert usage_of({"gen_ai.request.model": "asked", "gen_ai.response.model": "given"}).model == "asked"


def test_names_that_other_instrumentations_use_are_read() -> None:
    called = span_of(
        raw("x", gen_ai__tool__name="t", gen_ai__tool__parameters='{"a": 1}', gen_ai__tool__output="found")
    )
    assert (called.arguments, called.result) == ({"a": 1}, "found")
    entered = span_of(raw("x", gen_ai__agent__name="hr", gen_ai__routing__reason="it is about people"))
    assert entered.reason == "it is about people"
    costs = {"gen_ai.usage.input_cost_usd": 0.5, "gen_ai.usage.output_cost_usd": "0.25"}
    used = usage_of(costs)
    assert (used.input_cost_usd, used.output_cost_usd, used.total_cost_usd) == (0.5, 0.25, 0.75)
    assert usage_of({**costs, "gen_ai.usage.total_cost_usd": 1}).total_cost_usd == 1
    assert usage_of({"gen_ai.usage.cost_usd": 2}).total_cost_usd == 2


@pytest.mark.parametrize("bad", [True, "many", -1, 1.5, float("nan"), "inf", [1]])
def test_numbers_that_are_none_are_malformed(bad: Any) -> None:
    with pytest.raises(MalformedSpanError, match="expected a"):
        usage_of({"gen_ai.usage.input_tokens": bad})


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("00F067AA0BA902B7", "00f067aa0ba902b7"),
        ("f067aa0ba902b7", "00f067aa0ba902b7"),
        ("APBnqgupArc=", "00f067aa0ba902b7"),
    ],
)
def test_ids_are_hexadecimal_or_base64(given: str, found: str) -> None:
    assert identifier(given, 8) == found


@pytest.mark.parametrize("bad", ["", None, 5, "00f067aa0ba902b700", "APBn", "%%"])
def test_other_ids_are_malformed(bad: Any) -> None:
    with pytest.raises(MalformedSpanError, match="expected an id"):
        identifier(bad, 8)


def span(number: int, parent: int | None, kind: SpanKind = "tool", trace: str = "t", **given: Any) -> Span:
    above = None if parent is None else str(parent)
    return Span(trace, str(number), above, kind, f"n{number}", number, **{"ended": 9, **given})


TOP, TOOL = span(1, None, "other"), span(2, 1)


@pytest.mark.parametrize(
    ("spans", "whole"),
    [
        ([], False),
        ([TOP, TOOL], True),
        ([TOOL], False),
        ([TOP], False),
        ([span(1, None, "other", ended=None), TOOL], False),
        ([TOP, TOOL, span(3, 7)], False),
        ([TOP, TOOL, span(3, 4, trace="u")], False),
        ([TOP, TOOL, span(3, None, "other", trace="u")], True),
    ],
)
def test_when_traces_are_whole(spans: list[Span], whole: bool) -> None:
    assert is_complete(spans) is whole


@pytest.mark.parametrize(
    ("spans", "remote"),
    [
        ([span(1, 99, "agent"), TOOL], True),
        ([span(1, 99, "agent", ended=None), TOOL], False),
        ([span(1, 99, "other")], False),
        ([TOP, TOOL], False),
        ([], False),
    ],
)
def test_parents_that_other_systems_keep(spans: list[Span], remote: bool) -> None:
    assert ends_below_remote_parents(spans) is remote


def test_steps_are_at_the_top_or_below_the_top_or_an_agent() -> None:
    spans = [
        span(1, None, "agent"),
        span(2, 1),
        span(3, 2),
        span(4, 3, "agent"),
        span(5, 4),
        span(6, 4, "other"),
        span(7, 6),
        # Another trace, whose top was not exported.
        span(8, 99, "other", trace="u"),
        span(9, 8, trace="u"),
        span(10, 9, trace="u"),
    ]
    logs = logs_of(reversed(spans))
    assert logs.step_span_ids == ("1", "2", "5", "9")
    assert [(row.from_agent, row.target_agent) for row in logs.routing_decisions] == [
        (None, "n1"),
        ("n1", "n4"),
    ]


def test_spans_that_are_each_others_parents_end_the_search() -> None:
    logs = logs_of([span(1, 2), span(2, 1), span(3, 2, "agent")])
    assert [row.from_agent for row in logs.routing_decisions] == [None]
