"""``pytest-mcpeval init``: what it writes passes at once, and nothing is overwritten."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.scenario.scaffold import NoArgumentsError, case_text, checks_of, sample_arguments
from pytest_mcpeval.servers import Response, Tool
from tests.support import Project

WRITTEN = {"example_server.py", "mcpeval.yaml", "datasets/example.eval.yaml"}


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_the_example_passes_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert files(tmp_path) == WRITTEN
    printed = capsys.readouterr().out
    assert all(f"wrote {name}\n" in printed for name in WRITTEN)
    assert printed.endswith("Now run:  pytest --mcpeval\n")

    run = Project(tmp_path).run("-W", "error", "-p", "no:asyncio", "-p", "no:xdist", "-p", "no:html")
    assert run.status == 0, run.out + run.err
    assert run.last_line.startswith("3 passed in")


def test_the_example_passes_inside_another_project(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    assert main(["init", "evals/here"]) == 0
    run = Project(tmp_path).run()
    assert run.status == 0, run.out + run.err
    assert run.last_line.startswith("4 passed in")


def test_a_directory_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "new/place"]) == 0
    assert files(tmp_path / "new" / "place") == WRITTEN
    assert "cd new/place && pytest --mcpeval" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_existing_files_are_left_alone(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    assert main(["init"]) == 1
    assert files(tmp_path) == {name}
    assert (tmp_path / name).read_text() == "mine"
    assert f"nothing was written, since these exist already: {name}" in capsys.readouterr().err


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", "file"]) == 1
    assert "cannot write" in capsys.readouterr().err


READING = """
import json
import time

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("My Notes", log_level="ERROR")


@server.tool(structured_output=False)
def search_notes(query: str, limit: int = 5) -> str:
    \"\"\"Search all notes: the titles of those that fit.\"\"\"
    return f"# Notes on {query}\\n" + "".join(f"{n}: {time.time()}\\n" for n in range(limit))


@server.tool()
def count_notes() -> int:
    \"\"\"Count the notes.\"\"\"
    return 3


@server.tool(structured_output=False)
def get_note(note_id: str) -> str:
    \"\"\"Read one note.\"\"\"
    return note_id


@server.tool(structured_output=False)
def list_failing() -> str:
    \"\"\"List what cannot be listed.\"\"\"
    raise RuntimeError("no shelf")


@server.tool(structured_output=False)
def delete_notes() -> str:
    \"\"\"Delete everything.\"\"\"
    open("deleted", "w").close()
    return "gone"


if __name__ == "__main__":
    server.run("stdio")
"""
ONE_MORE = """
@server.tool(structured_output=False)
def get_motto() -> str:
    \"\"\"The motto of the notes.\"\"\"
    return "Write it down."


if __name__"""


def write_server(path: Path, *, in_mcp_json: bool = True) -> list[str]:
    (path / "notes.py").write_text(READING, "utf-8")
    command = [sys.executable, str(path / "notes.py")]
    if in_mcp_json:
        definition = {"command": command[0], "args": command[1:]}
        (path / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": definition}}), "utf-8")
    return command


def test_suites_for_the_servers_of_mcp_json_pass_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_server(tmp_path)
    assert main(["init", "--ci", "github"]) == 0
    printed = capsys.readouterr().out
    assert "datasets/notes.eval.yaml: 2 cases, 3 to complete" in printed
    assert files(tmp_path) == {
        *("notes.py", ".mcp.json", "mcpeval.yaml", "datasets/notes.eval.yaml", ".github/workflows/evals.yml")
    }
    suite = (tmp_path / "datasets/notes.eval.yaml").read_text("utf-8")
    assert "- {type: contains, value: '# Notes on test'}" in suite
    assert "TODO" not in suite
    assert "nothing says which value fits the argument 'note_id'" in suite
    assert "To complete: it changes something: its description mentions 'delete'." in suite
    assert "called with {}, it answers with an error" in suite
    for _ in range(2):
        run = Project(tmp_path).run()
        assert run.status == 0, run.out + run.err
        assert run.last_line.startswith("2 passed in")
        assert "Warning" not in run.out + run.err
    assert main(["validate"]) == 0


def test_a_second_init_adds_tools_that_are_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_server(tmp_path)
    assert main(["init"]) == 0
    suite = tmp_path / "datasets/notes.eval.yaml"
    before = suite.read_text("utf-8")
    assert main(["init"]) == 0
    assert suite.read_text("utf-8") == before
    assert "datasets/notes.eval.yaml: 0 new tools" in capsys.readouterr().out
    (tmp_path / "notes.py").write_text(READING.replace("\n\nif __name__", ONE_MORE), "utf-8")
    assert main(["init"]) == 0
    after = suite.read_text("utf-8")
    assert after.startswith(before)
    assert after.count("tool: get_motto") == 1
    assert "- {type: equals, value: Write it down.}" in after
    assert Project(tmp_path).run().last_line.startswith("3 passed in")


def test_a_suite_of_a_persons_own_is_not_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_server(tmp_path)
    suite = tmp_path / "datasets/notes.eval.yaml"
    suite.parent.mkdir()
    suite.write_text("tests:\n  - {id: mine, tool: count_notes, input: {}, expected: {validations: []}}\n")
    before = suite.read_text()
    assert main(["init"]) == 0
    assert suite.read_text() == before
    assert "is yours and was not changed; it has no case of search_notes" in capsys.readouterr().out


def test_a_server_of_the_command_line_is_defined(tmp_path: Path) -> None:
    command = write_server(tmp_path, in_mcp_json=False)
    assert main(["init", "--server", shlex.join(command)]) == 0
    defined = yaml.safe_load((tmp_path / "mcpeval.yaml").read_text("utf-8"))["servers"]
    assert defined == {"my-notes": {"command": command[0], "args": command[1:]}}
    run = Project(tmp_path).run()
    assert run.status == 0, run.out + run.err
    assert main(["init", "--server", shlex.join(command)]) == 0


def test_a_project_file_without_the_server_is_not_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = write_server(tmp_path, in_mcp_json=False)
    (tmp_path / "mcpeval.yaml").write_text("servers: {other: {command: nothing}}\n")
    assert main(["init", "--server", shlex.join(command)]) == 1
    assert "mcpeval.yaml exists and defines no server 'my-notes'" in capsys.readouterr().err
    assert files(tmp_path) == {"notes.py", "mcpeval.yaml"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--server", "no-such-program-here x"], "no-such-program-here"),
        (["--server", "'unclosed"], "is not a command line: No closing quotation"),
        (["--url", "http://127.0.0.1:9/mcp"], "nothing was written"),
    ],
)
def test_a_server_that_cannot_be_asked_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["init", *arguments]) == 1
    assert words in capsys.readouterr().err
    assert not files(tmp_path)


def test_tools_are_listed_with_their_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_server(tmp_path)
    assert main(["tools"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("notes: 5 tools\n  search_notes  (reads: its name begins with 'search')\n")
    assert "    - query: string, required\n    - limit: integer, default 5\n" in shown
    assert "  delete_notes  (changes something: its description mentions 'delete')" in shown
    assert main(["tools", "notes", "count_notes", "--json"]) == 0
    (tool,) = json.loads(capsys.readouterr().out)["notes"]
    assert (tool["name"], tool["effect"], tool["description"]) == ("count_notes", "read", "Count the notes.")
    assert main(["tools", "nots"]) == 2
    assert "no server 'nots' is defined (did you mean \"notes\"?)" in capsys.readouterr().err
    assert main(["tools", "notes", "count_note"]) == 2
    assert "did you mean count_notes" in capsys.readouterr().err


def test_a_call_prints_the_answer_and_a_case_that_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_server(tmp_path)
    assert main(["call", "notes", "get_note", "note_id=5"]) == 0
    answer, case = capsys.readouterr().out.split("\nA case for a suite (below `tests:`):\n\n")
    assert answer.endswith("ms:\n5\n")
    (tmp_path / "call.eval.yaml").write_text(f"server: notes\ntests:\n{case}", "utf-8")
    run = Project(tmp_path).run()
    assert run.last_line.startswith("1 passed in"), run.out
    assert main(["call", "notes", "list_failing"]) == 1
    assert "error after" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["notes", "search_notes", "query"], "'query' is not an argument: write NAME=VALUE"),
        (
            ["notes", "search_notes", "query=x", "limit=many"],
            "limit is of type integer, and 'many' is not JSON",
        ),
        (["notes", "search_note"], "did you mean search_notes"),
        (["note", "x"], 'did you mean "notes"?'),
    ],
)
def test_a_call_that_cannot_be_made_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    write_server(tmp_path)
    assert main(["call", *arguments]) == 2
    assert words in capsys.readouterr().err


SCHEMA = {
    "type": "object",
    "properties": {
        "state": {"enum": ["open", "closed"]},
        "since": {"type": "string", "format": "date"},
        "count": {"type": "integer", "minimum": 5},
        "place": {"$ref": "#/$defs/Place"},
        "home_timezone": {"type": "string"},
        "either": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
        "names": {"type": "array", "items": {"const": "a"}, "minItems": 2},
        "free": {"type": "string"},
    },
    "$defs": {"Place": {"type": "object", "required": ["x"], "properties": {"x": {"examples": [1.5]}}}},
}


def test_arguments_come_from_the_input_schema() -> None:
    names = ["state", "since", "count", "place", "home_timezone", "either", "names"]
    assert sample_arguments(Tool("t", input_schema={**SCHEMA, "required": names})) == {
        "state": "open",
        "since": "2026-01-15",
        "count": 5,
        "place": {"x": 1.5},
        "home_timezone": "UTC",
        "either": False,
        "names": ["a", "a"],
    }
    assert sample_arguments(Tool("t", input_schema=SCHEMA)) == {}


@pytest.mark.parametrize(
    "schema",
    [
        {**SCHEMA, "required": ["free"]},
        {**SCHEMA, "required": ["unknown"]},
        {
            "$defs": {"a": {"$ref": "#/$defs/a"}},
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "required": ["x"],
        },
        {"properties": {"x": {"type": "string", "format": "date", "maxLength": 3}}, "required": ["x"]},
        {"properties": {"x": True}, "required": ["x"]},
    ],
)
def test_arguments_that_cannot_be_guessed_are_not_guessed(schema: dict[str, Any]) -> None:
    with pytest.raises(NoArgumentsError):
        sample_arguments(Tool("t", input_schema=schema))


def test_checks_are_those_that_all_answers_pass() -> None:
    answers = [Response(f"Report\nat {n}: 1234567890") for n in range(2)]
    assert checks_of(answers) == [
        {"type": "contains", "value": "Report"},
        {"type": "min_length", "chars": 11},
    ]
    data = [Response("", structured={"odd key": n, "id": None, "x": "${HOME}"}) for n in range(2)]
    assert checks_of(data) == [
        {"type": "json_path", "path": '$["odd key"]', "value_type": "number"},
        {"type": "json_path", "path": "$.id", "value_type": "null"},
        {"type": "json_path", "path": "$.x", "value_type": "string"},
    ]
    assert checks_of([Response("")]) == [{"type": "not_error"}]
    price = checks_of([Response("costs ${5}"), Response("costs ${5}")])
    (row,) = yaml.safe_load(case_text("t", {"amount": "${5}"}, price, "t"))
    assert row["input"] == {"amount": "$${5}"}
    assert row["expected"]["validations"] == [{"type": "equals", "value": "costs $${5}"}]
