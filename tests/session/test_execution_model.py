"""Language models with the tools of the guard, offline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import TargetError
from pytest_mcpeval.kinds.session.execution import execute
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.records import Scenario, ScenarioOutcome
from tests.session.guarding import Guarded, guarded, reading


def carried_out(found: Guarded, model: str, **fields: Any) -> ScenarioOutcome:
    agent = AgentModel.model_validate({"model": model, **fields})
    return execute(Scenario("S1", "Count the notes", agent=agent), found.toolbox("S1"))


def made(name: str) -> str:
    return f"python:tests.session.models:{name}"


def test_a_model_calls_tools_and_is_told_what_is_refused(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, made("reads"), instructions="Be brief.")
        assert found.received() == ["list_notes"]
    said = outcome.answer.split(" | ")
    assert said[:3] == ["Be brief.", "9 tools", "done"]
    assert said[3].startswith("blocked: MCP disposition is 'read_only'")
    assert (outcome.status, outcome.call_count, outcome.checks) == ("complete", 1, ())
    assert [line.tool for line in found.lines] == ["mcp__notes__list_notes", "__blocked__"]


def test_a_function_may_make_the_model(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, made("calls_one_tool"))
        assert found.received() == ["get_note"]
    assert outcome.answer == '{"mcp__notes__get_note":"done"}'


def test_a_model_stops_at_its_budget(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), calls=4) as found:
        outcome = carried_out(found, made("insists"))
        assert len(found.received()) == 4
    assert (outcome.status, outcome.abort_reason, outcome.checks) == ("aborted", "call_budget", ())
    assert all(line.result_shape for line in found.lines)


def test_a_model_that_hangs_is_ended_by_the_wallclock(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), minutes=0.05) as found:
        outcome = carried_out(found, made("hangs"))
    assert (outcome.status, outcome.abort_reason) == ("aborted", "wallclock")


def test_a_model_that_talks_nonsense_has_a_failed_check(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, made("talks_nonsense"))
    (check,) = outcome.checks
    assert (check.name, check.status) == ("agent", "failed")
    assert "the agent raised" in check.message


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (made("is_refused"), "401"),
        (made("nobody"), "has no attribute 'nobody'"),
        (made("not_a_model"), "expected a model of pydantic-ai or a function that makes one, found str"),
        ("no-such-provider:x", "no-such-provider"),
    ],
)
def test_a_model_that_cannot_be_asked_is_an_error_of_the_run(tmp_path: Path, model: str, words: str) -> None:
    with guarded(tmp_path, reading()) as found, pytest.raises(TargetError) as caught:
        carried_out(found, model)
    assert words in str(caught.value)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.exceptions", None)
    with guarded(tmp_path, reading()) as found, pytest.raises(TargetError, match=r"pytest-mcpeval\[model\]"):
        carried_out(found, "test")
