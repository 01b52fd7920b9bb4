"""Captured values of every JSON type in arguments, URIs and checks, and what a prompt is sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import Response, Sample, TargetError
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.kinds.scenario.placeholders import capture
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.servers import Connections, ServerDefinition
from tests.runtimes import runtime_at
from tests.support import Project

SERVER = '''
import json
from typing import Any

from mcp.server import MCPServer

server = MCPServer("values", log_level="ERROR")


@server.tool()
def give(value: Any) -> dict[str, Any]:
    """Returns the value it is given."""
    return {"value": value}


@server.tool(structured_output=False)
def say(value: Any) -> str:
    """The value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


@server.tool()
def wrapped(value: Any) -> str:
    """The value as JSON text, which is structured content under `result` as well."""
    return json.dumps(value, ensure_ascii=False)


@server.resource("values://{value}")
def stored(value: str) -> str:
    return value


@server.prompt()
def repeat(value: str) -> str:
    return value
'''
VALUES: list[Any] = [42, 1.5, True, None, {"a": 1}, [1, "é"], "text"]
TEXTS = ["42", "1.5", "true", "null", '{"a": 1}', '[1, "é"]', "text"]
VALUES_AND_TEXTS = list(zip(VALUES, TEXTS, strict=True))


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    # Each test has a server.py of its own, in the process of all of them.
    monkeypatch.delitem(sys.modules, "server", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Project.at(tmp_path).write("server.py", SERVER)
    (tmp_path / "datasets").mkdir()
    runtime = runtime_at(tmp_path)
    yield runtime
    runtime.close()
    sys.modules.pop("server", None)


def sample_of(runtime: Runtime, *steps: dict[str, Any], **fields: Any) -> Sample:
    path = Project(runtime.settings.rootdir).suite("a.yaml", {"id": "one", "steps": list(steps), **fields})
    suite = runtime.suite(path)
    assert suite is not None
    (case,) = suite.cases
    (answers,) = runtime.prefetch.answers(suite, case)
    return runtime.kinds["scenario"].judge(suite, case, answers, runtime).redacted()


def give(value: Any) -> dict[str, Any]:
    return {"tool": "give", "input": {"value": value}, "capture": {"id": "$.value"}}


def say(value: Any, *checks: dict[str, Any]) -> dict[str, Any]:
    return {"tool": "say", "input": {"value": value}, "expected": {"validations": list(checks)}}


def texts(sample: Sample) -> list[str]:
    return [answer["text"] for answer in sample.run["answers"]]


@pytest.mark.parametrize(("value", "text"), VALUES_AND_TEXTS)
def test_inside_a_longer_text_a_captured_value_is_json(runtime: Runtime, value: Any, text: str) -> None:
    check = {"type": "equals", "value": "id: ${id}"}
    prompt = {"prompt": "repeat", "input": {"value": "id: ${id}"}, "expected": {"validations": [check]}}
    sample = sample_of(runtime, give(value), prompt)
    assert sample.outcome == "passed", sample
    assert texts(sample)[1] == f"id: {text}"


@pytest.mark.parametrize("value", [42, True, None])
def test_a_resource_that_is_all_placeholder_is_json(runtime: Runtime, value: Any) -> None:
    resource = {"resource": "${id}", "expected": {"expected_keywords": ["x"]}}
    sample = sample_of(runtime, give(value), resource)
    assert {42: "'42'", True: "'true'", None: "'null'"}[value] in sample.message


@pytest.mark.parametrize(("value", "text"), VALUES_AND_TEXTS)
@pytest.mark.parametrize("captured", [False, True])
def test_prompt_arguments_are_sent_as_json_text(
    runtime: Runtime, value: Any, text: str, captured: bool
) -> None:
    argument = "${id}" if captured else value
    prompt = {"prompt": "repeat", "input": {"value": argument}, "expected": {"expected_keywords": [text]}}
    sample = sample_of(runtime, give(value), prompt)
    assert sample.outcome == "passed", sample
    assert texts(sample)[1] == text
    assert sample.measured["calls"][1]["arguments"] == {"value": text}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "check",
    [
        {"type": "contains", "value": "${id}"},
        {"type": "contains_all", "values": ["${id}"]},
        {"any_of": [{"type": "contains", "value": "${id}"}, {"type": "has_citation"}]},
        {"all_of": [{"type": "contains", "value": "${id}"}, {"type": "json_path", "path": "$"}]},
        {"not": {"not": {"type": "contains", "value": "${id}"}}},
    ],
)
def test_a_check_of_texts_takes_a_captured_value_as_text(
    runtime: Runtime, check: dict[str, Any], value: Any
) -> None:
    assert sample_of(runtime, give(value), say("${id}", check)).outcome == "passed"


def test_a_group_keeps_the_type_where_it_fits(runtime: Runtime) -> None:
    typed = {"type": "json_path", "path": "$", "equals": "${id}"}
    group = {"all_of": [{"type": "contains", "value": "${id}"}, typed]}
    assert sample_of(runtime, give(42), say("${id}", group)).outcome == "passed"


NOT_XY = {"not": {"type": "contains", "value": "xy"}}


@pytest.mark.parametrize("negated", [False, True])
def test_a_value_that_makes_no_check_is_an_error_of_its_case(runtime: Runtime, negated: bool) -> None:
    rule: dict[str, Any] = {"type": "equals", "value": "x", "path": "${id}"}
    rule = {"not": rule} if negated else rule
    sample = sample_of(runtime, give("("), say("x", rule, {"type": "contains", "value": "x"}))
    assert sample.outcome == "error"
    wrong, right = sample.checks
    assert (wrong.status, right.status) == ("failed", "passed")
    assert wrong.message.startswith("this check is invalid after captured values are filled in: ")
    assert "\n" not in wrong.message


@pytest.mark.parametrize(
    ("check", "value", "holds"),
    [
        ({"type": "min_length", "chars": "${id}"}, 2, True),
        ({"type": "min_length", "chars": "${id}"}, 99, False),
        ({"type": "json_path", "path": "$", "length": "${id}"}, 2, True),
        ({"type": "json_path", "path": "$[*]", "count": "${id}"}, 3, False),
        ({"type": "json_path", "path": "$[${id}]", "count": "${id}"}, 1, True),
        ({"not": {"type": "max_results", "count": "${id}"}}, 1, True),
        ({"type": "json_path", "path": "$", "value_type": "${id}"}, "array", True),
        ({"type": "contains", "value": "A", "case_sensitive": "${id}"}, True, False),
        ({"type": "contains_all", "values": "${id}"}, ["a", "b"], True),
        ({"type": "matches_schema", "schema": {"type": "array", "maxItems": "${id}"}}, 1, False),
    ],
    ids=str,
)
def test_a_captured_value_stands_where_a_check_takes_no_text(
    runtime: Runtime, check: dict[str, Any], value: Any, holds: bool
) -> None:
    sample = sample_of(runtime, give(value), say(["a", "b"], check))
    assert sample.outcome == ("passed" if holds else "failed"), sample
    assert "not valid" not in sample.message


def test_types_are_kept_value_by_value(runtime: Runtime) -> None:
    check = {"type": "contains", "value": "is ${number}", "case_sensitive": "${flag}"}
    other = {"type": "contains", "value": "${number}", "case_sensitive": "${flag}"}
    first = {
        "tool": "give",
        "input": {"value": {"number": 42, "flag": True}},
        "capture": {"number": "$.value.number", "flag": "$.value.flag"},
    }
    sample = sample_of(runtime, first, say("is 42", check, other))
    assert sample.outcome == "passed", sample
    assert sample.checks[1].rule == {"type": "contains", "value": "42", "caseSensitive": True}


@pytest.mark.parametrize(
    ("value", "path", "outcome", "message"),
    [
        (
            "5",
            "$.value",
            "error",
            'this check is invalid after captured values are filled in: expected a whole number, found "5"',
        ),
        (5, "$.no", "failed", "${here} was not captured"),
    ],
)
def test_a_value_of_the_wrong_type_or_none_does_not_pass(
    runtime: Runtime, value: Any, path: str, outcome: str, message: str
) -> None:
    check = {"not": {"type": "min_length", "chars": "${here}"}}
    first = {**give(value), "capture": {"here": path}, "expected": {"validations": [check]}}
    sample = sample_of(runtime, first)
    assert sample.outcome == outcome
    assert sample.checks[0].message == message


@pytest.mark.parametrize(
    ("rule", "value", "words"),
    [
        ({"type": "max_latency_ms", "ms": "${id}"}, 60_000, "no less than the time limit of the call, 60000"),
        ({"not": {"type": "max_latency_ms", "ms": "${id}"}}, 70_000, "no less than the time limit of the"),
        ({"type": "min_length", "chars": "${id}"}, 0, "every answer would pass"),
        ({"any_of": [{"type": "contains", "value": "${id}"}, NOT_XY]}, "x", "one of these checks passes"),
    ],
    ids=str,
)
def test_a_captured_value_makes_no_check_that_nothing_can_fail(
    runtime: Runtime, rule: dict[str, Any], value: Any, words: str
) -> None:
    sample = sample_of(runtime, give(value), say("a", rule))
    assert (sample.outcome, words in sample.message) == ("error", True), sample


@pytest.mark.parametrize(("value", "text"), VALUES_AND_TEXTS)
def test_a_key_takes_a_captured_value_as_text(runtime: Runtime, value: Any, text: str) -> None:
    check = {"type": "equals", "value": {"of ${id}": {"${id}": "${id}"}}}
    sample = sample_of(runtime, give(value), say({"of ${id}": {"${id}": "${id}"}}, check))
    assert sample.outcome == "passed", sample
    assert sample.measured["calls"][1]["arguments"] == {"value": {f"of {text}": {text: value}}}


@pytest.mark.parametrize("value", ["a+b", "1.2", "(", "\\d[^]", "$", "a-z|{2}/", 42, "é\n"])
def test_a_captured_value_in_a_pattern_stands_for_itself(runtime: Runtime, value: Any) -> None:
    step = {"prompt": "repeat", "input": {"value": "${id}"}}
    rules = [
        {"type": "matches_regex", "pattern": "^${id}$"},
        {"type": "matches_regex", "pattern": "${id}"},
        {"not": {"type": "matches_regex", "pattern": "^[^${id}]"}},
    ]
    sample = sample_of(runtime, give(value), {**step, "expected": {"validations": rules}})
    assert sample.outcome == "passed", sample


def test_a_pattern_matches_nothing_but_the_captured_value(runtime: Runtime) -> None:
    rules = [
        {"type": "matches_regex", "pattern": "^${id}$"},
        {"type": "json_path", "path": "$.answer", "matches": "^${id}$"},
    ]
    step = {"tool": "give", "expected": {"validations": rules}}
    sample = sample_of(runtime, give("1.2"), {**step, "input": {"value": "1x2"}})
    assert [check.status for check in sample.checks] == ["failed", "failed"], sample


IMPORT = "import x from 'y'"


@pytest.mark.parametrize(
    ("key", "word", "text", "holds"),
    [
        ("forbidden_keywords", 77, "leak 77", False),
        ("forbidden_keywords", 77, "clean", True),
        ("expected_keywords", "Apple", "an APPLE", True),
        ("expected_keywords", "Apple", "a pear", False),
        ("expected_imports", IMPORT, IMPORT, True),
        ("expected_imports", IMPORT, IMPORT.upper(), False),
    ],
)
def test_keywords_and_imports_with_a_captured_value_mean_what_they_mean_without(
    runtime: Runtime, key: str, word: Any, text: str, holds: bool
) -> None:
    def second(written: Any) -> dict[str, Any]:
        return {"tool": "say", "input": {"value": text}, "expected": {key: [str(written)]}}

    captured = sample_of(runtime, give(word), second("${id}"))
    assert captured.outcome == ("passed" if holds else "failed"), captured
    assert captured.checks == sample_of(runtime, give(word), second(word)).checks


@pytest.mark.parametrize("key", ["expected_keywords", "forbidden_keywords", "expected_imports"])
def test_an_empty_captured_value_is_no_keyword(runtime: Runtime, key: str) -> None:
    step = {"tool": "say", "input": {"value": "x"}, "expected": {key: ["${id}"]}}
    sample = sample_of(runtime, give(""), step)
    assert sample.outcome == "error"
    assert (
        "this check is invalid after captured values are filled in: expected a text that is not empty"
        in sample.message
    )


WRAPPED = {"results": [{"id": 7}, {"id": 8}]}


def test_json_in_a_text_that_is_wrapped_is_seen_by_checks_and_captures(runtime: Runtime) -> None:
    checks = [
        {"type": "json_path", "path": "$.results[0].id", "equals": 7},
        {"type": "min_results", "count": 2},
        {"type": "max_results", "count": 2},
        {"type": "json_path", "path": "$.result", "value_type": "string", "source": "structured"},
        {"not": {"type": "json_path", "path": "$.result", "source": "text"}},
    ]
    step = {"tool": "wrapped", "input": {"value": WRAPPED}, "expected": {"validations": checks}}
    captured = {"type": "equals", "value": "8"}
    sample = sample_of(runtime, {**step, "capture": {"id": "$.results[1].id"}}, {**say("${id}", captured)})
    assert sample.outcome == "passed", sample
    assert sample.run["answers"][0]["structured"] == {"result": texts(sample)[0]}


@pytest.mark.parametrize("value", [7, "x", None, {"a": 1}, {"a": {"result": 2}}, [1, 2], {}])
def test_what_is_wrapped_is_found_under_result_as_well(runtime: Runtime, value: Any) -> None:
    rules = [
        {"type": "equals", "path": "$", "value": value},
        {"type": "equals", "path": "$.result", "value": value},
        {"type": "json_path", "path": "$['result']", "equals": value},
        {"type": "json_path", "path": '$["result"]', "equals": value},
        {"type": "json_path", "path": "$.result", "value_type": "string", "source": "structured"},
        {"not": {"type": "json_path", "path": "$.results"}},
    ]
    step = {"tool": "wrapped", "input": {"value": value}, "expected": {"validations": rules}}
    second = say(value, {"type": "equals", "path": "$", "value": value}, {"type": "not_error"})
    second["input"] = {"value": "${id}"}
    sample = sample_of(runtime, {**step, "capture": {"id": "$.result"}}, second)
    assert [check for check in sample.checks if not check.passed] == [], sample


def test_a_result_inside_what_is_wrapped_is_found_first(runtime: Runtime) -> None:
    rules = [
        {"type": "json_path", "path": "$.result", "equals": 5},
        {"type": "json_path", "path": "$.more", "equals": 6},
    ]
    step = {"tool": "wrapped", "input": {"value": {"result": 5, "more": 6}}}
    sample = sample_of(runtime, {**step, "expected": {"validations": rules}})
    assert sample.outcome == "passed", sample


@pytest.mark.parametrize(
    "structured", [{"result": "[1]", "more": 1}, {"results": "[1]"}, {"result": "[2]"}, {"result": [2]}]
)
def test_other_structured_content_is_what_counts(structured: Any) -> None:
    check = BUILTIN.parse({"type": "equals", "value": structured, "path": "$"})
    assert check.evaluate(Response("[1]", structured=structured)).passed


def environment_step(key: str, word: str, text: str) -> dict[str, Any]:
    return {"tool": "say", "input": {"value": text}, "expected": {key: [word]}}


@pytest.mark.parametrize(
    ("key", "text", "holds"),
    [
        ("forbidden_keywords", "leak s3cr3t.key+1 here", False),
        ("forbidden_keywords", "clean", True),
        ("expected_keywords", "leak S3CR3T.KEY+1 here", True),
        ("expected_keywords", "s3cr3tXkey+1", False),
    ],
)
def test_a_check_takes_a_variable_and_no_report_shows_its_value(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, key: str, text: str, holds: bool
) -> None:
    monkeypatch.setenv("API_KEY", "s3cr3t.key+1")
    sample = sample_of(runtime, environment_step(key, "${env.API_KEY}", text))
    assert sample.outcome == ("passed" if holds else "failed"), sample
    assert "s3cr3t.key+1" not in str(sample)
    assert "${API_KEY}" in sample.checks[0].message


def test_variables_captured_values_and_literal_braces_each_mean_one_thing(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("id", "of the environment")
    monkeypatch.setenv("PATTERN", "a.c")
    monkeypatch.setenv("EMPTY", "")
    text = "${id} ${env.id} $${id} $$${env.id} ${env.NO_SUCH:-five} ${env.EMPTY:-six} ${env.EMPTY}."
    shown = "7 of the environment ${id} $${env.id} five six ."
    step = {"prompt": "repeat", "input": {"value": text}}
    rules = [
        {"type": "equals", "value": "7 ${env.id} $${id} $$${env.id} five six ."},
        {"type": "equals", "value": text},
        {"not": {"type": "matches_regex", "pattern": "^${env.PATTERN}"}},
        {"any_of": [{"type": "contains", "value": "nothing"}, {"type": "contains", "value": "$${id}"}]},
    ]
    sample = sample_of(runtime, give(7), {**step, "expected": {"validations": rules}})
    assert sample.outcome == "passed", sample
    assert texts(sample)[1] == shown.replace("of the environment", "${id}")


def test_what_a_variable_or_a_captured_value_holds_is_not_read_again(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTER", "${env.INNER} ${id}")
    monkeypatch.setenv("INNER", "wrong")
    rule = {"type": "equals", "value": '"${env.OUTER} ${id}"'}
    sample = sample_of(runtime, give("$${env.INNER} $${x}"), say("${env.OUTER} ${id}", rule))
    assert sample.outcome == "passed", sample
    assert "wrong" not in str(sample)


def test_a_variable_that_is_not_set_is_an_error_at_its_line(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH", raising=False)
    path = Project(runtime.settings.rootdir).write(
        "datasets/a.yaml",
        """\
tests:
- id: one
  tool: say
  input:
    value: "${env.NO_SUCH}"
  expected:
    validations:
    - not:
        type: contains
        value: x ${env.NO_SUCH}
""",
    )
    suite = runtime.suite(path)
    assert suite is not None
    with pytest.raises(TargetError) as raised:
        runtime.kinds["scenario"].prepare(suite, suite.cases[0], runtime)
    advice = (
        "needs the environment variable NO_SUCH, which is not set: set it, or write ${env.NO_SUCH:-default}"
    )
    assert str(raised.value) == f"datasets/a.yaml:5: {advice}\ndatasets/a.yaml:10: {advice}"


# Of a tool that returns a text: the text, and its JSON. Of others: the type, what it returns, its JSON.
RETURNS: list[tuple[str, str, Any]] = [
    ("str", "'5'", 5),
    ("str", "'hello'", "hello"),
    ("str", "'true'", True),
    ("str", "'[1, 2]'", [1, 2]),
    ("str", "'{\"result\": 1}'", {"result": 1}),
    ("int", "5", 5),
    ("float", "1.5", 1.5),
    ("bool", "False", False),
    ("list[int]", "[1, 2]", [1, 2]),
    ("list[int]", "[]", []),
    ("list[str]", "['a', 'b c']", ["a", "b c"]),
    ("list[dict[str, int]]", "[{'a': 1}, {'a': 2}]", [{"a": 1}, {"a": 2}]),
    ("list[list[int]]", "[[1], [2, 3]]", [[1], [2, 3]]),
    ("str | None", "None", None),
    ("int | None", "7", 7),
    ("list[int] | None", "None", None),
    ("dict[str, int]", "{'result': 5}", {"result": 5}),
    ("dict[str, int]", "{'other': 5}", {"other": 5}),
]


def test_all_checks_see_what_a_tool_returned(tmp_path: Path) -> None:
    """Structured content is `{"result": …}` where that is not an object, and gives way to what is in it."""
    functions = [
        f"@server.tool()\ndef tool_{number}() -> {kind}:\n    return {value}\n"
        for number, (kind, value, _) in enumerate(RETURNS)
    ]
    text = 'from mcp.server import MCPServer\n\nserver = MCPServer("returns", log_level="ERROR")\n'
    (tmp_path / "returning.py").write_text("\n".join([text, *functions]), encoding="utf-8")
    server = ServerDefinition("returns", "module", module="returning:server", directory=tmp_path)
    with Connections() as connections:
        connection = connections.get(server)
        connection.list_tools()
        for number, (kind, _, value) in enumerate(RETURNS):
            response = connection.call_tool(f"tool_{number}")
            rules: list[dict[str, Any]] = [
                {"type": "equals", "value": value},
                {"type": "equals", "value": value, "path": "$"},
                {"type": "json_path", "path": "$", "equals": value},
                {"type": "matches_schema", "schema": {"const": value}},
                {"type": "matches_schema", "output_schema": True},
            ]
            if isinstance(value, list):
                rules.append({"type": "max_results", "count": len(value)})
                rules.append({"type": "json_path", "path": "$[*]", "count": len(value)})
            if not isinstance(value, dict):
                rules.append({"type": "json_path", "path": "$.result"})
                rules.append({"type": "json_path", "path": "$.result", "source": "structured"})
            checks = [BUILTIN.parse(rule).evaluate(response) for rule in rules]
            assert all(check.passed for check in checks), (kind, response, checks)
            assert capture(response, "$") == value
