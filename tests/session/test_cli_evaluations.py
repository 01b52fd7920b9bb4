"""``pytest-mcpeval interview`` and ``scope``, typed at, and the file they end with."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mcpeval import DataFileError
from pytest_mcpeval.cli import main
from pytest_mcpeval.cli.project import runtime_at
from pytest_mcpeval.kinds.session.interview import resources_in
from pytest_mcpeval.kinds.session.state import StateFile
from tests.session.evaluations import ECHO, Evaluation
from tests.support import SERVER, Project

FILE = "datasets/sessions/demo.scenarios.yaml"


@dataclass(frozen=True)
class Done:
    """What a command left on the terminal."""

    returncode: int
    stdout: str
    stderr: str


Typed = Callable[..., Done]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command in the project and types lines; its servers live in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(command: str, lines: Sequence[str], *arguments: str) -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code = main([command, *arguments])
        return Done(code, *capsys.readouterr())

    return run


def project(tmp_path: Path, *changes: tuple[str, str]) -> Project:
    """A project with one server of its own, and one of the user; ``changes`` are made to its code."""
    made = Project(tmp_path)
    source = SERVER
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    # A module of this test's own: Python loads each name once.
    name = f"server_{tmp_path.name}"
    made.write(f"{name}.py", source)
    made.write("pytest.ini", "[pytest]\n")
    made.write_json(".mcp.json", {"mcpServers": {"tiny": {"module": f"{name}:server"}}})
    made.write(f"home/{name}_user.py", source)
    made.write_json("home/.claude.json", {"mcpServers": {"mine": {"module": f"{name}_user:server"}}})
    return made


def state(made: Project) -> dict[str, Any]:
    """The state of the evaluation."""
    return Evaluation(made.path / "mcp-evals" / "mcp-eval-demo").state


ANSWERS = [
    "sandbox",
    "sandboxed",
    "",
    "hello",
    " spaced ",
    "again,  drafts/a.md",
    "",
    "Only these.",
    "skip",
    "",
]


def interviewed(tmp_path: Path, typed: Typed) -> Project:
    """A project whose interview is over."""
    made = project(tmp_path)
    done = typed("interview", ANSWERS, "--name", "demo")
    assert done.returncode == 0, done.stderr
    return made


def test_the_interview_asks_until_every_server_has_a_disposition(tmp_path: Path, typed: Typed) -> None:
    made = project(tmp_path)
    left = typed("interview", ANSWERS[:8], "--name", "demo")
    assert left.returncode == 1
    assert "the input ended; start the command again to continue" in left.stderr
    assert "there is no default" in left.stdout
    assert "name at least one" in left.stdout
    assert "2 resources: again | drafts/a.md" in left.stdout
    found = state(made)
    assert found["status"] == "interviewing"
    assert [server["name"] for server in found["attached_mcps"]] == ["tiny", "mine"]
    assert "echo" in found["attached_mcps"][0]["tools"]
    done = typed("interview", ANSWERS[8:], "--name", "demo")
    assert done.returncode == 0, done.stderr
    assert "tiny:" not in done.stdout
    assert state(made)["status"] == "scoping"
    assert state(made)["safety_dispositions"] == [
        {
            "mcp_name": "tiny",
            "disposition": "sandboxed",
            "test_resources": ["hello", " spaced ", "again", "drafts/a.md"],
            "notes": "Only these.",
        },
        {"mcp_name": "mine", "disposition": "skip", "test_resources": [], "notes": ""},
    ]
    again = typed("interview", [], "--name", "demo")
    assert again.returncode == 1
    assert "is past its interview" in again.stderr


@pytest.mark.parametrize(
    ("line", "resources"),
    [
        ("", []),
        ("  ", []),
        (" , ,", []),
        ("a", ["a"]),
        (" a b ", [" a b "]),
        ("a,b", ["a", "b"]),
        (" repo: x/y , path: /tmp/a b,", ["repo: x/y", "path: /tmp/a b"]),
        ('"a, b.md", c', ["a, b.md", "c"]),
        ('" kept "', [" kept "]),
        ('c,"a,b"', ["c", "a,b"]),
        ('say "x" to', ['say "x" to']),
        ('"open, end', ['"open', "end"]),
    ],
)
def test_a_line_of_resources_names_several(line: str, resources: list[str]) -> None:
    assert resources_in(line) == resources


def test_tools_that_look_as_if_they_change_something_are_pointed_out(tmp_path: Path, typed: Typed) -> None:
    project(tmp_path, ("def add(", "def create_sum("))
    shown = typed("interview", [], "--name", "demo").stdout
    assert "these look as if they change something: create_sum" in shown


def test_only_the_literal_words_approve(tmp_path: Path, typed: Typed) -> None:
    made = interviewed(tmp_path, typed)
    words = [
        "yes",
        "ok",
        "lgtm",
        "approve it",
        "approve.",
        "drop S9",
        "",
        "add Add 1 and 2",
        "rewrite S1 to Echo twice",
    ]
    done = typed("scope", ["Echo a text", "", *words, "  APPROVE "])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("neither approves nor edits") == 7
    assert state(made)["status"] == "scoped"
    assert [(one["id"], one["description"]) for one in state(made)["scenarios"]] == [
        ("S1", "Echo twice"),
        ("S2", "Add 1 and 2"),
    ]
    written = yaml.safe_load((tmp_path / FILE).read_text())
    assert written["approval"] == "approve"
    assert written["user_servers"] is True
    assert written["dispositions"]["mine"] == "skip"


def test_nobody_approves_by_leaving(tmp_path: Path, typed: Typed) -> None:
    made = interviewed(tmp_path, typed)
    assert typed("scope", ["Echo a text", "", "sure"]).returncode == 1
    assert state(made)["status"] == "scoping"
    assert not (tmp_path / FILE).exists()
    nothing = typed("scope", [""])
    assert nothing.returncode == 1
    assert "nothing to evaluate" in nothing.stderr


def test_scenarios_from_a_file_and_what_targets_a_skipped_server(tmp_path: Path, typed: Typed) -> None:
    made = interviewed(tmp_path, typed)
    rows = [
        {"description": "Echo", "targets_mcps": ["tiny"]},
        {"description": "Theirs", "targets_mcps": ["mine"]},
        {"description": "Both", "targets_mcps": ["tiny", "mine"]},
    ]
    made.write_json("tasks.json", rows)
    done = typed("scope", ["keep it", "drop", "user-only"], "--scenarios", "tasks.json")
    assert done.returncode == 0, done.stderr
    assert "Scenario 2 is dropped." in done.stdout
    assert "Scenario 3 is dropped." in done.stdout
    assert [one["description"] for one in state(made)["scenarios"]] == ["Echo"]


def test_a_disposition_can_be_changed_instead(tmp_path: Path, typed: Typed) -> None:
    made = interviewed(tmp_path, typed)
    made.write_json("tasks.json", [{"description": "Theirs", "targets_mcps": ["mine"]}])
    done = typed("scope", ["change", "read_only", "", "approve"], "--scenarios", "tasks.json")
    assert done.returncode == 0, done.stderr
    found = {one["mcp_name"]: one["disposition"] for one in state(made)["safety_dispositions"]}
    assert found == {"tiny": "sandboxed", "mine": "read_only"}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [{"description": "x", "targets_mcps": ["nobody"]}],
            'scenario 1: targets_mcps: "nobody" is not attached',
        ),
        ([{"description": "x"}] * 9, "expected 1 to 8 scenarios, found 9"),
        ([{"description": " "}], "is blank"),
    ],
)
def test_files_of_scenarios_with_mistakes(
    tmp_path: Path, typed: Typed, rows: list[dict[str, Any]], words: str
) -> None:
    made = interviewed(tmp_path, typed)
    made.write_json("tasks.json", rows)
    done = typed("scope", [], "--scenarios", "tasks.json")
    assert done.returncode == 1
    assert words in done.stderr


def test_derived_scenarios_are_marked_and_can_be_left_out(tmp_path: Path, typed: Typed) -> None:
    project(
        tmp_path,
        ("def add(a: int, b: int)", "def list_sums(a: int, limit: int)"),
        ('"""Add two numbers."""', '"""The sums."""'),
        ("return a + b", "return a"),
    )
    assert typed("interview", ["read_only", "", "skip", ""], "--name", "demo").returncode == 0
    done = typed("scope", ["Echo", "", "user-only"])
    assert "S2 [derived] Walk past the first page of `list_sums` on tiny" in done.stdout
    assert "S3 [derived] Ask `list_sums` on tiny" in done.stdout
    assert "on mine" not in done.stdout
    written = yaml.safe_load((tmp_path / FILE).read_text())
    assert (written["approval"], [one["description"] for one in written["scenarios"]]) == (
        "user-only",
        ["Echo"],
    )


def test_what_was_approved_runs(tmp_path: Path, typed: Typed) -> None:
    made = interviewed(tmp_path, typed)
    assert typed("scope", ["Echo a text", "", "approve"]).returncode == 0
    with pytest.raises(DataFileError, match="nothing carries this scenario out"):
        runtime_at(tmp_path).suite(tmp_path / FILE)
    content = yaml.safe_load((tmp_path / FILE).read_text())
    content["scenarios"][0]["steps"] = [ECHO]
    made.write_json(FILE, content)
    run = made.run(FILE, "--mcpeval-name", "demo", HOME=str(tmp_path / "home"))
    assert run.status == 0, run.out
    assert state(made)["status"] == "complete"


def test_without_servers_there_is_nothing_to_ask(tmp_path: Path, typed: Typed) -> None:
    made = Project(tmp_path)
    made.write_json(".mcp.json", {"mcpServers": {}})
    done = typed("interview", [], "--name", "demo")
    report = tmp_path / "mcp-evals" / "mcp-eval-demo" / "report.md"
    told = f"No MCPs attached — nothing to evaluate\nReport: {report}\n"
    assert (done.returncode, done.stdout) == (0, told)
    assert (state(made)["status"], state(made)["attached_mcps"]) == ("complete", [])
    assert "No MCPs attached — nothing to evaluate" in report.read_text()


def test_nothing_is_asked_when_the_file_cannot_be_written(tmp_path: Path, typed: Typed) -> None:
    made = interviewed(tmp_path, typed)
    made.write(FILE, "mine")
    done = typed("scope", ["Echo a text", "", "approve"])
    assert done.returncode == 1
    assert "exists already and will not be overwritten" in done.stderr
    assert done.stdout == ""
    assert typed("scope", ["Echo a text", "", "approve"], "--out", "other.scenarios.yaml").returncode == 0


def test_the_command_that_scope_prints_runs(
    tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = interviewed(tmp_path, typed)

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    # Written, and ended before the state could say so.
    update = StateFile.update
    with monkeypatch.context() as patched:
        patched.setattr(
            StateFile,
            "update",
            lambda file, **changes: dies() if "status" in changes else update(file, **changes),
        )
        assert typed("scope", ["Echo", "", "approve"], "--out", "own.scenarios.yaml").returncode == 1
    assert (state(made)["status"], (tmp_path / "own.scenarios.yaml").exists()) == ("scoping", True)
    done = typed("scope", [], "--out", "own.scenarios.yaml")
    assert done.returncode == 0, done.stderr
    assert "pytest --mcpeval own.scenarios.yaml --mcpeval-name demo" in done.stdout
    assert state(made)["status"] == "scoped"
    assert state(made)["config"]["scenarios_file"] == "own.scenarios.yaml"
    content = yaml.safe_load((tmp_path / "own.scenarios.yaml").read_text())
    content["scenarios"][0]["steps"] = [ECHO]
    made.write_json("own.scenarios.yaml", content)
    run = made.run("own.scenarios.yaml", "--mcpeval-name", "demo", HOME=str(tmp_path / "home"))
    assert run.status == 0, run.out


def test_more_than_eight_scenarios_are_not_added(tmp_path: Path, typed: Typed) -> None:
    interviewed(tmp_path, typed)
    done = typed("scope", [*(f"Echo {n}" for n in range(8)), "add one more", "approve"])
    assert done.returncode == 0, done.stderr
    assert "8 scenarios are the most: drop one first." in done.stdout
    assert "neither approves" not in done.stdout


def test_derived_scenarios_change_nothing(tmp_path: Path, typed: Typed) -> None:
    project(tmp_path, ("def add(a: int, b: int)", "def delete_sums(a: int, limit: int)"), ("a + b", "a"))
    assert typed("interview", ["read_only", "", "skip", ""], "--name", "demo").returncode == 0
    assert "Walk past" not in typed("scope", ["Echo", "", "approve"]).stdout


def test_scope_needs_an_interview(tmp_path: Path, typed: Typed) -> None:
    made = project(tmp_path)
    assert "none in mcp-evals/ is unfinished" in typed("scope", []).stderr
    assert "begin it with pytest-mcpeval interview" in typed("scope", [], "--name", "demo").stderr
    assert not (made.path / "mcp-evals").exists()
    assert typed("interview", [], "--name", "../x").returncode == 1
    assert not (made.path / "mcp-evals" / "x").exists()
