"""Cases that test nothing: they ask for what does not exist, let an error by, or get an empty answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from pytest_mcpeval import Tool
from pytest_mcpeval.kinds.scenario import askable
from pytest_mcpeval.kinds.scenario.checks import schemas
from pytest_mcpeval.kinds.scenario.spec import Step
from pytest_mcpeval.servers import Connection
from tests.support import Case, Project, Run

SERVER = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("askable", log_level="ERROR")


@server.tool(structured_output=False)
def echo(text: str) -> str:
    return text


@server.tool(structured_output=False)
def search(query: str, limit: int = 5) -> str:
    return f"{limit} results for {query}"


@server.tool(structured_output=False)
def add(a: int, b: int) -> str:
    return str(a + b)


@server.tool(structured_output=False)
def fail(message: str) -> str:
    raise ToolError(message)


def late() -> str:
    return "here"


@server.tool(structured_output=False)
def bring() -> str:
    server.add_tool(late, structured_output=False)
    return "late"


@server.tool()
def found() -> list[str]:
    return []


@server.tool()
def name() -> dict[str, str]:
    return {"text": "txet"}


@server.resource("note://one")
def one() -> str:
    return "the first"


@server.resource("note://{id}/page")
def page(id: str) -> str:
    raise ValueError(f"no page of {id}")


@server.prompt()
def greet(who: str, how: str = "hello") -> str:
    return f"{how} {who}"
"""

ANY_ERROR: dict[str, Any] = {"type": "is_error"}
NOT_SECRET: dict[str, Any] = {"not": {"type": "contains", "value": "secret"}}
REJECTED = {"expect_rejection": True}


def call(tool: str, *checks: dict[str, Any], **fields: Any) -> Case:
    given = {"input": fields.pop("input", {})}
    return {"tool": tool, **given, "expected": {"validations": list(checks)}, **fields}


def steps(*given: Case) -> Case:
    return {"steps": list(given)}


def resource(uri: str, *checks: dict[str, Any], **fields: Any) -> Case:
    return {"resource": uri, "expected": {"validations": list(checks)}, **fields}


def prompt(name: str, *checks: dict[str, Any], **fields: Any) -> Case:
    return {"prompt": name, "expected": {"validations": list(checks)}, **fields}


CAPTURE: Case = {"tool": "name", "capture": {"n": "$.text"}}

ASKED_WRONGLY: dict[str, tuple[Case, str]] = {
    "tool": (call("ecoh", ANY_ERROR), "server 'askable' has no tool 'ecoh': did you mean echo"),
    "tool-of-no-check": (call("ecoh", NOT_SECRET), "server 'askable' has no tool 'ecoh'"),
    "argument": (
        call("echo", ANY_ERROR, input={"txet": "x"}),
        "`input` does not fit tool 'echo' of server 'askable': $: 'text' is a required property; "
        "'txet' is not an argument; did you mean 'text'?",
    ),
    "optional-argument": (
        call("search", {"type": "contains", "value": "results"}, input={"query": "x", "limt": 3}),
        "'limt' is not an argument; did you mean 'limit'?",
    ),
    "type": (call("add", ANY_ERROR, input={"a": "two", "b": 1}), "$.a: 'two' is not of type 'integer'"),
    "any-of": (
        call("ecoh", {"any_of": [ANY_ERROR, {"type": "contains", "value": "zzz"}]}),
        "server 'askable' has no tool 'ecoh'",
    ),
    "captured": (
        steps(CAPTURE, {**call("echo", ANY_ERROR), "input": {"${n}": "x"}}),
        "'txet' is not an argument; did you mean 'text'?",
    ),
    "resource": (
        steps(resource("note://on", ANY_ERROR)),
        "server 'askable' has no resource 'note://on': did you mean note://one",
    ),
    "prompt": (
        steps(prompt("gret", ANY_ERROR)),
        "server 'askable' has no prompt 'gret': did you mean greet?",
    ),
    "prompt-argument": (steps(prompt("greet", ANY_ERROR, input={"hwo": "x"})), "'who' is required"),
    "valid-tool": (call("echo", ANY_ERROR, input={"text": "x"}, **REJECTED), "lists the tool"),
    "valid-resource": (steps(resource("note://1/page", ANY_ERROR, **REJECTED)), "lists note://1/page"),
    "valid-prompt": (steps(prompt("greet", ANY_ERROR, input={"who": "x"}, **REJECTED)), "lists the prompt"),
}

PASSED: dict[str, Case] = {
    "unknown-tool": call("ecoh", {"type": "is_error", "contains": "unknown tool"}, **REJECTED),
    "any-words": call("ecoh", {"type": "contains", "value": "ecoh"}, **REJECTED),
    "bad-argument": call("echo", ANY_ERROR, input={"txet": "x"}, **REJECTED),
    "bad-captured": steps(CAPTURE, {**call("echo", ANY_ERROR, **REJECTED), "input": {"${n}": "x"}}),
    "rejection-alone": {"tool": "ecoh", "input": {}, **REJECTED},
    "empty-alone": steps({"tool": "echo", "input": {"text": ""}, "expect_empty": True}),
    "unknown-resource": steps(resource("note://on", ANY_ERROR, **REJECTED)),
    "unknown-prompt": steps(prompt("gret", ANY_ERROR, **REJECTED)),
    "no-argument": steps(prompt("greet", ANY_ERROR, **REJECTED)),
    "own-error": call("fail", {"type": "is_error", "contains": "boom"}, input={"message": "boom"}),
    "own-error-of-resource": steps(resource("note://1/page", ANY_ERROR)),
    "either": call(
        "fail", {"any_of": [ANY_ERROR, {"type": "contains", "value": "zzz"}]}, input={"message": "boom"}
    ),
    "not-of-neither": call(
        "fail",
        {"not": {"any_of": [{"type": "not_error"}, {"type": "contains", "value": "zzz"}]}},
        input={"message": "boom"},
    ),
    "comes-late": steps(
        {"tool": "bring"},
        {"tool": "late", "expected": {"validations": [{"type": "equals", "value": "here"}]}},
    ),
    "empty": call("echo", NOT_SECRET, input={"text": " "}, expect_empty=True),
    "empty-text": call("echo", NOT_SECRET, {"type": "equals", "value": ""}, input={"text": ""}),
    "empty-list": call("found", {"type": "equals", "value": []}, NOT_SECRET),
    "no-results": call("found", {"type": "max_results", "count": 0}),
    "content": call("echo", NOT_SECRET, input={"text": "x"}),
}

ERROR_GOT_BY = "not_error: the tool reported an error: Error executing tool fail: boom"
SAYS_NOTHING = "has_content: the answer has no content, and no check asks for any"
FAILED: dict[str, tuple[Case, str]] = {
    "accepted": (
        call("add", {"type": "equals", "value": 3}, input={"a": "1", "b": 2}, **REJECTED),
        "rejected: accepted, and answered: 3",
    ),
    "negative": (call("fail", NOT_SECRET, input={"message": "boom"}), ERROR_GOT_BY),
    "negative-branch": (
        call("fail", {"any_of": [{**ANY_ERROR, "contains": "zzz"}, NOT_SECRET]}, input={"message": "boom"}),
        ERROR_GOT_BY,
    ),
    "not-is-error": (
        call("fail", {"not": {**ANY_ERROR, "contains": "zzz"}}, input={"message": "boom"}),
        ERROR_GOT_BY,
    ),
    "forbidden": (
        {**call("echo", input={"text": ""}), "expected": {"forbiddenKeywords": ["secret"]}},
        SAYS_NOTHING,
    ),
    "all-negative": (
        call(
            "echo",
            NOT_SECRET,
            {"type": "not_error"},
            {"type": "max_latency_ms", "ms": 50_000},
            {"any_of": [{"type": "contains", "value": "x"}, NOT_SECRET]},
            input={"text": "\n"},
        ),
        SAYS_NOTHING,
    ),
    "empty-json": (call("echo", NOT_SECRET, input={"text": "[]"}), SAYS_NOTHING),
    "empty-list-negative": (call("found", {"type": "max_results", "count": 3}), SAYS_NOTHING),
    "not-empty-alone": (
        {"tool": "echo", "input": {"text": "x"}, "expect_empty": True},
        "empty: the answer has content: x",
    ),
    "not-empty": (
        call("echo", NOT_SECRET, input={"text": "x"}, expect_empty=True),
        "empty: the answer has content: x",
    ),
}


@pytest.fixture(scope="module", params=[(), ("-n2",)], ids=["serial", "n2"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of all the cases, on a server in the test process."""
    project = Project(tmp_path_factory.mktemp("askable"))
    project.write("server.py", SERVER)
    project.write_json(".mcp.json", {"mcpServers": {"askable": {"module": "server:server"}}})
    project.write("pytest.ini", "[pytest]\n")
    for name, cases in {
        "wrong": {name: case for name, (case, _) in ASKED_WRONGLY.items()},
        "passed": PASSED,
        "failed": {name: case for name, (case, _) in FAILED.items()},
    }.items():
        listed = [{"id": case_id, **case} for case_id, case in cases.items()]
        project.suite(f"{name}.json", *listed, concurrency=4)
    return project.run(*request.param, "--mcpeval-report", "report")


def found(run: Run, suite: str) -> dict[str, dict[str, Any]]:
    return {case["id"]: case for case in run.report()["suites"][f"datasets/{suite}.json"]["cases"]}


def test_what_cannot_be_asked_is_an_error_at_its_line(run: Run) -> None:
    cases = found(run, "wrong")
    assert {name: case["outcome"] for name, case in cases.items()} == dict.fromkeys(ASKED_WRONGLY, "error")
    source = (run.path / "datasets/wrong.json").read_text(encoding="utf-8").splitlines()
    for name, (case, words) in ASKED_WRONGLY.items():
        checks = [check for check in cases[name]["checks"] if check["rule"]["type"] == "askable"]
        assert len(checks) == 1, cases[name]
        place, _, message = checks[0]["message"].partition(": ")
        assert words in message, name
        file, _, line = place.rpartition(":")
        assert file == "datasets/wrong.json"
        step = case["steps"][-1] if "steps" in case else case
        key = next(key for key in ("expect_rejection", "tool", "resource", "prompt") if key in step)
        if "`input`" in message:
            key = "input"
        assert f'"{key}"' in source[int(line) - 1], name
        assert all(check["status"] != "passed" for check in cases[name]["checks"] if check not in checks)
    assert "did not call tool ecoh on server askable" in run.out
    assert "server 'askable' has no tool 'ecoh': did you mean echo" in run.out


def test_what_is_asked_rightly_is_judged(run: Run) -> None:
    outcomes = {name: case["outcome"] for name, case in found(run, "passed").items()}
    assert outcomes == dict.fromkeys(PASSED, "passed")


def test_no_error_and_no_empty_answer_passes_unasked(run: Run) -> None:
    cases = found(run, "failed")
    assert {name: case["outcome"] for name, case in cases.items()} == dict.fromkeys(FAILED, "failed")
    for name, (_, words) in FAILED.items():
        assert words in cases[name]["message"], name


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({**REJECTED, "expect_empty": True}, "has both `expect_rejection` and `expect_empty`"),
        ({"expect_rejection": "yes"}, "expect_rejection"),
    ],
)
def test_wishes_that_cannot_be_meant_are_refused(tmp_path: Any, fields: Case, words: str) -> None:
    project = Project.at(tmp_path)
    project.suite("s.json", {"id": "c", **call("echo", ANY_ERROR, **fields)})
    run = project.run()
    assert run.status == 2
    assert words in run.out


class Listing:
    """A connection whose server listed a tool, and lists it anew with another schema when asked afresh."""

    name = "listing"

    def __init__(self, *types: str) -> None:
        self._listings = [Tool("t", input_schema={"properties": {"x": {"type": one}}}) for one in types]

    def list_tools(self, *, timeout: float, fresh: bool) -> list[Tool]:
        if fresh and len(self._listings) > 1:
            del self._listings[0]
        return self._listings[:1]


def test_a_schema_is_prepared_once_for_each_listing_of_its_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[Mapping[str, Any]] = []

    def errors_by(schema: Mapping[str, Any]) -> Any:
        prepared.append(schema)
        return original(schema)

    original = schemas.errors_by
    monkeypatch.setattr(askable, "errors_by", errors_by)
    listing, step = Listing("integer", "string"), Step("tool", "t", {}, (), 1.0)

    def problem(value: object) -> str:
        found = askable.why_unaskable(step, "t", {"x": value}, cast("Connection", listing))
        return "" if found is None else found.message

    assert [problem(1), problem(2), problem(3)] == ["", "", ""]
    assert len(prepared) == 1
    # Refused by the listing at hand, and asked for anew.
    assert [problem("a"), problem("b")] == ["", ""]
    assert "1 is not of type 'string'" in problem(1)
    assert len(prepared) == 2
