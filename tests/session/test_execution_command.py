"""Agent programs: given a task and our guard as their only server."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_mcpeval import TargetError
from pytest_mcpeval.kinds.session.execution import command as commands
from pytest_mcpeval.kinds.session.execution import execute
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.records import Scenario, ScenarioOutcome, ServerScope
from tests.session.guarding import Guarded, guarded, reading

HERE = Path(__file__).parent
PROGRAM = [sys.executable, str(HERE / "program.py")]
CONFIG = "{mcp_config}"


def carried_out(found: Guarded, *command: str, task: str = "Count", **fields: Any) -> ScenarioOutcome:
    agent = AgentModel.model_validate({"command": list(command), "directory": str(HERE), **fields})
    return execute(Scenario("S1", task, agent=agent), found.toolbox("S1"))


def children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize("on_command_line", [True, False])
def test_a_program_finds_the_guard_and_the_task(tmp_path: Path, on_command_line: bool) -> None:
    scopes = {"notes": reading(), "secret": ServerScope("secret", "skip")}
    task = 'Count "the" notes; $HOME'
    more = ["{task}"] if on_command_line else []
    with guarded(tmp_path, scopes) as found:
        before = children()
        outcome = carried_out(found, *PROGRAM, "reads", CONFIG, *more, task=task)
        assert children() <= before
    assert outcome.answer == f"{task}: 9 tools, 1 note"
    assert (outcome.status, outcome.call_count, outcome.checks) == ("complete", 2, ())
    assert found.brief == [
        ("S1-001", "mcp__notes__list_notes", "object{notes:array[1],next_cursor:text}"),
        ("S1-002", "Bash", "3"),
    ]
    assert (found.lines[1].justification or "").startswith("no attached MCP covers this step")


def test_a_program_that_goes_on_after_its_budget_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "LEFT_SECONDS", 1.0)
    with guarded(tmp_path, reading(), calls=2) as found:
        before = children()
        outcome = carried_out(found, *PROGRAM, "insists", CONFIG)
        assert children() <= before
        assert len(found.received()) == 2
    assert (outcome.status, outcome.abort_reason, outcome.checks) == ("aborted", "call_budget", ())


def test_a_program_that_hangs_is_ended_by_the_wallclock(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), minutes=0.02) as found:
        before = children()
        outcome = carried_out(found, *PROGRAM, "hangs", CONFIG)
        assert children() <= before
    assert (outcome.status, outcome.abort_reason, outcome.call_count) == ("aborted", "wallclock", 0)
    assert [line.tool for line in found.lines] == ["__wallclock_abort__"]


def test_a_program_that_breaks_has_a_failed_check(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, *PROGRAM, "breaks")
    (check,) = outcome.checks
    assert check.message == "the agent exited with code 1; its last words: it broke, with the key <token>"
    assert (outcome.status, outcome.answer) == ("complete", "half an answer")


def test_what_a_program_reports_of_other_tools_is_recorded(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, *PROGRAM, "logs", CONFIG, env={"FOLDER": str(tmp_path)})
    _, _, line, last = found.lines
    assert (last.tool, last.args_summary) == ("Grep", "{}")
    assert (line.tool, line.is_mcp, line.result_shape, line.justification) == (
        "Bash",
        False,
        "error:403",
        None,
    )
    assert line.args_summary == '{command: "cat ~/.netrc", token: <redacted>}'
    assert outcome.call_count == 3
    (check,) = outcome.checks
    assert (check.name, check.status, check.details) == ("tool_log", "failed", {"lines": 7})
    for words in (
        'line 4: "mcp__notes__get_note" was called without the guard: the transcript has no line for it',
        'line 5: "mcp__elsewhere__get_note" was called without the guard',
        "line 6: '__wallclock_abort__' is reserved",
        "line 9: ",
        "line 10: expected an object",
    ):
        assert words in check.message


def test_reports_beyond_the_budget_end_the_scenario_and_are_kept(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), calls=1) as found:
        toolbox = found.toolbox("S1")
        for _ in range(3):
            toolbox.report("Bash", {}, "why", "none")
        assert toolbox.abort_reason == "call_budget"
    assert [line.tool for line in found.lines] == ["Bash", "Bash", "__budget_abort__", "Bash"]


def test_a_program_sees_no_more_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_must_not_leak")
    monkeypatch.setenv("OWN_TOKEN", "for-this-program")
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, *PROGRAM, "shows", env={"MINE": "${OWN_TOKEN}"})
    seen = json.loads(outcome.answer)
    assert "GITHUB_TOKEN" not in seen
    assert seen["MINE"] == "${OWN_TOKEN}"
    assert set(seen) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} <= {
        "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "MINE", "MCPEVAL_TOOL_LOG",
    }  # fmt: skip
    assert not os.path.exists(seen["MCPEVAL_TOOL_LOG"])


@pytest.mark.parametrize(
    ("command", "fields", "words"),
    [
        (["no-such-program"], {}, "there is no program 'no-such-program'"),
        (["./program"], {}, r"there is no program '\./program'"),
        (["true"], {"env": {"A": "${NOT_SET_ANYWHERE}"}}, "needs the environment variable NOT_SET_ANYWHERE"),
    ],
)
def test_a_program_that_cannot_be_started_is_an_error_of_the_run(
    tmp_path: Path, command: list[str], fields: dict[str, Any], words: str
) -> None:
    with guarded(tmp_path, reading()) as found, pytest.raises(TargetError, match=words):
        carried_out(found, *command, **fields)


def test_a_directory_that_does_not_exist_is_an_error_of_the_run(tmp_path: Path) -> None:
    agent = AgentModel.model_validate({"command": ["true"], "directory": str(tmp_path / "nowhere")})
    with (
        guarded(tmp_path, reading()) as found,
        pytest.raises(TargetError, match="its directory does not exist"),
    ):
        execute(Scenario("S1", "task", agent=agent), found.toolbox("S1"))
