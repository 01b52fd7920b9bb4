"""Checks that every answer would pass, or none: refused with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from pytest_mcpeval import CheckSpecError, Response
from pytest_mcpeval.kinds.scenario.checks import BUILTIN

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

LONG, X, ERROR = {"type": "min_length", "chars": 10}, {"type": "contains", "value": "x"}, {"type": "is_error"}
XY, EXACTLY_XY = {**X, "value": "xY"}, {**X, "value": "XY", "caseSensitive": True}
COVERS: list[list[Rule]] = [
    [CONTAINS, {"not": CONTAINS}],
    [{**CONTAINS, "value": "X"}, {"not": {**CONTAINS, "value": "x", "caseSensitive": False}}],
    [ERROR, {"type": "not_error"}],
    [{"any_of": [CONTAINS]}, {"not": {"not": {"not": CONTAINS}}}],
    [{"type": "min_length", "chars": 5}, {"not": LONG}],
    [X, {"not": XY}],
    [X, {"not": EXACTLY_XY}],
    [XY, {"not": EXACTLY_XY}],
    [X, {"not": {"type": "contains_all", "values": ["z", "XY"]}}],
    [{"type": "contains_any", "values": ["z", "x"]}, {"not": XY}],
    [X, {"type": "not_error"}, {"not": {**ERROR, "contains": "z"}}, {"not": X}],
    [ERROR, {"not": {**ERROR, "contains": "z"}}],
    [{"type": "min_results", "count": 4}, {"type": "max_results", "count": 3}],
    [{"type": "min_results", "count": 2, "path": "$.a"}, {"type": "max_results", "count": 7, "path": "$.a"}],
    [{"type": "confidence_above", "threshold": 50}, {"type": "confidence_below", "threshold": 50.5}],
    [{"type": "sources_count", "min": 1}, {"not": {"type": "sources_count", "min": 2}}],
    [{"type": "max_latency_ms", "ms": 9}, {"not": {"type": "max_latency_ms", "ms": 8.5}}],
    [{"type": "has_code_block"}, {"not": {"type": "has_code_block", "language": "Rust"}}],
    [{"not": {"type": "equals", "value": one}} for one in ("a", "b")],
    [{"not": {"type": "equals", "value": one}} for one in (True, 1)],
    [X, {"not": {"type": "equals", "value": "axe"}}],
    [path(), path(exists=False)],
    [path(), path(count=0)],
    [path(), {"not": path(equals=5)}],
    [{"not": path("$.a[*]", count=number)} for number in (1, 2)],
    [{"all_of": [X, LONG]}, {"all_of": [X, {"not": LONG}]}, {"not": XY}],
]
"""Of each list, one holds whatever the answer is."""
UNREACHED = [
    ("min_length", "chars", "no answer is that long, so none would pass; lower it"),
    ("sources_count", "min", "no answer has that many sources"),
    ("min_results", "count", "no list is that long, so none would pass"),
    ("max_results", "count", "no list is that long, so every one would pass"),
    ("max_latency_ms", "ms", "no call takes that long, so every answer would pass"),
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
    (path(count=0, equals=1), "count: 0 leaves nothing to compare"),
    *((path("$[*]", **{key: 10**9}), "nothing is that long") for key in ("count", "length", "min_length")),
    (path(max_length=10**9), "nothing is that long; lower it"),
    (schema({"maxLength": 10**9}), "every JSON value fits this schema"),
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
    *(({"any_of": listed}, "every answer would pass, since one of these") for listed in COVERS),
    *(({"all_of": [{"not": one} for one in listed]}, "can never pass together") for listed in COVERS),
    ({"not": {"all_of": [CONTAINS, {"not": CONTAINS}]}}, "can never pass together"),
    *(({"not": {"type": name, key: 10**12}}, words) for name, key, words in UNREACHED),
    ({"all_of": [CONTAINS, {"type": "min_length", "chars": 0}]}, "every answer would pass"),
    ({"any_of": [CONTAINS, regex(".*")]}, "matches every text"),
    ({"not": {"type": "confidence_below", "threshold": 0}}, "no answer would pass"),
    ({"all_of": []}, "needs a list of at least one check"),
    ({"any_of": []}, "needs a list of at least one check"),
    ({"type": "contains", "value": ""}, "expected a text that is not empty"),
    ({"type": "contains_any", "values": []}, "expected at least 1 entry"),
    ({"type": "has_import", "module": ""}, "expected a text that is not empty"),
    ({"type": "is_error", "contains": ""}, "expected a text that is not empty"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "words"), VACUOUS, ids=[str(rule) for rule, _ in VACUOUS])
def test_a_check_that_decides_nothing_is_refused(rule: Rule, words: str) -> None:
    with pytest.raises(CheckSpecError) as raised:
        BUILTIN.parse(rule)
    assert len(raised.value.problems) == 1
    assert words in raised.value.problems[0].message
    assert not BUILTIN.accepts([rule])


ATOMS: list[Rule] = [
    *({"type": "contains", "value": text} for text in ("x", "xy", "XY")),
    *({"type": "contains", "value": text, "caseSensitive": True} for text in ("x", "XY")),
    *({"type": name, "values": ["x", "9"]} for name in ("contains_any", "contains_all")),
    *({"type": "min_length", "chars": chars} for chars in (1, 3, 9)),
    *({"type": "equals", "value": value} for value in ("xy", "XY", 1, 1.0, True, [1])),
    *({"type": name, "count": count} for name in ("min_results", "max_results") for count in (1, 2, 3)),
    *(path("$[*]", **operators) for operators in ({}, {"exists": False}, {"count": 1}, {"gt": 1})),
    *(
        {"type": name, "threshold": value}
        for name in ("confidence_above", "confidence_below")
        for value in (5, 50)
    ),
    *({"type": "max_latency_ms", "ms": ms} for ms in (5, 10)),
    *(
        {"type": "has_code_block", **given}
        for given in ({}, {"language": "type"}, {"language": "typescript"})
    ),
    *({"type": name} for name in ("is_error", "not_error", "has_citation")),
    {"type": "is_error", "contains": "xy"},
]
TEXTS = (
    *(
        "",
        "x",
        "X",
        "xy",
        "XY",
        "1",
        "true",
        "9 x",
        "[]",
        "[1]",
        "[1, 2]",
        "[1, 2, 3]",
        "[2, 3]",
        "a long text",
    ),
    *(
        '"confidence": 1',
        '"confidence": 20',
        '"confidence": 90',
        "```\na```",
        "```type\na```",
        "```typescript\na```",
    ),
)
ANSWERS = [
    Response(text, is_error=is_error, latency_ms=latency)
    for text in TEXTS
    for is_error in (False, True)
    for latency in (5, 7, 20)
]


def drawn(chance: Random, depth: int) -> Rule:
    if depth == 0 or chance.random() < 0.2:
        rule = chance.choice(ATOMS)
        return {"not": rule} if chance.random() < 0.5 else rule
    return {
        chance.choice(["any_of", "all_of"]): [drawn(chance, depth - 1) for _ in range(chance.randint(2, 3))]
    }


def groups_in(rule: Rule) -> Iterator[Rule]:
    for name in rule.keys() & {"any_of", "all_of"}:
        yield rule
        for part in rule[name]:
            yield from groups_in(part)


def test_a_group_is_refused_only_if_no_answer_tells_that_it_decides_something() -> None:
    atoms = [BUILTIN.parse(rule) for rule in ATOMS]
    verdicts = {repr(one.rule): [one.verdict(answer) for answer in ANSWERS] for one in atoms}

    def outcomes(rule: Rule) -> list[bool | None]:
        """For each answer: whether the rule holds; None where a check of it has no evidence."""
        if "not" in rule:
            return [None if held is None else not held for held in outcomes(rule["not"])]
        if "type" in rule:
            found = verdicts[repr(BUILTIN.parse(rule).rule)]
            return [
                None if one.unjudged or one.status == "inconclusive" else one.status == "passed"
                for one in found
            ]
        ((name, parts),) = rule.items()
        combined = any if name == "any_of" else all
        return [None if None in held else combined(held) for held in zip(*map(outcomes, parts), strict=True)]

    chance = Random(11)
    refused = 0
    for rule in [drawn(chance, 2) for _ in range(2000)]:
        if BUILTIN.accepts([rule]):
            continue
        refused += 1
        assert any(len(set(outcomes(group)) - {None}) < 2 for group in groups_in(rule)), rule
    assert refused > 100


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
    {"any_of": [LONG, {"not": {"type": "min_length", "chars": 5}}]},
    {"any_of": [XY, {"not": X}]},
    {"any_of": [EXACTLY_XY, {"not": XY}]},
    {"any_of": [X, {"not": {**X, "value": "${x}"}}]},
    {"any_of": [{"not": {"type": "equals", "value": one}} for one in ("a", "${a}")]},
    {"any_of": [{"not": {"type": "equals", "value": one}} for one in (1, 1.0)]},
    {"any_of": [{"type": "equals", "value": one} for one in (1, 10**400)]},
    {"any_of": [{"type": "min_results", "count": 5}, {"type": "max_results", "count": 3}]},
    {"any_of": [{"type": "min_results", "count": 4}, {"type": "max_results", "count": 3, "path": "$.a"}]},
    {"any_of": [{"type": "contains_any", "values": ["z", "xy"]}, {"not": X}]},
    {"any_of": [path(equals=5), path(exists=False)]},
    {"any_of": [path(gt=5), path(lte=5)]},
    {"any_of": [{"all_of": [X, LONG]}, {"all_of": [{"not": X}, {"not": LONG}]}]},
    {"any_of": [{"type": "contains", "value": f"w{number}"} for number in range(3000)]},
    {"any_of": [{"all_of": [{**X, "value": f"w{n}"}, {"not": {**X, "value": f"v{n}"}}]} for n in range(60)]},
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
