"""Checks that every answer would pass, or none: refused with what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcpeval.kinds.scenario.checks import BUILTIN, CheckSpecError

Rule = dict[str, Any]

ANY = ["null", "boolean", "number", "string", "array", "object"]
TREE = {"properties": {"children": {"items": {"$ref": "#"}}}}


def schema(given: Rule) -> Rule:
    return {"type": "matches_schema", "schema": given}


def regex(pattern: str) -> Rule:
    return {"type": "matches_regex", "pattern": pattern}


def path(path: str = "$.a", **operators: Any) -> Rule:
    return {"type": "json_path", "path": path, **operators}


CONTAINS = {"type": "contains", "value": "x"}

MATCHES_ALL = [
    *(
        ".*",
        "a*",
        "^",
        "$",
        "x?",
        "|x",
        "(?:)",
        "[a-z]*",
        "^.*",
        r"[\s\S]*",
        "(foo)?",
        "(?!foo)",
        r"\d*|x",
        "(?=)",
    ),
    *("^(?:.|\n)*$", "$|^x"),
]
FITS_ALL: list[Rule] = [
    {},
    {"title": "anything", "description": "x", "default": 3, "format": "date"},
    {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    {"type": ANY},
    {"type": [*ANY, "integer"]},
    {"properties": {}},
    {"properties": {"a": {}, "b": True}},
    {"required": []},
    {"minItems": 0, "minLength": 0, "minProperties": 0, "uniqueItems": False},
    {"items": {}, "additionalProperties": True, "patternProperties": {"^a": {}}},
    {"anyOf": [{"type": "object"}, {}]},
    {"anyOf": [{"type": kind} for kind in ANY]},
    {"anyOf": [{"type": "object"}, {"not": {"type": "object"}}]},
    {"oneOf": [{"type": "object"}, {"not": {"type": "object"}}]},
    {"allOf": [{}, {"title": "x"}]},
    {"not": {"not": {}}},
    {"if": {"type": "object"}},
    {"then": {"type": "object"}},
    {"if": {"type": "object"}, "then": {}, "else": True},
    {"$ref": "#/$defs/any", "$defs": {"any": {}}},
    TREE,
    {"pattern": ".*"},
    {"contains": {"type": "null"}, "minContains": 0},
    {"dependentRequired": {}},
]
FITS_NONE: list[Rule] = [
    {"not": {}},
    {"allOf": [{"type": "object"}, {"type": "array"}]},
    {"type": "object", "enum": [1, 2]},
]

VACUOUS: list[tuple[Rule, str]] = [
    ({"type": "min_length", "chars": 0}, "found 0: every answer would pass; say 1 or more"),
    ({"type": "sources_count", "min": 0}, "found 0: every answer would pass; say 1 or more"),
    ({"type": "min_results", "count": 0}, "found 0: every list would pass; say 1 or more"),
    ({"type": "confidence_above", "threshold": -1}, "every answer would pass, since none"),
    ({"type": "confidence_above", "threshold": 0}, "say more than 0"),
    ({"type": "confidence_above", "threshold": 100.5}, "no answer would pass; say 100 or less"),
    ({"type": "confidence_below", "threshold": 0}, "no answer would pass; say more than 0"),
    ({"type": "confidence_below", "threshold": 101}, "every answer would pass; say 100 or less"),
    (path(contains=""), "say what the text has to contain"),
    (path(min_length=0), "say 1 or more"),
    (path(gte=""), "say another limit"),
    (path(lt=""), "say another limit"),
    (path("$", exists=False), "always there; say another path"),
    (path("$", count=0), "always there; say another path"),
    (path(count=2), "more than the one value that $.a can select"),
    (path(gt=5, lt=3), "no value has both gt: 5 and lt: 3"),
    (path(gt=5, lte=5), "no value has both"),
    (path(min_length=3, max_length=2), "no value has both"),
    (path(length=3, max_length=2), "no value has both"),
    (path(equals=1, gt=5), "no value is equal to 1 and > 5"),
    (path(equals="a", value_type="number"), "no value is equal to"),
    ({"not": {**path(not_equals=1, lt=2), "in": [1, 2]}}, "no value is"),
    (path(matches=".*"), "matches every text"),
    *((regex(pattern), "matches every text, the empty one as well") for pattern in MATCHES_ALL),
    (regex("costs $5"), "5 stands after $, the end of the text"),
    (regex(r"$\d+"), "write \\ before a character that is meant literally"),
    (regex("a^b"), "a stands before ^, the beginning of the text"),
    (regex("(?!)"), "matches nothing"),
    (regex("x[]"), "matches nothing"),
    (regex(r"[^\s\S]"), "matches nothing"),
    *((schema(given), "every JSON value fits this schema") for given in FITS_ALL),
    *((schema(given), "no JSON value fits this schema") for given in FITS_NONE),
    ({"any_of": [CONTAINS, {"not": CONTAINS}]}, "any_of has a check and its opposite"),
    (
        {"any_of": [{**CONTAINS, "value": "X"}, {"not": {**CONTAINS, "value": "x", "caseSensitive": False}}]},
        "any_of has a check and its opposite",
    ),
    ({"any_of": [{"type": "is_error"}, {"type": "not_error"}]}, "one of them always holds"),
    ({"any_of": [{"any_of": [CONTAINS]}, {"not": {"not": {"not": CONTAINS}}}]}, "one of them always holds"),
    ({"not": {"all_of": [CONTAINS, {"not": CONTAINS}]}}, "they can never hold together"),
    ({"all_of": [CONTAINS, {"type": "min_length", "chars": 0}]}, "every answer would pass"),
    ({"any_of": [CONTAINS, regex(".*")]}, "matches every text"),
    ({"not": {"type": "confidence_below", "threshold": 0}}, "no answer would pass"),
    ({"all_of": []}, "needs a list of at least one check"),
    ({"any_of": []}, "needs a list of at least one check"),
    ({"type": "contains", "value": ""}, "expected text that is not empty"),
    ({"type": "contains_any", "values": []}, "expected a list of at least 1"),
    ({"type": "has_import", "module": ""}, "expected text that is not empty"),
    ({"type": "is_error", "contains": ""}, "expected text that is not empty"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "words"), VACUOUS, ids=[str(rule) for rule, _ in VACUOUS])
def test_a_check_that_decides_nothing_is_refused(rule: Rule, words: str) -> None:
    with pytest.raises(CheckSpecError) as raised:
        BUILTIN.parse(rule)
    assert len(raised.value.problems) == 1
    assert words in raised.value.problems[0].message
    assert not BUILTIN.accepts([rule])


MATCHES_SOME = [
    *(".", r"\S", "a+", "^$", "^[a-z]*$", "^(?!.*secret)", "^((?!error).)*$", r"^(?!\d+$)"),
    *("a|b", "(^|x)y", "x($|y)", r"\$5", "[$^]", "x$", "^x", "^${word}$"),
    *("(?m:a$\nb)", r"\bfoo\b", "a.*", "$?x", "(?<!x)y"),
]
FITS_SOME: list[Rule] = [
    {"type": "object"},
    {"type": ANY[1:]},
    {"required": ["a"]},
    {"properties": {"a": {"type": "string"}}},
    {"items": {"type": "string"}},
    {"minLength": 1},
    {"maximum": 5},
    {"enum": [None, True, False]},
    {"const": None},
    {"anyOf": [{"type": "object"}, {"type": "array"}]},
    {"oneOf": [{"type": "object"}, {}]},
    {"not": {"type": "object"}},
    {"if": {"type": "object"}, "then": {"required": ["a"]}},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
    {"$ref": "https://example.org/unknown"},
    {**TREE, "type": "object"},
    {"pattern": "a"},
    {"contains": {}},
    {"uniqueItems": True},
    {"additionalProperties": False},
    {"dependentRequired": {"a": ["b"]}},
    {"propertyNames": {"pattern": "^x"}},
]
DECIDES: list[Rule] = [
    {"type": "min_length", "chars": 1},
    {"type": "max_results", "count": 0},
    {"type": "confidence_above", "threshold": 0.01},
    {"type": "confidence_below", "threshold": 100},
    {"type": "equals", "value": ""},
    {"type": "equals", "value": None},
    path("$"),
    path("$", value_type="object"),
    path(exists=False),
    path("$.a[*]", count=2),
    path("$.a", count=0),
    path(gt=3, lt=5),
    path(equals="${n}", gt=3),
    {**path(gt=1), "in": [1, 2]},
    {"any_of": [{**CONTAINS, "caseSensitive": True}, {"not": CONTAINS}]},
    path(gte=3, lte=3),
    path(gt=3, lt="5"),
    path(length=0),
    path(max_length=0),
    path(contains=0),
    *map(regex, MATCHES_SOME),
    *map(schema, FITS_SOME),
    {"any_of": [CONTAINS, {"type": "has_citation"}]},
    {"any_of": [CONTAINS, {"all_of": [{"not": CONTAINS}, {"type": "has_citation"}]}]},
    {"any_of": [{"type": "is_error", "contains": "x"}, {"type": "not_error"}]},
]  # fmt: skip


@pytest.mark.parametrize("rule", DECIDES, ids=str)
def test_a_check_that_decides_something_is_accepted(rule: Rule) -> None:
    assert BUILTIN.accepts([rule])
    BUILTIN.parse(rule)


def test_the_mistake_is_at_its_key() -> None:
    with pytest.raises(CheckSpecError) as raised:
        BUILTIN.parse({"any_of": [CONTAINS, {"not": {"type": "min_length", "chars": 0}}]})
    assert [problem.path for problem in raised.value.problems] == [("any_of", 1, "not", "chars")]
