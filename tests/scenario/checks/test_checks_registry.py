"""Rules become checks: all mistakes at once, groups, types of users, the schema for editors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_mcpeval import (
    CheckSpecError,
    CheckType,
    NoParameters,
    Parameters,
    Response,
    Verdict,
    check_type,
    failed,
    inconclusive,
    judged,
    passed,
)
from pytest_mcpeval.kinds.scenario.checks import BUILTIN, CheckRegistry, JudgementError
from pytest_mcpeval.kinds.scenario.placeholders import later
from pytest_mcpeval.python_tests.markers import rule_of_keyword

Problems = list[tuple[tuple[str | int, ...], str]]


class Words(Parameters):
    at_least: int
    only_letters: bool = False


@check_type("words", Words)
def words(parameters: Words, response: Response) -> Verdict:
    """The text has `atLeast` words."""
    count = len(response.text.split())
    return judged(count >= parameters.at_least, f"{count} words", {"words": count})


@check_type("breaks", NoParameters)
def breaks(parameters: NoParameters, response: Response) -> Verdict:
    """Raises what the text says."""
    errors: dict[str, Exception] = {
        "value": ValueError("no\nvalue"),
        "recursion": RecursionError("deep"),
        "judgement": JudgementError("nothing to judge"),
    }
    if response.text == "details":
        return passed("fine", {"found": object()})
    if response.text == "infinite":
        return passed("fine", {"found": float("inf")})
    raise errors[response.text]


@check_type("open", NoParameters)
def open_question(parameters: NoParameters, response: Response) -> Verdict:
    """Is never decided."""
    return inconclusive("nothing to see", "look elsewhere")


@check_type("yes", NoParameters)
def yes(parameters: NoParameters, response: Response) -> Verdict:
    """Always holds."""
    return passed("yes")


@check_type("no", NoParameters)
def no(parameters: NoParameters, response: Response) -> Verdict:
    """Never holds."""
    return failed("no")


REGISTRY = BUILTIN.with_types([words, breaks, open_question, yes, no])
YES, NO, OPEN, BROKEN = ({"type": name} for name in ("yes", "no", "open", "breaks"))


def problems(rule: object) -> Problems:
    with pytest.raises(CheckSpecError) as caught:
        REGISTRY.parse(rule)
    return [(problem.path, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("contains", [((), "expected a check such as {type: has_citation}, found 'contains'")]),
        (None, [((), "expected a check such as {type: has_citation}, found None")]),
        ({}, [((), 'the key "type" is missing: expected a check such as {type: has_citation}')]),
        ({"contains": "x"}, [((), 'the key "type" is missing: expected a check; write {type: contains, …}')]),
        ({"type": "contains"}, [(("value",), 'the key "value" is missing')]),
        ({"type": "contains", "value": ""}, [(("value",), 'expected a text that is not empty, found ""')]),
        ({"type": "contains", "value": 3}, [(("value",), "expected a text, found 3")]),
        (
            {"type": "contains", "valeu": "x"},
            [
                (("value",), 'the key "value" is missing'),
                (
                    ("valeu",),
                    'unknown key "valeu" (did you mean "value"?) (known keys: caseSensitive, value)',
                ),
            ],
        ),
        (
            {"type": "contains", "value": "x", "case_sensitive": "yes"},
            [(("case_sensitive",), 'expected true or false, found "yes"')],
        ),
        (
            {"type": "contains", "value": "x", "case_sensitive": True, "caseSensitive": True},
            [(("case_sensitive",), '"case_sensitive" is given twice, in two spellings; keep one')],
        ),
        (
            {"type": "contains_any", "values": []},
            [(("values",), "expected at least 1 entry, found a list with 0 entries")],
        ),
        ({"type": "contains_any", "values": "a"}, [(("values",), 'expected a list, found "a"')]),
        (
            {"type": "contains_all", "values": ["a", 2, ""]},
            [
                (("values", 1), "expected a text, found 2"),
                (("values", 2), 'expected a text that is not empty, found ""'),
            ],
        ),
        (
            {"type": "has_citation", "min": 2},
            [(("min",), 'unknown key "min" (this check has no keys besides type)')],
        ),
        ({"type": "min_length", "chars": 2.5}, [(("chars",), "expected a whole number, found 2.5")]),
        ({"type": "min_length", "chars": True}, [(("chars",), "expected a whole number, found true")]),
        (
            {"type": "min_length", "chars": -1},
            [(("chars",), "found -1: every answer would pass; say 1 or more")],
        ),
        (
            {"type": "confidence_above", "threshold": "70%"},
            [(("threshold",), 'expected a number, found "70%"')],
        ),
        (
            {"type": "max_latency_ms", "ms": float("inf")},
            [(("ms",), "expected a finite number, found Infinity")],
        ),
        ({"type": "max_latency_ms", "ms": 0}, [(("ms",), "expected a number above 0, found 0")]),
        ({"type": "words", "at_least": "x"}, [(("at_least",), 'expected a whole number, found "x"')]),
        ({"type": "words"}, [(("atLeast",), 'the key "atLeast" is missing')]),
        ({"type": "not"}, [(("check",), 'the key "check" is missing')]),
        ({"not": []}, [(("not",), "expected a check such as {type: has_citation}, found []")]),
        ({"any_of": []}, [(("any_of",), "any_of needs a list of at least one check")]),
        ({"type": "all_of", "check": YES}, [
            (("check",), 'unknown key "check" next to all_of (did you mean "checks"?)'),
            (("checks",), "all_of needs a list of at least one check"),
        ]),
        ({"not": YES, "any_of": [YES]}, [(("any_of",), 'unknown key "any_of" next to not')]),
    ],
)  # fmt: skip
def test_mistakes(rule: object, expected: Problems) -> None:
    assert problems(rule) == expected


def test_unknown_type() -> None:
    ((path, message),) = problems({"type": "contans", "value": "x"})
    assert path == ("type",)
    assert message.startswith(
        "unknown check type 'contans' (did you mean \"contains\"?) (known: all_of, any_of, "
    )
    assert problems({"type": ["x"]})[0][1].startswith("unknown check type ['x'] (known: ")


def test_all_nested_mistakes_at_once() -> None:
    rule = {
        "any_of": [
            {"type": "contains"},
            {"not": {"type": "matches_regex", "pattern": "a(b"}},
            {"type": "all_of", "checks": [YES, {"type": "min_length", "chars": "x"}], "extra": 1},
            YES,
        ],
        "comment": "x",
    }
    with pytest.raises(CheckSpecError) as caught:
        REGISTRY.parse(rule)
    assert str(caught.value).split("\n") == [
        'comment: unknown key "comment" next to any_of',
        'any_of[0].value: the key "value" is missing',
        "any_of[1].not.pattern: not a regular expression: missing ) at position 3 of 'a(b'",
        'any_of[2].extra: unknown key "extra" next to all_of',
        'any_of[2].checks[1].chars: expected a whole number, found "x"',
    ]


def test_rules_of_groups_are_normalised() -> None:
    rule = {"any_of": [{"not": {"type": "words", "at_least": 2}}, {"type": "all_of", "checks": [YES]}]}
    assert REGISTRY.parse(rule).rule == {
        "type": "any_of",
        "checks": [
            {"type": "not", "check": {"type": "words", "atLeast": 2}},
            {"type": "all_of", "checks": [{"type": "yes"}]},
        ],
    }


@pytest.mark.parametrize(
    ("rule", "status", "message"),
    [
        ({"not": NO}, "passed", "does not hold, as required: no"),
        ({"not": YES}, "failed", "should not hold: yes"),
        ({"type": "not", "check": YES}, "failed", "should not hold: yes"),
        ({"not": {"not": YES}}, "passed", "does not hold, as required: should not hold: yes"),
        ({"not": OPEN}, "inconclusive", "nothing to see; look elsewhere"),
        ({"not": BROKEN}, "failed", "the check breaks broke: ValueError: no value"),
        ({"not": {"not": BROKEN}}, "failed", "the check breaks broke: ValueError: no value"),
        ({"any_of": [NO, YES, YES]}, "passed", "2 of 3 hold: yes"),
        ({"any_of": [NO, NO]}, "failed", "none of 2 holds: no; no"),
        ({"any_of": [NO, OPEN]}, "inconclusive", "nothing to see; look elsewhere"),
        ({"any_of": [OPEN, YES, BROKEN]}, "passed", "1 of 3 hold: yes"),
        ({"any_of": [OPEN, BROKEN]}, "failed", "the check breaks broke: ValueError: no value"),
        ({"not": {"any_of": [NO, BROKEN]}}, "failed", "the check breaks broke: ValueError: no value"),
        ({"all_of": [YES, YES]}, "passed", "all 2 hold"),
        ({"all_of": [YES, NO, OPEN]}, "failed", "1 of 3 do not hold: no"),
        ({"all_of": [YES, OPEN]}, "inconclusive", "nothing to see; look elsewhere"),
        ({"all_of": [YES, BROKEN]}, "failed", "the check breaks broke: ValueError: no value"),
        ({"not": {"all_of": [YES, BROKEN]}}, "failed", "the check breaks broke: ValueError: no value"),
        ({"not": {"all_of": [NO, BROKEN]}}, "passed", "does not hold, as required: 1 of 2 do not hold: no"),
    ],
)
def test_groups(rule: dict[str, Any], status: str, message: str) -> None:
    check = REGISTRY.parse(rule).evaluate(Response("value"))
    assert (check.status, check.message) == (status, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("value", "the check breaks broke: ValueError: no value"),
        ("recursion", "the check breaks broke: RecursionError: deep"),
        ("judgement", "nothing to judge"),
        ("details", "the check breaks broke: TypeError: Object of type object is not JSON serializable"),
        ("infinite", "the check breaks broke: ValueError: Out of range float values are not JSON compliant"),
    ],
)
def test_a_check_never_raises(text: str, message: str) -> None:
    check = REGISTRY.parse({"type": "breaks"}).evaluate(Response(text))
    assert check.status == "failed"
    assert check.message.startswith(message)


def test_types_of_users() -> None:
    check = REGISTRY.parse({"type": "words", "at_least": 2}).evaluate(Response("one two"))
    assert (check.rule, check.status) == ({"type": "words", "atLeast": 2}, "passed")
    assert check.details == {"words": 2}
    assert words.description == "The text has `atLeast` words."
    assert BUILTIN.get("words") is None
    assert REGISTRY.get("words") is words


def test_two_types_of_one_name() -> None:
    def judge(parameters: NoParameters, response: Response) -> Verdict:
        return passed("")

    again = CheckType("contains", NoParameters, judge, "Mine.")
    with pytest.raises(ValueError, match='two check types are named "contains"') as caught:
        BUILTIN.with_types([again])
    assert "checks.text.contains and " in str(caught.value)
    assert "test_checks_registry.test_two_types_of_one_name" in str(caught.value)


def test_a_judge_needs_a_docstring() -> None:
    def judge(parameters: NoParameters, response: Response) -> Verdict:
        return passed("")

    with pytest.raises(ValueError, match="the judge of check silent needs a docstring"):
        check_type("silent", NoParameters)(judge)


def test_every_type_is_described() -> None:
    names = [found.name for found in BUILTIN]
    assert len(names) == len(set(names)) == 23
    for found in BUILTIN:
        assert found.description.split("\n")[0].endswith("."), found.name


VALID: list[dict[str, Any]] = [
    {"type": "contains", "value": "x", "caseSensitive": True},
    {"type": "contains", "value": "x", "case_sensitive": True},
    {"type": "contains_any", "values": ["x"]},
    {"type": "contains_all", "values": ["x"]},
    {"type": "matches_regex", "pattern": "x"},
    {"type": "has_code_block"},
    {"type": "has_code_block", "language": "ts"},
    {"type": "has_import", "module": "x"},
    {"type": "valid_syntax", "language": "go"},
    {"type": "min_length", "chars": 3},
    {"type": "has_citation"},
    {"type": "confidence_above", "threshold": 70},
    {"type": "confidence_below", "threshold": 0.5},
    {"type": "sources_count", "min": 1},
    {"type": "equals", "value": None},
    {"type": "equals", "value": [1], "path": "$.a", "source": "text"},
    {"type": "is_error", "contains": "x"},
    {"type": "not_error"},
    {"type": "json_path", "path": "$.a", "in": ["a"], "value_type": "string", "minLength": 1, "match": "any"},
    {"type": "matches_schema", "schema": {"type": "object"}},
    {"type": "matches_schema", "output_schema": True},
    {"type": "min_results", "count": 1, "path": "$.a"},
    {"type": "max_results", "count": 1},
    {"type": "max_latency_ms", "ms": 1.5},
    {"type": "words", "at_least": 1},
    {"type": "words", "atLeast": 1, "onlyLetters": True},
    {"not": {"type": "has_citation"}},
    {"type": "not", "check": {"type": "has_citation"}},
    {"any_of": [{"type": "has_citation"}, {"all_of": [{"not": {"type": "not_error"}}]}]},
]


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    written = json.loads(json.dumps(REGISTRY.json_schema()))
    Draft202012Validator.check_schema(written)
    return Draft202012Validator(written)


@pytest.mark.parametrize("rule", VALID, ids=json.dumps)
def test_schema_accepts_rules(rule: dict[str, Any], schema: Draft202012Validator) -> None:
    REGISTRY.parse(rule)
    assert schema.is_valid(rule)


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "min_length", "chars": "${n}"},
        {"type": "contains", "value": "x", "case_sensitive": "${n}"},
        {"type": "contains_any", "values": "${n}"},
        {"type": "json_path", "path": "$.a[${n}]", "count": "${n}", "value_type": "${n}", "match": "${n}"},
        {"not": {"type": "matches_schema", "schema": "${n}"}},
    ],
    ids=json.dumps,
)
def test_schema_and_parser_take_a_value_that_comes_later(
    rule: dict[str, Any], schema: Draft202012Validator
) -> None:
    assert schema.is_valid(rule)
    assert REGISTRY.parse(rule, later).verdict(Response("x")).unjudged
    with pytest.raises(CheckSpecError):
        REGISTRY.parse(rule)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({"type": "min_length", "chars": "1${n}"}, ("chars",)),
        ({"type": "min_length", "chars": "${env.N}"}, ("chars",)),
        ({"type": "min_length", "chars": "$${n}"}, ("chars",)),
        ({"type": "min_length", "chars": "${n}", "chras": "${n}"}, ("chras",)),
        ({"type": "contains", "case_sensitive": "${n}"}, ("value",)),
        ({"type": "matches_regex", "pattern": "(${n}"}, ("pattern",)),
        ({"type": "json_path", "path": "$[?(${n}]", "matches": "(${n}"}, ("matches",)),
        ({"type": "json_path", "path": "$.a", "count": "${n}", "length": "x"}, ("length",)),
        ({"any_of": [{"type": "min_length", "chars": "${n}"}, {"type": "${n}"}]}, ("any_of", 1, "type")),
    ],
)
def test_what_no_later_value_mends_is_a_mistake_now(rule: dict[str, Any], path: tuple[str | int]) -> None:
    with pytest.raises(CheckSpecError) as caught:
        REGISTRY.parse(rule, later)
    assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.parametrize("rule", VALID, ids=json.dumps)
def test_schema_and_parser_reject_typos(rule: dict[str, Any], schema: Draft202012Validator) -> None:
    for key in rule:
        typo = {f"{name}x" if name == key else name: value for name, value in rule.items()}
        assert not schema.is_valid(typo)
        with pytest.raises(CheckSpecError):
            REGISTRY.parse(typo)


@pytest.mark.parametrize(
    "rule", [{"type": "words"}, {"type": "contains"}, {"any_of": []}, {"not": {"type": "x"}}, "x", {}]
)
def test_schema_rejects_what_is_missing(rule: object, schema: Draft202012Validator) -> None:
    assert not schema.is_valid(rule)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("min_length", 200, {"type": "min_length", "chars": 200}),
        ("has_citation", True, {"type": "has_citation"}),
        ("has_citation", False, {"type": "not", "check": {"type": "has_citation"}}),
        ("has_code_block", True, {"type": "has_code_block"}),
        ("has_code_block", "ts", {"type": "has_code_block", "language": "ts"}),
        ("contains_any", ["a"], {"type": "contains_any", "values": ["a"]}),
        ("words", {"at_least": 1, "onlyLetters": True}, {"type": "words", "atLeast": 1, "onlyLetters": True}),
        ("equals", True, {"type": "equals", "value": True}),
        ("equals", {"a": 1}, {"type": "equals", "value": {"a": 1}}),
        ("matches_schema", {"type": "object"}, {"type": "matches_schema", "schema": {"type": "object"}}),
        ("json_path", {"path": "$.a", "equals": 1}, {"type": "json_path", "path": "$.a", "equals": 1}),
        ("not", YES, {"type": "not", "check": YES}),
        ("any_of", [YES], {"type": "any_of", "checks": [YES]}),
        ("words", 3, {"type": "words", "atLeast": 3}),
    ],
)  # fmt: skip
def test_rule_of_keyword(name: str, value: Any, rule: dict[str, Any]) -> None:
    assert REGISTRY.parse(rule_of_keyword(REGISTRY, name, value)).rule == rule


def test_unknown_keyword_is_a_mistake() -> None:
    assert problems(rule_of_keyword(REGISTRY, "min_lenght", 3))[0][1].startswith(
        "unknown check type 'min_lenght' (did you mean \"min_length\"?)"
    )


def test_an_empty_registry() -> None:
    with pytest.raises(CheckSpecError):
        CheckRegistry().parse({"type": "contains", "value": "x"})
