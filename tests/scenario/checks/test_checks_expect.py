"""Checks in tests written in Python."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

from pytest_mcpeval import (
    CheckFailed,
    CheckSpecError,
    CheckType,
    Expect,
    NoParameters,
    Response,
    Verdict,
    check_type,
    judged,
)
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.kinds.scenario.checks.expect import JsonPathOperators

TEXT = 'A zkApp [1].\n```ts\nimport { Field } from "o1js";\n```\n"confidence": 80, "sourcesUsed": 2'
RESPONSE = Response(
    TEXT, structured={"results": [1, 2], "ok": None}, latency_ms=5, output_schema={"type": "object"}
)
ERROR = Response("no such project", is_error=True)
METADATA = '<response_metadata>\n```json\n{"confidence": 80}\n```\n</response_metadata>'

HOLD: dict[str, Callable[[Expect], Expect]] = {
    "contains": lambda expect: expect.contains("ZKAPP").contains("zkApp", case_sensitive=True),
    "contains_any": lambda expect: expect.contains_any("x", "zkapp"),
    "contains_all": lambda expect: expect.contains_all("A", "zkapp"),
    "matches_regex": lambda expect: expect.matches_regex(r"\bzk\w+"),
    "has_code_block": lambda expect: expect.has_code_block().has_code_block("ts"),
    "has_import": lambda expect: expect.has_import("o1js"),
    "valid_syntax": lambda expect: expect.valid_syntax().valid_syntax("ts"),
    "min_length": lambda expect: expect.min_length(10),
    "has_citation": lambda expect: expect.has_citation(),
    "confidence_above": lambda expect: expect.confidence_above(80),
    "confidence_below": lambda expect: expect.confidence_below(80.5),
    "sources_count": lambda expect: expect.sources_count(2),
    "equals": lambda expect: expect.equals([1, 2], path="$.results").equals(TEXT, source="text"),
    "not_error": lambda expect: expect.not_error(),
    "json_path": lambda expect: expect.json_path("$.ok", equals=None).json_path(
        "$.results", length=2, contains=1
    ),
    "matches_schema": lambda expect: expect.matches_schema({"type": "object"}).matches_schema(
        output_schema=True
    ),
    "min_results": lambda expect: expect.min_results(2).min_results(2, path="$.results[*]"),
    "max_results": lambda expect: expect.max_results(2, source="structured"),
    "max_latency_ms": lambda expect: expect.max_latency_ms(5),
    "any_of": lambda expect: expect.any_of({"type": "is_error"}, {"type": "has_citation"}),
    "all_of": lambda expect: expect.all_of({"type": "has_citation"}, {"type": "not_error"}),
    "not": lambda expect: expect.not_.contains("solana"),
}


@pytest.mark.parametrize("name", HOLD)
def test_methods(name: str) -> None:
    expect = Expect(RESPONSE)
    assert HOLD[name](expect) is expect
    assert {check.name for check in expect.checks} == {name}
    assert all(check.passed for check in expect.checks)


def test_is_error() -> None:
    assert [check.name for check in Expect(ERROR).is_error().is_error("PROJECT").checks] == ["is_error"] * 2
    with pytest.raises(CheckFailed):
        Expect(ERROR).is_error("other")


def test_every_builtin_has_a_method() -> None:
    assert {found.name for found in BUILTIN} == {*HOLD, "is_error"}
    for name in HOLD.keys() - {"not"}:
        method = getattr(Expect, name)
        assert method.__doc__


@pytest.mark.parametrize("found", [found for found in BUILTIN if isinstance(found, CheckType)])
def test_keys_are_arguments_the_first_by_its_place_and_the_others_by_name(found: CheckType) -> None:
    parameters = list(signature(getattr(Expect, found.name)).parameters.values())[1:]
    keys = [name.rstrip("_") for name in found.parameters.model_fields]
    assert [one.name for one in parameters[:1]] == keys[:1]
    named = [
        name.rstrip("_")
        for one in parameters[1:]
        for name in (JsonPathOperators.__annotations__ if one.kind is one.VAR_KEYWORD else [one.name])
    ]
    assert sorted(named) == sorted(keys[1:])
    assert all(one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD) for one in parameters[1:])


def test_a_failure_raises_at_once() -> None:
    expect = Expect(Response("line one\nline two " + "x" * 500))
    with pytest.raises(CheckFailed) as caught:
        expect.contains("line").contains("zkapp").min_length(3)
    assert [check.status for check in expect.checks] == ["passed", "failed"]
    assert caught.value.checks == (expect.checks[1],)
    first, second = str(caught.value).split("\n")
    assert first == '✗ contains: missing "zkapp"'
    assert second.startswith("response: line one line two xxx")
    assert len(second) < 220
    assert isinstance(caught.value, AssertionError)


def test_inconclusive_is_no_pass() -> None:
    with pytest.raises(CheckFailed, match=r"^\? confidence_below: no confidence reported") as caught:
        Expect(Response("")).confidence_below(3)
    assert str(caught.value).endswith("response: (no text)")


def test_not_turns_one_check_round() -> None:
    expect = Expect(RESPONSE)
    expect.not_.contains("solana").contains("zkapp").not_.is_error().not_error()
    assert [check.name for check in expect.checks] == ["not", "contains", "not", "not_error"]
    with pytest.raises(CheckFailed, match='✗ not: should not hold: contains "zkapp"'):
        expect.not_.contains("zkapp")


NEGATIVE: list[Callable[[Expect], Expect]] = [
    lambda expect: expect.not_.contains("solana"),
    lambda expect: expect.any_of({"type": "has_citation"}, {"not": {"type": "contains", "value": "solana"}}),
    lambda expect: expect.max_latency_ms(5),
    lambda expect: expect.not_.not_.not_.contains("solana"),
    lambda expect: expect.matches_regex("^(?!.*solana)"),
]


@pytest.mark.parametrize("judge", NEGATIVE, ids=range(len(NEGATIVE)))
def test_what_is_negative_lets_no_error_by(judge: Callable[[Expect], Expect]) -> None:
    with pytest.raises(CheckFailed, match="✗ not_error: the tool reported an error: no such project"):
        judge(Expect(ERROR))
    with pytest.raises(CheckFailed, match="✗ not_error"), Expect(ERROR).all() as expect:
        judge(expect)
    judge(Expect(ERROR).is_error("such project"))
    with Expect(ERROR).all() as expect:
        judge(expect).is_error()


@pytest.mark.parametrize("judge", NEGATIVE, ids=range(len(NEGATIVE)))
@pytest.mark.parametrize("text", ["", " \n", "[]", "{}", '""', "null", "[ ]", '" "', METADATA])
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_is_negative_passes_no_empty_answer(
    judge: Callable[[Expect], Expect], text: str, wrapped: bool
) -> None:
    response = Response(text, structured={"result": text} if wrapped else None)
    with pytest.raises(CheckFailed, match="✗ has_content: the answer has no content"):
        judge(Expect(response))
    judge(Expect(response).equals(text))


@pytest.mark.parametrize("operator", [{"exists": False}, {"not_equals": 3}, {"max_length": 3}])
def test_what_json_is_not_passes_no_empty_answer(operator: dict[str, Any]) -> None:
    path = "$.found" if "exists" in operator else "$"
    with pytest.raises(CheckFailed, match="✗ has_content: the answer has no content"):
        Expect(Response("[]")).json_path(path, **operator)
    Expect(Response("[]")).json_path("$", length=0).json_path(path, **operator)


def test_all_collects() -> None:
    expect = Expect(RESPONSE).contains("zkapp")
    with pytest.raises(CheckFailed) as caught, expect.all(), expect.all():
        expect.contains("solana").has_citation().not_.has_citation().min_length(1000)
    assert [check.name for check in caught.value.checks] == ["contains", "not", "min_length"]
    assert len(expect.checks) == 5
    with pytest.raises(CheckFailed):
        expect.contains("solana")


def test_all_lets_other_errors_through() -> None:
    expect = Expect(RESPONSE)
    with pytest.raises(KeyError), expect.all():
        raise KeyError(expect.contains("solana").checks[0].message)


def test_a_wrong_rule_is_no_failure_of_the_response() -> None:
    with pytest.raises(CheckSpecError, match='the key "value" is missing'):
        Expect(RESPONSE).check("contains")
    with pytest.raises(CheckSpecError, match="either schema"):
        Expect(RESPONSE).matches_schema()


@check_type("polite", NoParameters)
def polite(parameters: NoParameters, response: Response) -> Verdict:
    """The text says please."""
    return judged("please" in response.text, "manners")


def test_types_of_users() -> None:
    registry = BUILTIN.with_types([polite])
    Expect(Response("please"), registry).check("polite").not_.rule({"not": {"type": "polite"}})
    with pytest.raises(CheckFailed, match="✗ polite: manners"):
        Expect(Response("now"), registry).check("polite")
