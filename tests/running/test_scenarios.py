"""Scenario suites run against a real server: arguments, aliases, steps, captures, concurrency, MCP_URL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FAULTY = ROOT / "tests" / "servers" / "fault_servers" / "faulty.py"
OVER_HTTP = ROOT / "tests" / "servers" / "fault_servers" / "over_http.py"

SERVER = '''
from mcp.server import MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage

server = MCPServer("notes")
notes: dict[str, str] = {}

@server.tool()
def docs_ask(question: str, project: str = "none") -> str:
    """Answers with what it was asked."""
    return f"{project} was asked: {question}"

@server.tool()
def docs_store(text: str) -> dict[str, str]:
    """Stores a note and says under which id."""
    notes[f"n{len(notes)}"] = text
    return {"id": f"n{len(notes) - 1}", "text": text}

@server.tool()
def docs_load(id: str) -> str:
    """A stored note."""
    return notes[id]

@server.resource("note://{id}")
def note(id: str) -> str:
    return f"note {id}: {notes[id]}"

@server.prompt()
def summarise(id: str) -> list[UserMessage]:
    return [UserMessage(f"Summarise note {id}: {notes[id]}")]

server.run("stdio")
'''


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with the notes server and an empty datasets directory."""
    pytester.makepyfile(server=SERVER)
    servers = {"notes": {"command": "python", "args": ["server.py"]}}
    (pytester.path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (pytester.path / "datasets").mkdir()
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    return pytester


def run(project: pytest.Pytester, suite: str, *arguments: str) -> pytest.RunResult:
    (project.path / "datasets" / "suite.yaml").write_text(suite)
    return project.runpytest_subprocess("--mcpeval", "--mcpeval-report", "out", *arguments)


def report(project: pytest.Pytester) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.path / "out" / "report.json").read_text())
    return found


def answers(project: pytest.Pytester, case: str) -> list[str]:
    cases = report(project)["run"]["suites"]["datasets/suite.yaml"]["cases"]
    return [answer["text"] for answer in cases[case]["answers"]]


@pytest.mark.parametrize(
    ("settings", "tool", "sent"),
    [
        ("tool_prefix: docs_", "ask", "mina was asked: x"),
        ("tool_prefix: docs_", "docs_ask", "mina was asked: x"),
        ("toolPrefix: docs_", "ask", "mina was asked: x"),
        ("tools: {ask_docs: docs_ask}", "ask_docs", "mina was asked: x"),
        ("tools: {ask_docs: docs_ask}", "docs_ask", "mina was asked: x"),
        ("send_project: false", "docs_ask", "none was asked: x"),
    ],
)
def test_tool_names_and_the_project_argument(
    project: pytest.Pytester, settings: str, tool: str, sent: str
) -> None:
    suite = f"""
    name: n
    project: mina
    version: "1"
    {settings}
    tests:
      - id: a
        name: a
        tool: {tool}
        difficulty: basic
        input: {{question: x}}
        expected: {{validations: [{{type: equals, value: "{sent}"}}]}}
    """
    run(project, suite).assert_outcomes(passed=1)


STEPS = """
name: steps
version: "1"
tests:
  - id: chain
    difficulty: advanced
    steps:
      - tool: docs_store
        input: {text: remember the milk}
        expected: {validations: [{type: json_path, path: $.text, equals: remember the milk}]}
        capture: {note: $.id}
      - tool: docs_load
        input: {id: "${note}"}
        expected: {expectedKeywords: [milk]}
      - resource: note://${note}
        expected: {validations: [{type: contains, value: "note ${note}: remember"}]}
      - prompt: summarise
        input: {id: "${note}"}
        expected: {validations: [{type: contains, value: "Summarise note ${note}"}]}
  - id: broken
    steps:
      - tool: docs_store
        input: {text: x}
        capture: {note: $.nothing}
      - tool: docs_load
        input: {id: "${note}"}
        expected: {validations: [{type: min_length, chars: 1}]}
"""


@pytest.mark.parametrize("mode", [[], ["-n0"], ["-n2"]])
def test_steps_hand_captured_values_on(project: pytest.Pytester, mode: list[str]) -> None:
    result = run(project, STEPS, *mode)
    result.assert_outcomes(passed=1, failed=1)
    assert answers(project, "chain")[1:] == [
        "remember the milk",
        "note n0: remember the milk",
        "Summarise note n0: remember the milk",
    ]
    result.stdout.fnmatch_lines(
        [
            "  ✗ step 1, capture: cannot capture 'note': $.nothing matches nothing in the answer",
            "  [?] step 2, min_length: not called, because an earlier step brought no answer",
        ]
    )


def test_every_check_is_listed_even_after_a_failure(project: pytest.Pytester) -> None:
    suite = """
    name: n
    version: "1"
    tests:
      - id: a
        tool: docs_ask
        input: {question: what is a zkApp}
        expected:
          validations:
            - {type: contains, value: absent}
            - {type: has_citation}
            - {not: {type: contains, value: zkapp}}
          expectedKeywords: [zkapp, missing]
          forbiddenKeywords: [solana]
          expectedImports: [o1js]
    """
    result = run(project, suite)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "5 of 7 checks failed: contains: *absent*",
            "  ✗ contains: *absent*",
            "  ✗ has_citation: *",
            "  ✗ not: *",
            '  ✓ contains: has the keyword "zkapp"',
            '  ✗ contains: lacks the keyword "missing"',
            '  ✓ contains: is free of the forbidden keyword "solana"',
            '  ✗ has_import: lacks the import "o1js"',
            '    "question": "what is a zkApp"',
            "    none was asked: what is a zkApp",
            "datasets/suite.yaml:5",
            "  >  5 |       - id: a",
        ]
    )
    (case,) = report(project)["suites"]["datasets/suite.yaml"]["cases"]
    assert [check["passed"] for check in case["checks"]] == [False, False, False, True, False, True, False]


@pytest.fixture
def meeting(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose server answers only when sixteen calls are in progress at once."""
    servers = {"faulty": {"command": sys.executable, "args": [str(FAULTY)]}}
    (pytester.path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (pytester.path / "datasets").mkdir()
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    return pytester


def meet_cases(count: int, **fields: Any) -> list[dict[str, Any]]:
    expected = {"validations": [{"type": "equals", "value": "met"}]}
    return [
        {"id": f"m{n:02}", "tool": "meet", "input": {}, "timeout": 15, "expected": expected, **fields}
        for n in range(count)
    ]


@pytest.mark.parametrize(
    "arguments",
    [[], ["-n0"], ["-n1", "--dist", "loadfile"], ["-p", "no:xdist"], ["--mcpeval-concurrency", "16"]],
)
def test_calls_run_ahead_and_items_report_in_order(meeting: pytest.Pytester, arguments: list[str]) -> None:
    concurrency = 1 if "--mcpeval-concurrency" in arguments else 16
    data = {"name": "m", "concurrency": concurrency, "tests": meet_cases(32)}
    (meeting.path / "datasets" / "m.json").write_text(json.dumps(data))
    result = meeting.runpytest_subprocess("--mcpeval", "-v", *arguments)
    result.assert_outcomes(passed=32)
    names = [line.split("::")[1].split()[0] for line in result.outlines if "PASSED" in line and "::" in line]
    assert names == [f"m{n:02}" for n in range(32)]


@pytest.mark.parametrize("fields", [{"stateful": True}, {"fresh": True}, {"fixtures": ["tmp_path"]}])
def test_cases_that_may_not_run_ahead_do_not(meeting: pytest.Pytester, fields: dict[str, Any]) -> None:
    data = {"name": "m", "concurrency": 16, "tests": meet_cases(2, **{"timeout": 0.5, **fields})}
    (meeting.path / "datasets" / "m.json").write_text(json.dumps(data))
    # Alone, each waits for the fifteen others in vain.
    meeting.runpytest_subprocess("--mcpeval").assert_outcomes(failed=2)


@pytest.fixture
def http_server() -> Iterator[str]:
    """The base URL of a streamable HTTP server of mcp's own, whose endpoint is /mcp."""
    command = [sys.executable, str(OVER_HTTP), "streamable", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.mark.parametrize("suffix", ["", "/", "/mcp"])
@pytest.mark.parametrize("defined", [True, False])
def test_mcp_url_names_the_server(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    http_server: str,
    suffix: str,
    defined: bool,
) -> None:
    if defined:
        servers = {"remote": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}
        (pytester.path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    test = {
        "id": "a",
        "tool": "echo",
        "input": {"value": "over http"},
        "expected": {"expectedKeywords": ["over http"]},
    }
    (pytester.path / "a.eval.json").write_text(json.dumps({"name": "n", "tests": [test]}))
    monkeypatch.setenv("MCP_URL", http_server + suffix)
    pytester.runpytest_subprocess("--mcpeval").assert_outcomes(passed=1)


def test_one_id_of_the_bundled_suites_runs_alone() -> None:
    case = "datasets/docs/mina/basic.yaml::mina-basic-004"
    command = [sys.executable, "-m", "pytest", "--mcpeval", "-p", "no:cacheprovider", case, "-v"]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert result.returncode == 0, result.stdout
    assert "1 passed" in result.stdout
    assert f"{case} PASSED" in result.stdout


REJECTED = """
name: rejected
version: "1"
tests:
  - id: unknown-resource
    steps:
      - resource: nothing://at-all
        expected: {validations: [{type: is_error, contains: unknown resource}]}
      - tool: docs_ask
        input: {question: still there}
        expected: {expectedKeywords: [still there]}
  - id: unknown-tool
    tool: docs_nothing
    input: {}
    expected: {validations: [{not: {type: not_error}}, {type: contains, value: docs_nothing}]}
  - id: other-words
    tool: docs_nothing
    input: {}
    expected: {validations: [{type: is_error, contains: no such words}]}
  - id: not-allowed-for
    tool: docs_nothing
    input: {}
    expected: {validations: [{type: contains, value: docs_nothing}]}
"""


def test_a_rejected_call_is_judged_where_a_check_allows_for_an_error(project: pytest.Pytester) -> None:
    run(project, REJECTED).assert_outcomes(passed=2, failed=2)
    (found,) = report(project)["suites"].values()
    checks = {
        case["id"]: [(c["rule"]["type"], c["status"]) for c in case["checks"]] for case in found["cases"]
    }
    assert checks["other-words"] == [("is_error", "failed")]
    assert checks["not-allowed-for"] == [("answered", "failed"), ("contains", "inconclusive")]
    assert "docs_nothing" in answers(project, "unknown-tool")[0]
