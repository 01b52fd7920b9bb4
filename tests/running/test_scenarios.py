"""Scenario suites run against a real server: arguments, aliases, steps, captures, concurrency, MCP_URL."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import Case, Project, Run

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


# (settings of a suite, the tool of its case, what the answer is)
NAMES = [
    ("tool_prefix: docs_", "ask", "mina was asked: x"),
    ("tool_prefix: docs_", "docs_ask", "mina was asked: x"),
    ("toolPrefix: docs_", "ask", "mina was asked: x"),
    ("tools: {ask_docs: docs_ask}", "ask_docs", "mina was asked: x"),
    ("tools: {ask_docs: docs_ask}", "docs_ask", "mina was asked: x"),
    ("send_project: false", "docs_ask", "none was asked: x"),
]


def named(settings: str, tool: str, sent: str) -> str:
    return f"""
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


CHECKS = """
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

REJECTED = """
name: rejected
version: "1"
tests:
  - id: unknown-resource
    steps:
      - resource: nothing://at-all
        expect_rejection: true
        expected: {validations: [{type: is_error, contains: unknown resource}]}
      - tool: docs_ask
        input: {question: still there}
        expected: {expectedKeywords: [still there]}
  - id: unknown-tool
    tool: docs_nothing
    input: {}
    expect_rejection: true
    expected: {validations: [{not: {type: not_error}}, {type: contains, value: docs_nothing}]}
  - id: other-words
    tool: docs_nothing
    input: {}
    expect_rejection: true
    expected: {validations: [{type: is_error, contains: no such words}]}
  - id: own-error
    tool: docs_load
    input: {id: none}
    expected: {validations: [{type: is_error, contains: docs_load}]}
  - id: not-allowed-for
    tool: docs_load
    input: {id: none}
    expected: {validations: [{type: contains, value: docs_load}]}
"""


@pytest.fixture(scope="module", params=[(), ("-n2",)], ids=["serial", "n2"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of all suites above against the notes server."""
    project = project_at(tmp_path_factory.mktemp("notes"), "notes", "python", "server.py")
    project.write("server.py", SERVER)
    suites = {"steps": STEPS, "checks": CHECKS, "rejected": REJECTED}
    for number, (settings, tool, sent) in enumerate(NAMES):
        suites[f"names{number}"] = named(settings, tool, sent)
    for name, text in suites.items():
        project.write(f"datasets/{name}.yaml", text)
    done = project.run(*request.param, "--mcpeval-report", "report")
    assert done.last_line.startswith("4 failed, 10 passed in"), done.out
    return done


def project_at(path: Path, server: str, command: str, *arguments: str) -> Project:
    """A project with one server that is a process of its own."""
    project = Project(path)
    servers = {server: {"command": command, "args": list(arguments)}}
    project.write_json(".mcp.json", {"mcpServers": servers})
    project.write("pytest.ini", "[pytest]\n")
    return project


def cases(run: Run, suite: str) -> dict[str, Any]:
    """Case → what the report says of it."""
    return {found["id"]: found for found in run.report()["suites"][f"datasets/{suite}.yaml"]["cases"]}


def answers(run: Run, suite: str, case: str) -> list[str]:
    found = run.report()["run"]["suites"][f"datasets/{suite}.yaml"]["cases"]
    return [answer["text"] for answer in found[case]["answers"]]


@pytest.mark.parametrize("number", range(len(NAMES)), ids=lambda n: f"{NAMES[n][0]}, {NAMES[n][1]}")
def test_tool_names_and_the_project_argument(run: Run, number: int) -> None:
    assert cases(run, f"names{number}")["a"]["outcome"] == "passed"
    assert answers(run, f"names{number}", "a") == [NAMES[number][2]]


def test_steps_hand_captured_values_on(run: Run) -> None:
    found = cases(run, "steps")
    assert (found["chain"]["outcome"], found["broken"]["outcome"]) == ("passed", "failed")
    assert answers(run, "steps", "chain")[1:] == [
        "remember the milk",
        "note n0: remember the milk",
        "Summarise note n0: remember the milk",
    ]
    pytest.LineMatcher(run.lines).fnmatch_lines(
        [
            "  ✗ step 1, capture: cannot capture 'note': $.nothing matches nothing in the answer",
            "  [?] step 2, min_length: not called, because an earlier step got no answer",
        ]
    )


def test_every_check_is_listed_even_after_a_failure(run: Run) -> None:
    pytest.LineMatcher(run.lines).fnmatch_lines(
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
            "datasets/checks.yaml:5",
            "  >  5 |       - id: a",
        ]
    )
    checks = cases(run, "checks")["a"]["checks"]
    assert [check["passed"] for check in checks] == [False, False, False, True, False, True, False]


def test_a_rejected_call_is_judged_where_a_check_allows_for_an_error(run: Run) -> None:
    found = cases(run, "rejected")
    assert [case["outcome"] for case in found.values()] == ["passed", "passed", "failed", "passed", "failed"]
    checks = {
        name: [(c["rule"]["type"], c["status"]) for c in case["checks"]] for name, case in found.items()
    }
    assert checks["other-words"] == [("rejected", "passed"), ("is_error", "failed")]
    assert checks["not-allowed-for"] == [("not_error", "failed"), ("contains", "passed")]
    assert "docs_nothing" in answers(run, "rejected", "unknown-tool")[0]


@pytest.fixture
def meeting(tmp_path: Path) -> Project:
    """A project whose server answers only when sixteen calls are in progress at once."""
    return project_at(tmp_path, "faulty", sys.executable, str(FAULTY))


def meet_cases(count: int, **fields: Any) -> list[Case]:
    expected = {"validations": [{"type": "equals", "value": "met"}]}
    return [
        {"id": f"m{n:02}", "tool": "meet", "input": {}, "timeout": 15, "expected": expected, **fields}
        for n in range(count)
    ]


@pytest.mark.parametrize(
    "arguments",
    [[], ["-n1", "--dist", "loadfile"], ["-p", "no:xdist", "--mcpeval-concurrency", "16"]],
    ids=["serial", "n1", "by option, no xdist"],
)
def test_calls_are_prefetched_and_items_report_in_order(meeting: Project, arguments: list[str]) -> None:
    concurrency = 1 if "--mcpeval-concurrency" in arguments else 16
    meeting.suite("m.json", *meet_cases(32), concurrency=concurrency)
    run = meeting.run("-v", *arguments)
    assert run.last_line.startswith("32 passed in"), run.out
    names = [line.split("::")[1].split()[0] for line in run.lines if "PASSED" in line and "::" in line]
    assert names == [f"m{n:02}" for n in range(32)]


ALONE = """
import os

import anyio
from mcp.server import MCPServer

server = MCPServer("alone", log_level="ERROR")

@server.tool(structured_output=False)
async def alone(place: str) -> str:
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "in company"
    await anyio.sleep(0.3)
    os.remove(place)
    return "alone"
"""


CONFTESTS = {
    "autouse": """
import pytest

@pytest.fixture(autouse=True)
def each(monkeypatch):
    pass
""",
    "renamed": """
import pytest

@pytest.fixture(autouse=True, name="by_another_name")
def each():
    pass
""",
    "hook": "def pytest_runtest_setup(item):\n    pass\n",
    "per-file": """
import pytest

@pytest.fixture(autouse=True, scope="module")
def each():
    pass
""",
}

INSTALLED = """
import pytest

@pytest.fixture(autouse=True)
def of_a_plugin(tmp_path):
    pass

def pytest_runtest_setup(item):
    pass
"""


def install(project: Project, plugin: str, text: str) -> str:
    """Put a plugin on the path as pip does; what PYTHONPATH has to be."""
    project.write(f"site/{plugin}.py", text)
    project.write(
        f"site/{plugin}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {plugin}\nVersion: 1\n"
    )
    project.write(f"site/{plugin}-1.dist-info/entry_points.txt", f"[pytest11]\n{plugin} = {plugin}\n")
    return os.pathsep.join([str(project.path / "site"), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)


def test_cases_that_may_not_be_prefetched_are_not(tmp_path: Path) -> None:
    """Nor those for which the project prepares something; what an installed plugin does is no matter."""
    project = Project.at(tmp_path)
    project.write("server.py", ALONE)
    path = install(project, "preparing", INSTALLED)
    fields: dict[str, dict[str, Any]] = {
        "prefetched": {},
        "stateful": {"stateful": True},
        "fresh": {"fresh": True},
        "fixtures": {"fixtures": ["tmp_path"]},
    }
    expected = {"validations": [{"type": "equals", "value": "alone"}]}
    for name, more in fields.items():
        case = {"tool": "alone", "input": {"place": name}, "expected": expected, **more}
        project.suite(f"{name}.yaml", *({"id": f"c{n}", **case} for n in range(3)), concurrency=16)
    for name, text in CONFTESTS.items():
        project.write(f"datasets/{name}/conftest.py", text)
        case = {"tool": "alone", "input": {"place": name}, "expected": expected}
        project.suite(f"{name}/s.yaml", *({"id": f"c{n}", **case} for n in range(3)), concurrency=16)
    run = project.run("--mcpeval-report", "report", PYTHONPATH=path)
    suites = [*fields, *(f"{name}/s" for name in CONFTESTS)]
    outcomes = {name: {found["outcome"] for found in cases(run, name).values()} for name in suites}
    assert "failed" in outcomes.pop("prefetched")
    assert "failed" in outcomes.pop("per-file/s")
    assert outcomes == {name: {"passed"} for name in outcomes}


NOTED = """
import os
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("noted", log_level="ERROR")

@server.tool(structured_output=False)
def note(name: str) -> str:
    Path("asked", name).touch()
    return name

@server.tool(structured_output=False)
def state() -> str:
    return Path("state.txt").read_text()
"""

ADDS_MARKS = """
import pytest

MARKS = {
    "by-hook": [pytest.mark.skip(reason="x")],
    "by-words": [pytest.mark.skipif("True", reason="x")],
    "not-run": [pytest.mark.xfail(run=False)],
    "holds-not": [pytest.mark.skipif(False, reason="x"), pytest.mark.xfail(strict=False)],
}

def pytest_collection_modifyitems(items):
    for item in items:
        for mark in MARKS.get(item.name, ()):
            item.add_marker(mark)
"""


def note_cases(*names: str, **marks: Any) -> list[Case]:
    def of(name: str) -> Case:
        expected = {"validations": [{"type": "equals", "value": name}]}
        fields = {"marks": marks[name]} if name in marks else {}
        return {"id": name, "tool": "note", "input": {"name": name}, "expected": expected, **fields}

    return [of(name) for name in names]


@pytest.mark.parametrize("arguments", [[], ["-n2"]], ids=["serial", "n2"])
def test_a_case_that_is_skipped_is_never_asked(tmp_path: Path, arguments: list[str]) -> None:
    project = Project.at(tmp_path)
    project.write("server.py", NOTED)
    project.write("conftest.py", ADDS_MARKS)
    (tmp_path / "asked").mkdir()
    condition = {"name": "PATH", "reason": "x"}
    cases = note_cases(
        *("first", "skipped", "by-env", "env-not", "by-hook", "by-words", "not-run", "holds-not", "last"),
        **{
            "skipped": {"skip": "it destroys data"},
            "by-env": {"skipif_env": [condition]},
            "env-not": {"skipif_env": [{**condition, "when": "unset"}]},
        },
    )
    project.suite("s.yaml", *cases, concurrency=16)
    run = project.run(*arguments)
    assert run.last_line.startswith("3 passed, 4 skipped, 1 xfailed, 1 xpassed in"), run.out
    assert {path.name for path in (tmp_path / "asked").iterdir()} == {"first", "env-not", "holds-not", "last"}


@pytest.fixture(scope="module")
def http_server() -> Iterator[str]:
    """The base URL of a streamable HTTP server of mcp's own, whose endpoint is /mcp."""
    command = [sys.executable, str(OVER_HTTP), "streamable", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


# How the URL is put together and which server gets it is shown in `servers/test_definitions.py`.
@pytest.mark.parametrize(("suffix", "defined"), [("", True), ("/mcp", False)])
def test_mcp_url_names_the_server(tmp_path: Path, http_server: str, suffix: str, defined: bool) -> None:
    project = Project(tmp_path)
    project.write("pytest.ini", "[pytest]\n")
    if defined:
        servers = {"remote": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}
        project.write_json(".mcp.json", {"mcpServers": servers})
    test = {
        "id": "a",
        "tool": "echo",
        "input": {"value": "over http"},
        "expected": {"expectedKeywords": ["over http"]},
    }
    project.write_json("a.eval.json", {"name": "n", "tests": [test]})
    run = project.run(MCP_URL=http_server + suffix)
    assert run.last_line.startswith("1 passed in"), run.out


def test_one_id_of_the_bundled_suites_runs_alone() -> None:
    case = "datasets/docs/mina/basic.yaml::mina-basic-004"
    command = [sys.executable, "-m", "pytest", "--mcpeval", "-p", "no:cacheprovider", case, "-v"]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert result.returncode == 0, result.stdout
    assert "1 passed" in result.stdout
    assert f"{case} PASSED" in result.stdout
