"""Who carries scenarios out: agents in Python, and how they end."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import CallRefused, TargetError, Toolbox
from pytest_mcpeval.kinds.session.execution import execute
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.records import Scenario, ScenarioOutcome
from pytest_mcpeval.servers import ServerDefinition
from tests.session import agents
from tests.session.guarding import Clock, Guarded, guarded, reading, sandboxed

TASK = "Count the notes"


def carried_out(found: Guarded, agent: str, scenario: str = "S1", **fixtures: Any) -> ScenarioOutcome:
    model = AgentModel.model_validate(agent)
    planned = Scenario(scenario, TASK, agent=model)
    return execute(planned, found.toolbox(scenario), fixtures=fixtures)


def by(name: str) -> str:
    return f"python:tests.session.agents:{name}"


def test_an_async_agent_gets_the_task_and_the_tools(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, by("reads"))
    assert (outcome.scenario_id, outcome.status, outcome.abort_reason) == ("S1", "complete", None)
    assert outcome.answer == "Count the notes: 1 note, 19 calls left"
    assert (outcome.call_count, outcome.checks) == (1, ())
    assert outcome.started <= found.lines[0].ts <= outcome.ended


def test_a_plain_function_is_an_agent_too(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, by("waits_in_vain"))
    assert outcome.answer.startswith('{"refused": "blocked: MCP disposition is \'read_only\'')
    assert (outcome.status, outcome.call_count) == ("complete", 0)


def test_a_fixture_is_an_agent_too(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, "fixture:my_agent", my_agent=agents.reads)
        assert outcome.answer.endswith("19 calls left")
        with pytest.raises(TargetError, match="a pytest fixture has a value in a test only"):
            carried_out(found, "fixture:my_agent")


@pytest.mark.parametrize(("name", "answer"), [("insists", "47 refused"), ("gives_up", "")])
def test_an_agent_stops_at_its_budget_whatever_it_does(tmp_path: Path, name: str, answer: str) -> None:
    with guarded(tmp_path, reading(), calls=3) as found:
        outcome = carried_out(found, by(name))
        assert len(found.received()) == 3
    assert (outcome.status, outcome.abort_reason, outcome.call_count) == ("aborted", "call_budget", 3)
    assert (outcome.answer, outcome.checks) == (answer, ())


def test_an_agent_that_goes_on_after_its_scenario_makes_no_more_calls(tmp_path: Path) -> None:
    over = threading.Event()
    threads: list[threading.Thread] = []
    refusals: list[str] = []

    def goes_on(task: str, toolbox: Toolbox) -> None:
        def work() -> None:
            over.wait()
            try:
                while True:
                    toolbox.call_now("mcp__notes__get_note", {"id": "n2"})
            except CallRefused as refusal:
                refusals.append(refusal.reason)
            with pytest.raises(CallRefused), toolbox.recorded("Bash", justification="no tool does it"):
                refusals.append("entered")
            with pytest.raises(CallRefused):
                toolbox.report("Bash", {}, "no tool does it", "none")

        toolbox.call_now("mcp__notes__get_note", {"id": "n1"})
        threads.append(threading.Thread(target=work))
        threads[0].start()

    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, "fixture:mine", mine=goes_on)
        over.set()
        threads[0].join()
        assert len(found.received()) == 1
    assert (outcome.status, outcome.call_count) == ("complete", 1)
    assert refusals == ["the scenario is over: no more calls are made"]
    assert found.brief == [("S1-001", "mcp__notes__get_note", "object{ok:true,arguments:object}")]
    assert found.counts == [("S1", 1)]


def test_a_call_that_its_agent_left_behind_is_cancelled_for_good(tmp_path: Path) -> None:
    left: list[Future[Any]] = []

    with guarded(tmp_path, sandboxed("gate")) as found, ThreadPoolExecutor() as threads:
        server = found.servers["notes"]
        server.gate.clear()

        def leaves(task: str, toolbox: Toolbox) -> None:
            left.append(threads.submit(toolbox.call_now, "mcp__notes__hold", {"name": "gate"}))
            while not server.received:
                assert not left[0].done()

        outcome = carried_out(found, "fixture:mine", mine=leaves)
        before = found.brief
        server.gate.set()
        left[0].result()
    assert (outcome.status, outcome.call_count) == ("complete", 1)
    assert before == found.brief == [("S1-001", "mcp__notes__hold", "error:cancelled")]


def test_the_toolbox_has_no_way_past_the_guard(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        toolbox = found.toolbox()
        public = {name for name in dir(toolbox) if not name.startswith("_")}
    assert public == {
        "abort_reason", "call", "call_count", "call_now", "call_verbatim", "calls_left", "close",
        "lines_of", "now", "recorded", "report", "scenario_id", "seconds_left", "tools",
        "trip_wallclock", "tripped_at",
    }  # fmt: skip


def test_an_agent_that_hangs_is_ended_by_the_wallclock(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), minutes=0.02) as found:
        outcome = carried_out(found, by("hangs"))
    assert (outcome.status, outcome.abort_reason, outcome.checks) == ("aborted", "wallclock", ())
    assert [line.tool for line in found.lines] == ["mcp__notes__get_note", "__wallclock_abort__"]


def test_an_agent_can_not_write_what_ends_scenarios(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), minutes=0.02) as found:
        outcome = carried_out(found, by("forges"))
        later = carried_out(found, by("reads"), "S2")
        assert found.received() == []
    assert (outcome.status, outcome.abort_reason, outcome.call_count) == ("aborted", "wallclock", 0)
    assert (later.status, later.abort_reason) == ("aborted", "wallclock")
    assert [(line.tool, line.abort_reason) for line in found.lines] == [("__wallclock_abort__", "wallclock")]
    with guarded(tmp_path / "2", reading()) as found:
        for name in ("__wallclock_abort__", "__blocked__", " __any__\n"):
            with (
                pytest.raises(ValueError, match="is reserved"),
                found.toolbox().recorded(name, justification="x"),
            ):
                raise AssertionError("entered")
        with pytest.raises(ValueError, match="is reserved"):
            found.toolbox().report("__budget_abort__", {}, "x", "none")
    assert found.lines == ()


def test_a_scenario_after_the_wallclock_does_not_begin(tmp_path: Path) -> None:
    clock = Clock()
    with guarded(tmp_path, reading(), minutes=1, clock=clock) as found:
        carried_out(found, by("reads"))
        clock.advance(61)
        late = carried_out(found, by("reads"), "S2")
        clock.advance(61)
        later = carried_out(found, by("reads"), "S3")
        assert len(found.received()) == 1
    for outcome in (late, later):
        assert (outcome.status, outcome.abort_reason, outcome.call_count) == ("aborted", "wallclock", 0)
        assert outcome.started == outcome.ended == found.guard.tripped_at
    assert sum(line.tool == "__wallclock_abort__" for line in found.lines) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", "the agent raised ZeroDivisionError: by"),
        ("returns_an_object", "the agent returned object, expected a text, JSON data or nothing"),
    ],
)
def test_an_agent_that_fails_has_a_failed_check(tmp_path: Path, name: str, words: str) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, by(name))
    (check,) = outcome.checks
    assert (check.name, check.status) == ("agent", "failed")
    assert check.message.startswith(words)
    assert "sk-proj" not in check.message
    assert outcome.status == "complete"


def test_what_an_agent_says_is_kept_without_secrets(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        assert carried_out(found, by("tells_secrets")).answer == "write to <e-mail> with <token>"


def test_uses_of_other_tools_are_calls_as_well(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, by("uses_bash"))
    assert outcome.call_count == 1
    assert found.brief == [("S1-001", "Bash", "text[7]")]


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("python:tests.session.nowhere:agent", "agent python:tests.session.nowhere:agent cannot be used"),
        ("python:tests.session.agents:nobody", "has no attribute 'nobody'"),
        ("python:tests.session.agents:not_a_function", r"expected a function run\(task, toolbox\)"),
    ],
)
def test_an_agent_that_cannot_be_found_is_an_error_of_the_run(tmp_path: Path, agent: str, words: str) -> None:
    with guarded(tmp_path, reading()) as found, pytest.raises(TargetError, match=words):
        carried_out(found, agent)


def test_a_server_that_does_not_start_is_an_error_of_the_run(tmp_path: Path) -> None:
    definition = ServerDefinition("notes", "stdio", "no-such-program-anywhere")
    with (
        guarded(tmp_path, reading(), definitions={"notes": definition}) as found,
        pytest.raises(TargetError, match="did not start"),
    ):
        carried_out(found, by("gives_up"))
    assert found.brief == [("S1-001", "mcp__notes__get_note", "error:ServerStartError")]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("claude", "expected python:pkg.mod:agent, fixture:name, command:…, model:… or a mapping"),
        ("pyhton:a:b", "did you mean 'python'"),
        ({}, "needs exactly one of python, fixture, command, model, and has none of them"),
        ({"python": "a:b", "model": "test"}, "has python and model"),
        ({"python": "a:b", "env": {"A": "b"}}, "`env` is the environment of a `command`"),
        ({"command": "x", "instructions": "y"}, "`instructions` are for a `model`"),
        ({"python": "a"}, "expected a function, such as pkg.mod:function"),
    ],
)
def test_an_agent_is_exactly_one(written: object, words: str) -> None:
    with pytest.raises(ValueError, match=r"agent|Agent") as caught:
        AgentModel.model_validate(written)
    assert words in str(caught.value).replace('"', "'")


def test_short_forms_of_agents() -> None:
    assert AgentModel.model_validate("command:claude -p {task}").command == ["claude", "-p", "{task}"]
    assert AgentModel.model_validate("model:openai:gpt-5").model == "openai:gpt-5"
    assert AgentModel.model_validate("model:test").model == "test"
