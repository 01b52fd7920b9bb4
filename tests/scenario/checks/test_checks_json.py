"""Checks of JSON, of structured content, and of the call itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest

from pytest_mcpeval import Check, CheckSpecError, Response
from pytest_mcpeval.kinds.scenario.checks import BUILTIN, allows_error
from pytest_mcpeval.kinds.scenario.checks.schemas import errors_by

DATA = {"items": [{"id": 1, "name": "Ab"}, {"id": 2, "name": None}], "ok": True, "day": "2026-01-31"}
AS_TEXT = Response(json.dumps(DATA))


def evaluate(rule: dict[str, Any], response: Response = AS_TEXT) -> Check:
    return BUILTIN.parse(rule).evaluate(response)


def problems(rule: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(CheckSpecError) as caught:
        BUILTIN.parse(rule)
    return [(problem.path, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ({"path": "$.ok"}, "$.ok selects 1 value"),
        ({"path": "$.zz", "exists": False}, "nothing at $.zz"),
        ({"path": "$.items[*]", "count": 2}, "$.items[*] selects 2 values"),
        ({"path": "$.zz", "count": 0}, "nothing at $.zz"),
        ({"path": "$.items[0].id", "equals": 1}, "$.items[0].id is equal to 1"),
        ({"path": "$.items[0].id", "equals": 1.0}, "$.items[0].id is equal to 1.0"),
        ({"path": "$.items[1].name", "equals": None}, "$.items[1].name is equal to null"),
        ({"path": "$.items[0]", "equals": {"name": "Ab", "id": 1}}, None),
        ({"path": "$.items[*].id", "not_equals": 3}, "$.items[*].id is other than 3"),
        ({"path": "$.items[*].id", "gt": 0, "lte": 2}, "$.items[*].id is > 0 and ≤ 2"),
        ({"path": "$.items[*].id", "gt": 1, "match": "any"}, None),
        ({"path": "$.items[*].id", "lt": 2, "match": "first"}, None),
        ({"path": "$.day", "gte": "2026-01-01", "lt": "2026-02-01"}, None),
        ({"path": "$.items[*].id", "in": [1, 2]}, None),
        ({"path": "$.items[0].name", "contains": "aB", "matches": "^a"}, None),
        ({"path": "$.items[0].name", "contains": "b", "matches": "^A", "caseSensitive": True}, None),
        ({"path": "$.items[*].id", "value_type": "integer"}, None),
        ({"path": "$.items", "contains": {"id": 2, "name": None}, "length": 2}, None),
        ({"path": "$", "contains": "ok", "minLength": 3, "max_length": 3, "valueType": "object"}, None),
        ({"path": "$.items[?@.id > 1].name", "value_type": "null"}, None),
        ({"path": "$.ok", "value_type": "boolean"}, None),
        ({"path": "$.day", "value_type": "string", "not_equals": "x"}, None),
        ({"path": "$.items", "value_type": "array"}, None),
        ({"path": "$..id", "value_type": "number", "count": 2}, None),
    ],
)
def test_json_path_holds(operators: dict[str, Any], message: str | None) -> None:
    check = evaluate({"type": "json_path", **operators})
    assert check.status == "passed", check.message
    assert message is None or check.message == message


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ({"path": "$.zz"}, "nothing at $.zz"),
        ({"path": "$.zz", "not_equals": 1}, "nothing at $.zz"),
        ({"path": "$.ok", "exists": False}, "$.ok selects 1 value"),
        ({"path": "$.items[*]", "count": 3}, "$.items[*] selects 2 values, expected 3"),
        ({"path": "$.ok", "equals": 1}, "$.ok is true, not equal to 1"),
        ({"path": "$.items[*].id", "gt": 1}, "$.items[0].id is 1, not > 1"),
        ({"path": "$.items[*].id", "gt": 5}, "$.items[0].id is 1, not > 5 (and 1 more)"),
        ({"path": "$.items[*].id", "gt": 5, "match": "any"}, "$.items[0].id is 1, not > 5 (and 1 more)"),
        ({"path": "$.items[*].id", "gt": 1, "match": "first"}, "$.items[0].id is 1, not > 1"),
        ({"path": "$.day", "gt": 5}, '$.day is "2026-01-31", not > 5'),
        ({"path": "$.ok", "gte": 1}, "$.ok is true, not ≥ 1"),
        ({"path": "$.ok", "in": [1]}, "$.ok is true, not one of [1]"),
        ({"path": "$.ok", "value_type": "number"}, '$.ok is true, not of type "number"'),
        ({"path": "$.ok", "length": 4}, "$.ok is true, not of length 4"),
        ({"path": "$.items", "min_length": 3}, None),
        ({"path": "$.day", "max_length": 3}, '$.day is "2026-01-31", not of length ≤ 3'),
        ({"path": "$.items[0].id", "matches": "1"}, '$.items[0].id is 1, not matching "1"'),
        (
            {"path": "$.items[0].name", "matches": "^a", "case_sensitive": True},
            '$.items[0].name is "Ab", not matching "^a"',
        ),
        ({"path": "$.items[0].name", "contains": "B", "caseSensitive": True}, None),
        ({"path": "$.items[0].id", "contains": 1}, "$.items[0].id is 1, not containing 1"),
        ({"path": "$.day", "source": "structured"}, "the response has no structured content"),
    ],
)
def test_json_path_fails(operators: dict[str, Any], message: str | None) -> None:
    check = evaluate({"type": "json_path", **operators})
    assert check.status == "failed"
    assert message is None or check.message == message


def test_structured_content_comes_first() -> None:
    response = Response('{"a": "text"}', structured={"a": "structured"})
    rule = {"type": "json_path", "path": "$.a"}
    assert evaluate({**rule, "equals": "structured"}, response).passed
    assert evaluate({**rule, "equals": "text", "source": "text"}, response).passed
    assert evaluate(
        {"type": "json_path", "path": "$", "equals": False}, Response("x", structured=False)
    ).passed


@pytest.mark.parametrize("text", ["", "plain", '{"a": NaN}', "[" * 100_000])
def test_no_json_fails_negated_or_not(text: str) -> None:
    rule = {"type": "json_path", "path": "$.a", "exists": False}
    for check in (evaluate(rule, Response(text)), evaluate({"not": rule}, Response(text))):
        assert check.status == "failed"
        assert check.message.startswith("the text is not JSON (")


@pytest.mark.parametrize(
    ("parameters", "path", "message"),
    [
        ({"path": "a.b"}, "path", 'not a JSONPath: "a.b" should begin with $, such as $.items[0].id'),
        ({"path": "$.a["}, "path", 'not a JSONPath (RFC 9535): "$.a[": unexpected end of query'),
        ({"path": "$", "gt": [1]}, "gt", "expected a number or a text to compare with, found [1]"),
        ({"path": "$", "in": []}, "in", "expected at least 1 entry, found a list with 0 entries"),
        ({"path": "$", "count": -1}, "count", "expected a number of at least 0, found -1"),
        (
            {"path": "$", "matches": "("},
            "matches",
            "not a regular expression: missing ) at position 1 of '('",
        ),
        (
            {"path": "$", "match": "som"},
            "match",
            'expected "all", "any" or "first", found "som"',
        ),
        (
            {"path": "$", "value_type": "strng"},
            "value_type",
            'expected "string", "number", "integer", "boolean", "array", "object" or "null", '
            'found "strng" (did you mean "string"?)',
        ),
    ],
)
def test_json_path_load_errors(parameters: dict[str, Any], path: str, message: str) -> None:
    assert problems({"type": "json_path", **parameters}) == [((path,), message)]


def test_case_is_about_texts() -> None:
    message = "caseSensitive is for contains and matches only; remove it or add one of them"
    assert problems({"type": "json_path", "path": "$", "equals": "a", "caseSensitive": True}) == [
        ((), message)
    ]


def test_absence_stands_alone() -> None:
    message = "exists: false leaves nothing to compare; remove it or the other operators"
    assert problems({"type": "json_path", "path": "$", "exists": False, "gt": 1}) == [((), message)]


@pytest.mark.parametrize(
    ("rule", "response", "status", "message"),
    [
        ({"value": " a b\n"}, Response("\r\na b "), "passed", 'equals "a b"'),
        ({"value": "a"}, Response("b"), "failed", 'the text is "b", not "a"'),
        (
            {"value": "x" * 50 + "a"},
            Response("x" * 50 + "b"),
            "failed",
            'the text differs from character 51 on: "b", not "a"',
        ),
        ({"value": "1"}, Response("1", structured=1), "passed", 'equals "1"'),
        ({"value": "1", "source": "structured"}, Response("1", structured=1), "failed", '1 is not "1"'),
        ({"value": {"a": [1, None]}}, Response('{"a": [1.0, null]}'), "passed", 'equals {"a": [1.0, null]}'),
        ({"value": True}, Response("1"), "failed", "1 is not true"),
        ({"value": None}, Response("null"), "passed", "equals null"),
        ({"value": 1, "path": "$.a"}, Response('{"a": 1}'), "passed", "$.a is 1"),
        ({"value": 1, "path": "$[*]"}, Response("[1, 2]"), "failed", "$[1] is 2, not 1"),
        ({"value": 1, "path": "$.b"}, Response('{"a": 1}'), "failed", "nothing at $.b"),
    ],
)
def test_equals(rule: dict[str, Any], response: Response, status: str, message: str) -> None:
    check = evaluate({"type": "equals", **rule}, response)
    assert (check.status, check.message) == (status, message)


SCHEMA = {"type": "object", "required": ["id"], "properties": {"n": {"type": "integer"}}}


def test_matches_schema() -> None:
    rule = {"type": "matches_schema", "schema": SCHEMA}
    assert evaluate(rule, Response('{"id": 1}')).message == "valid against the schema"
    check = evaluate(rule, Response('{"n": "x"}'))
    assert check.status == "failed"
    assert check.message == "$.n: 'x' is not of type 'integer' (and 1 more)"
    assert check.details == {
        "errors": ["$.n: 'x' is not of type 'integer'", "$: 'id' is a required property"]
    }


def test_old_drafts_are_honoured() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    assert not evaluate({"type": "matches_schema", "schema": schema}, Response("[1]")).passed


def test_own_output_schema() -> None:
    rule = {"type": "matches_schema", "output_schema": True}
    assert evaluate(rule, Response("", structured={"id": 1}, output_schema=SCHEMA)).passed
    assert evaluate(rule, Response("", structured={}, output_schema=SCHEMA)).status == "failed"
    no_content = evaluate(rule, Response('{"id": 1}', output_schema=SCHEMA))
    assert (no_content.status, no_content.message) == ("failed", "the response has no structured content")
    undeclared = evaluate(rule, Response("", structured={"id": 1}))
    assert undeclared.status == "inconclusive"
    assert undeclared.message == (
        "the server declares no output schema for this tool; "
        "declare an outputSchema in the server, or give schema: {…} here"
    )
    broken = evaluate(rule, Response("", structured={}, output_schema={"type": "strin"}))
    assert broken.message.startswith("the output schema of the server is not a JSON Schema: $.type: 'strin'")


class AnySchema(BaseHTTPRequestHandler):
    """Serves a schema that accepts objects, and remembers that it was asked."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"type": "object"}')

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def schema_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), AnySchema) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/schema.json"
        server.shutdown()
        thread.join()


def test_nothing_is_fetched(schema_url: str) -> None:
    rule = {"type": "matches_schema", "schema": {"$ref": schema_url}}
    message = f"the schema refers to {schema_url}, which is not in it (nothing is fetched)"
    for check in (evaluate(rule), evaluate({"not": rule})):
        assert (check.status, check.message) == ("failed", message)
    assert AnySchema.asked == []


def test_schema_load_errors() -> None:
    either = "matches_schema needs either schema: {…} or output_schema: true"
    assert problems({"type": "matches_schema"}) == [((), either)]
    assert problems({"type": "matches_schema", "schema": {"type": "object"}, "output_schema": True}) == [
        ((), either)
    ]
    ((path, message),) = problems(
        {"type": "matches_schema", "schema": {"properties": {"a": {"type": "strin"}}}}
    )
    assert path == ("schema",)
    assert message.startswith("not a JSON Schema: $.properties.a.type: 'strin' is not valid")
    assert problems({"type": "matches_schema", "outputSchema": True, "source": "text"}) == [
        ((), "output_schema is about structured content; remove source: text")
    ]


SLOW = "(a|aa)+$"
SLOW_TEXT = "a" * 60 + "!"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": SLOW}, SLOW_TEXT),
        ({"patternProperties": {SLOW: False}}, {SLOW_TEXT: 1}),
        ({"patternProperties": {SLOW: {}}, "additionalProperties": False}, {SLOW_TEXT: 1}),
        ({"propertyNames": {"pattern": SLOW}}, {SLOW_TEXT: 1}),
        (
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "pattern": SLOW,
                "items": {"$ref": "#"},
            },
            [SLOW_TEXT],
        ),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"patternProperties": {SLOW: {}}}},
                "unevaluatedProperties": False,
            },
            {SLOW_TEXT: 1},
        ),
    ],
)
def test_a_slow_pattern_of_a_schema_fails_in_time(
    schema: dict[str, Any], value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_mcpeval.kinds.scenario.checks.javascript_regex.TIMEOUT_SECONDS", 0.05)
    rule = {"type": "matches_schema", "schema": schema}
    for check in (
        evaluate(rule, Response(json.dumps(value))),
        evaluate({"not": rule}, Response(json.dumps(value))),
    ):
        assert (check.status, check.message) == ("failed", "the regular expression timed out after 0.05 s")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"pattern": r"^\p{L}+$"}, "Größe", "a1"),
        ({"pattern": "^[^]$"}, "\n", "ab"),
        ({"pattern": r"^\d$"}, "3", "٣"),
        ({"pattern": "^a"}, 5, "A"),
        ({"patternProperties": {r"^\p{Lu}": {"type": "integer"}}}, {"Äb": 1, "äb": ""}, {"Äb": ""}),
        ({"patternProperties": {r"^\p{Lu}": {}}, "additionalProperties": False}, {"Ä": 1}, {"Ä": 1, "ä": 1}),
        (
            {
                "properties": {"b": {}},
                "patternProperties": {"^a": {}},
                "additionalProperties": {"type": "null"},
            },
            {"a": 1, "b": 1, "c": None},
            {"a": 1, "c": 1},
        ),
        (
            {
                "allOf": [{"$ref": "#/$defs/upper"}],
                "$defs": {"upper": {"patternProperties": {r"^\p{Lu}": {"type": "integer"}, "^.$": {}}}},
                "unevaluatedProperties": False,
            },
            {"Äb.": 1, "x": ""},
            {"Äb.": 1, "xy": 1},
        ),
        (
            {
                "patternProperties": {"^a": {"type": "integer"}, "a": {"minimum": 3}},
                "unevaluatedProperties": False,
            },
            {"a": 3},
            {"a": 2},
        ),
        (
            {"properties": {"patternProperties": {"type": "object"}}, "unevaluatedProperties": False},
            {"patternProperties": {"(": 1}},
            {"patternProperties": 1},
        ),
    ],
)
def test_patterns_of_a_schema_have_the_meaning_of_javascript(
    schema: dict[str, Any], good: Any, bad: Any
) -> None:
    rule = {"type": "matches_schema", "schema": schema}
    assert evaluate(rule, Response(json.dumps(good))).message == "valid against the schema"
    assert evaluate({"not": rule}, Response(json.dumps(bad))).status == "passed"
    found = errors_by(schema)
    assert [bool(list(found(value))) for value in (good, bad, good, bad)] == [False, True, False, True]


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"pattern": "("}, "$.pattern"),
        ({"properties": {"a": {"items": {"pattern": "("}}}}, "$.properties.a.items.pattern"),
        ({"anyOf": [{}, {"patternProperties": {"(": {}}}]}, "$.anyOf[1].patternProperties"),
        ({"$defs": {"a": {"not": {"pattern": "("}}}}, "$['$defs'].a.not.pattern"),
        ({"patternProperties": {"a": {"pattern": "("}}}, "$.patternProperties.a.pattern"),
    ],
)
def test_a_bad_pattern_of_a_schema_is_a_load_error(schema: dict[str, Any], place: str) -> None:
    message = f"{place}: not a regular expression: missing ) at position 1 of '('"
    ((path, found),) = problems({"type": "matches_schema", "schema": schema})
    assert path == ("schema",)
    assert found.replace('$["$defs"]', "$['$defs']") == f"not a JSON Schema: {message}"
    own = evaluate(
        {"type": "matches_schema", "output_schema": True}, Response("", structured={}, output_schema=schema)
    )
    assert own.status == "failed"
    assert "is not a JSON Schema: $" in own.message


def test_what_only_looks_like_a_pattern_is_none() -> None:
    schema = {
        "properties": {"pattern": {"enum": ["("]}},
        "examples": [{"pattern": "("}],
        "default": {"pattern": "("},
    }
    assert (
        evaluate({"type": "matches_schema", "schema": schema}, Response('{"pattern": "("}')).status
        == "passed"
    )


@pytest.mark.parametrize(
    ("response", "path", "found"),
    [
        (Response("[1, 2, 3]"), None, 3),
        (Response('{"items": [1, 2]}'), None, 2),
        (Response('{"total": 9, "data": [], "results": [1]}'), None, 1),
        (Response("", structured={"result": [1]}), None, 1),
        (Response('{"a": {"b": [1, 2, 3, 4]}}'), "$.a.b", 4),
        (Response('{"a": [{"b": 1}, {"b": 2}]}'), "$.a[*].b", 2),
        (Response('{"a": []}'), "$.a[*]", 0),
    ],
)
def test_results_are_counted(response: Response, path: str | None, found: int) -> None:
    place = {"path": path} if path else {}
    for name, limit, passes in [
        *([("min_results", found, True)] if found else []),
        ("min_results", found + 1, False),
        ("max_results", found, True),
        *([("max_results", found - 1, False)] if found else []),
    ]:
        check = evaluate({"type": name, "count": limit, **place}, response)
        assert (check.passed, check.details) == (passes, {"results": found})
    failing = evaluate({"type": "min_results", "count": found + 1, **place}, response)
    assert failing.message == f"{found} results < {found + 1}"


@pytest.mark.parametrize(
    ("response", "path", "reason"),
    [
        (
            Response("three things"),
            None,
            "the text is not JSON (Expecting value: line 1 column 1 (char 0)): ",
        ),
        (Response('{"a": [1]}'), None, "no known list in the JSON"),
        (Response("3"), None, "no known list in the JSON"),
        (Response('{"a": 1}'), "$.a", "no array at $.a"),
        (Response("{}"), "$.a", "no array at $.a"),
    ],
)
def test_no_list_is_inconclusive(response: Response, path: str | None, reason: str) -> None:
    place = {"path": path} if path else {}
    for rule in ({"type": "max_results", "count": 9, **place}, {"type": "min_results", "count": 1, **place}):
        for check in (evaluate(rule, response), evaluate({"not": rule}, response)):
            assert check.status == "inconclusive"
            assert check.message.startswith(f"no results to count: {reason}")
            assert check.message.endswith("; name the list with path, such as path: $.results")


ERROR = Response("Unknown project: Doge", is_error=True)


@pytest.mark.parametrize(
    ("rule", "response", "status", "message"),
    [
        ({"type": "is_error"}, ERROR, "passed", 'tool error as expected: "Unknown project: Doge"'),
        ({"type": "is_error", "contains": "UNKNOWN"}, ERROR, "passed", None),
        (
            {"type": "is_error", "contains": "x"},
            ERROR,
            "failed",
            'tool error without "x": "Unknown project: Doge"',
        ),
        ({"type": "is_error"}, Response("fine"), "failed", 'no tool error: "fine"'),
        ({"type": "not_error"}, Response("fine"), "passed", "no tool error"),
        ({"type": "not_error"}, ERROR, "failed", 'tool error: "Unknown project: Doge"'),
        (
            {"type": "max_latency_ms", "ms": 100},
            Response("", latency_ms=100),
            "passed",
            "latency 100 ms ≤ 100 ms",
        ),
        (
            {"type": "max_latency_ms", "ms": 100},
            Response("", latency_ms=120.4),
            "failed",
            "latency 120 ms > 100 ms",
        ),
    ],
)
def test_call(rule: dict[str, Any], response: Response, status: str, message: str | None) -> None:
    check = evaluate(rule, response)
    assert check.status == status
    assert message is None or check.message == message


@pytest.mark.parametrize(
    ("rule", "allows"),
    [
        ({"type": "is_error"}, True),
        ({"type": "not_error"}, False),
        ({"type": "contains", "value": "x"}, False),
        ({"not": {"type": "is_error"}}, False),
        ({"not": {"type": "not_error"}}, True),
        ({"not": {"not": {"type": "is_error"}}}, True),
        ({"any_of": [{"type": "has_citation"}, {"type": "is_error"}]}, True),
        ({"all_of": [{"any_of": [{"not": {"type": "not_error"}}]}]}, True),
        ({"any_of": [{"type": "has_citation"}, {"not": {"type": "is_error"}}]}, False),
    ],
)
def test_allows_error(rule: dict[str, Any], allows: bool) -> None:
    assert allows_error([BUILTIN.parse({"type": "has_citation"}), BUILTIN.parse(rule)]) is allows
