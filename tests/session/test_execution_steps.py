"""Scripted steps: captures, pages, expectations, refusals, glue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import CheckSpecError, TargetError
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.kinds.session.execution import execute
from pytest_mcpeval.kinds.session.execution.settings import StepModel
from pytest_mcpeval.kinds.session.execution.spec import steps_of
from pytest_mcpeval.kinds.session.records import Scenario, ScenarioOutcome
from tests.session.guarding import Guarded, guarded, reading, sandboxed

Written = dict[str, Any]

LIST: Written = {"call": "mcp__notes__list_notes", "arguments": {"limit": 2}}
GET: Written = {"call": "mcp__notes__get_note", "arguments": {"id": "n1"}}
GET_THAT: Written = {"call": "mcp__notes__get_note", "arguments": {"id": "${id}"}}
JOIN: Written = {
    "use": "Python",
    "python": "tests.session.agents:join",
    "justification": "no attached MCP covers this step: two ids are joined into one text",
}


def carried_out(found: Guarded, *written: Written) -> ScenarioOutcome:
    steps = steps_of([StepModel.model_validate(step) for step in written], BUILTIN, Path.cwd())
    return execute(Scenario("S1", "task", steps=steps), found.toolbox("S1"))


def verdicts(outcome: ScenarioOutcome) -> list[tuple[int | None, str, str]]:
    return [(check.step, check.name, check.status) for check in outcome.checks]


def test_captured_values_go_into_later_steps(tmp_path: Path) -> None:
    expect = [{"type": "json_path", "path": "$.arguments.id", "equals": "acme/notes#101"}]
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(
            found, {**LIST, "capture": {"id": "$.notes[0].id"}}, {**GET_THAT, "expect": expect}
        )
        assert found.servers["notes"].received[-1] == ("get_note", {"id": "acme/notes#101"})
    assert verdicts(outcome) == [(2, "json_path", "passed")]
    assert (outcome.status, outcome.call_count) == ("complete", 2)


def test_captured_values_stand_in_checks_of_their_own_and_later_steps(tmp_path: Path) -> None:
    own = {"type": "json_path", "path": "$.notes[0].id", "equals": "${id}"}
    sent = {"type": "json_path", "path": "$.arguments.id", "equals": "${id}"}
    typed = {"type": "json_path", "path": "$.ok", "equals": "${ok}"}
    literal = {"type": "contains", "value": "$${HOME}"}
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(
            found,
            {**LIST, "capture": {"id": "$.notes[0].id"}, "expect": [own]},
            {**GET_THAT, "capture": {"ok": "$.ok"}, "expect": [sent, {"type": "not", "check": literal}]},
            {**GET, "expect": [typed]},
        )
    assert verdicts(outcome) == [
        (1, "json_path", "passed"),
        (2, "json_path", "passed"),
        (2, "not", "passed"),
        (3, "json_path", "passed"),
    ]
    assert outcome.checks[1].rule["equals"] == "acme/notes#101"
    assert outcome.checks[3].rule["equals"] is True


def test_a_check_that_does_not_hold_fails_and_the_steps_go_on(tmp_path: Path) -> None:
    expect = [{"type": "json_path", "path": "$.ok", "equals": False}]
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, {**GET, "expect": expect}, LIST)
    assert verdicts(outcome) == [(1, "json_path", "failed")]
    assert (outcome.status, outcome.call_count) == ("complete", 2)


def test_a_value_that_is_not_there_ends_the_steps(tmp_path: Path) -> None:
    later = {**GET_THAT, "expect": [{"type": "min_length", "chars": 1}]}
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, {**LIST, "capture": {"id": "$.nothing"}}, later)
    assert verdicts(outcome) == [(1, "capture", "failed"), (2, "min_length", "inconclusive")]
    assert outcome.checks[1].message == "not reached: step 1 could not capture 'id'"
    assert outcome.call_count == 1


def test_pages_are_walked_by_cursor_to_the_end(tmp_path: Path) -> None:
    pages = {"argument": "cursor", "next": "$.next_cursor", "at_least": 3}
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, {**LIST, "pages": pages, "capture": {"last": "$.notes[0].id"}})
        assert [arguments for _, arguments in found.servers["notes"].received] == [
            {"limit": 2},
            {"limit": 2, "cursor": "2"},
            {"limit": 2, "cursor": "4"},
        ]
    assert verdicts(outcome) == [(1, "pages", "passed")]
    assert outcome.checks[0].message == "3 pages, expected at least 3"


def test_pages_are_counted_where_there_is_no_cursor(tmp_path: Path) -> None:
    pages = {"argument": "cursor", "items": "$.notes[*]", "start": 1, "step": 3, "at_least": 4}
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, {**LIST, "pages": pages})
        cursors = [arguments["cursor"] for _, arguments in found.servers["notes"].received]
    assert cursors == [1, 4, 7]
    assert verdicts(outcome) == [(1, "pages", "failed")]


def test_pages_stop_at_the_limit_and_hold_for_every_page(tmp_path: Path) -> None:
    pages = {"argument": "cursor", "next": "$.next_cursor", "at_most": 2}
    expect = [{"type": "json_path", "path": "$.notes", "min_length": 1}]
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, {**LIST, "pages": pages, "expect": expect})
        assert len(found.received()) == 2
    assert [name for _, name, _ in verdicts(outcome)] == ["json_path", "json_path", "pages"]


def test_pages_stop_at_the_budget(tmp_path: Path) -> None:
    pages = {"argument": "cursor", "next": "$.next_cursor"}
    with guarded(tmp_path, reading(), calls=2) as found:
        outcome = carried_out(found, {**LIST, "arguments": {"limit": 1}, "pages": pages}, GET)
        assert len(found.received()) == 2
    assert (outcome.status, outcome.abort_reason) == ("aborted", "call_budget")
    assert verdicts(outcome) == [(1, "permitted", "failed")]


def test_a_call_that_must_be_refused(tmp_path: Path) -> None:
    delete = {"call": "mcp__notes__delete_note", "arguments": {"id": "1"}, "refused": True}
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, delete, {**LIST, "refused": True}, LIST)
    assert verdicts(outcome) == [(1, "refused", "passed"), (2, "refused", "failed")]
    assert outcome.checks[1].message == "mcp__notes__list_notes passed, but the guard must refuse it"
    assert (outcome.status, outcome.call_count) == ("complete", 2)


def test_a_call_that_is_refused_unexpectedly_fails(tmp_path: Path) -> None:
    create = {"call": "mcp__notes__create_note", "arguments": {"notebook": "production"}}
    checked = {**LIST, "expect": [{"type": "min_length", "chars": 1}]}
    with guarded(tmp_path, sandboxed("playground")) as found:
        outcome = carried_out(found, {**create, "refused": True}, checked)
    assert (outcome.status, outcome.abort_reason) == ("aborted", "safety_abort")
    assert verdicts(outcome) == [(1, "refused", "passed"), (2, "min_length", "inconclusive")]
    with guarded(tmp_path / "2", reading()) as found:
        outcome = carried_out(found, create, checked)
    assert verdicts(outcome) == [(1, "permitted", "failed"), (2, "min_length", "passed")]


def test_errors_of_tools_are_judged_only_where_something_is_expected(tmp_path: Path) -> None:
    fail = {"call": "mcp__notes__fail", "arguments": {"message": "HTTP 403"}}
    with guarded(tmp_path, sandboxed("HTTP 403")) as found:
        outcome = carried_out(
            found,
            fail,
            {**fail, "expect": [{"type": "is_error", "contains": "403"}]},
            {**fail, "expect": [{"type": "min_length", "chars": 1}]},
        )
    assert verdicts(outcome) == [
        (2, "is_error", "passed"),
        (3, "not_error", "failed"),
        (3, "min_length", "passed"),
    ]
    assert [line.result_shape for line in found.lines] == ["error:403"] * 3


def test_a_call_without_answer_ends_the_steps(tmp_path: Path) -> None:
    wait = {"call": "mcp__notes__wait", "arguments": {"seconds": 30, "x": "x"}, "timeout": 0.2}
    with guarded(tmp_path, sandboxed("x")) as found:
        outcome = carried_out(found, {**wait, "expect": [{"type": "min_length", "chars": 1}]}, LIST)
    assert verdicts(outcome) == [(1, "answered", "failed"), (1, "min_length", "inconclusive")]
    assert outcome.call_count == 1
    assert found.lines[0].result_shape == "error:timeout"


def test_glue_between_calls_is_a_use_of_something_else(tmp_path: Path) -> None:
    two = {
        "call": LIST["call"],
        "arguments": {"limit": 2},
        "capture": {"a": "$.notes[0].id", "b": "$.notes[1].id"},
    }
    join = {**JOIN, "arguments": {"ids": ["${a}", "${b}"], "by": "+"}, "capture": {"id": "$.joined"}}
    expect = [{"type": "json_path", "path": "$.count", "equals": 2}]
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, two, {**join, "expect": expect}, GET_THAT)
        assert found.servers["notes"].received[-1] == ("get_note", {"id": "acme/notes#101+acme/notes#102"})
    assert verdicts(outcome) == [(2, "json_path", "passed")]
    assert found.lines[1].tool == "Python"
    assert found.lines[1].is_mcp is False
    assert found.lines[1].justification == JOIN["justification"]
    assert found.lines[1].result_shape == "object{joined:text,count:2}"


def test_glue_that_breaks(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        outcome = carried_out(found, {**JOIN, "python": "tests.session.agents:breaks"})
        assert verdicts(outcome) == [(1, "answered", "failed")]
        assert "tests.session.agents:breaks raised RuntimeError: no glue" in outcome.checks[0].message
        with pytest.raises(TargetError, match=r"agents:nothing cannot be imported"):
            carried_out(found, {**JOIN, "python": "tests.session.agents:nothing"})


def test_glue_that_hangs_is_left_behind_by_its_own_limit_and_by_the_wallclock(tmp_path: Path) -> None:
    hangs = {**JOIN, "python": "tests.session.agents:hangs_for_ever", "expect": [{"type": "not_error"}]}
    with guarded(tmp_path / "1", reading()) as found:
        outcome = carried_out(found, {**hangs, "timeout": 0.1}, LIST)
    assert verdicts(outcome) == [(1, "answered", "failed"), (1, "not_error", "inconclusive")]
    assert "tests.session.agents:hangs_for_ever did not return in time" in outcome.checks[0].message
    assert found.brief == [("S1-001", "Python", "error:timeout")]
    with guarded(tmp_path / "2", reading(), minutes=0.005) as found:
        outcome = carried_out(found, hangs, LIST)
    assert (outcome.status, outcome.abort_reason) == ("aborted", "wallclock")
    assert [line.tool for line in found.lines] == ["Python", "__wallclock_abort__"]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({}, "needs exactly one of `call` (an MCP tool) and `use` (anything else), and has none of them"),
        ({**GET, "use": "Bash"}, "has both"),
        ({"call": "get_note"}, "String should match pattern"),
        ({**GET, "justification": "x"}, "`python` and `justification` belong to `use`"),
        ({"use": "Bash"}, "`use` lacks `python`"),
        ({"use": "Bash", "python": "a:b"}, "`use` lacks `justification`"),
        ({**JOIN, "use": "mcp__a__b"}, "is an MCP tool: write `call`"),
        ({**JOIN, "use": "__blocked__"}, "is reserved"),
        ({**JOIN, "refused": True}, "`refused` and `pages` belong to `call`"),
        ({**GET, "refused": True, "capture": {"a": "$"}}, "has no answer: remove `expect` and `capture`"),
        ({**GET, "pages": {"argument": "a"}}, "needs exactly one of `next` (a cursor) and `items`"),
        ({**GET, "pages": {"argument": "a", "next": "$", "items": "$"}}, "has both"),
        ({**GET, "pages": {"argument": "a", "next": "$.x", "step": 2}}, "`next` takes a cursor"),
        ({**GET, "pages": {"argument": "a", "next": "$.x", "at_least": 9, "at_most": 2}}, "at most 2 pages"),
        ({**GET, "pages": {"argument": "a", "next": "x"}}, "should begin with $"),
        ({**GET, "capture": {"a": "$.["}}, "not a JSONPath (RFC 9535)"),
        ({**GET, "timeout": 0}, "greater than 0"),
        ({**GET, "colour": "x"}, "Extra inputs"),
    ],
)
def test_steps_that_are_none(written: Written, words: str) -> None:
    with pytest.raises(ValueError, match="StepModel") as caught:
        StepModel.model_validate(written)
    assert words in str(caught.value)


def test_checks_are_parsed_ahead_with_their_places() -> None:
    broken: Written = {"expect": [{"type": "contanis", "value": "x"}]}
    models = [
        StepModel.model_validate(GET),
        StepModel.model_validate({**GET, **broken}),
    ]
    with pytest.raises(CheckSpecError) as caught:
        steps_of(models, BUILTIN)
    (problem,) = caught.value.problems
    assert problem.path[:3] == (1, "expect", 0)
    assert "contains" in problem.message


def test_a_check_takes_a_captured_number() -> None:
    counting = {**GET, "expect": [{"type": "min_length", "chars": "${n}"}]}
    (step,) = steps_of([StepModel.model_validate({**counting, "capture": {"n": "$.a"}})], BUILTIN)
    assert step.checks[0].rule == {"type": "min_length", "chars": "${n}"}
    with pytest.raises(CheckSpecError):
        steps_of([StepModel.model_validate({**counting, "capture": {"number": "$.a"}})], BUILTIN)


def test_a_name_that_no_earlier_step_captures_is_found_ahead() -> None:
    nested = {
        "call": "mcp__notes__get_note",
        "arguments": {"limit": 2, "of": [{"n-${note_id}": 1}], "${idd}": 1},
    }
    itself = {**GET_THAT, "capture": {"note_ids": "$.a", "id": "$.b"}}
    expecting = {**GET_THAT, "expect": [{"type": "contains", "value": "${note_idz} or ${HOME}"}]}
    early = {**GET_THAT, "arguments": {}, "expect": [{"type": "contains", "value": "${id}"}]}
    models = [StepModel.model_validate(step) for step in (early, itself, nested, expecting)]
    with pytest.raises(CheckSpecError) as caught:
        steps_of(models, BUILTIN)
    advice = "an environment variable is ${env.%s}, and $${ is ${ itself"
    assert [(problem.path, problem.message) for problem in caught.value.problems] == [
        ((0, "expect", 0, "value"), "${id} is captured by a later step only"),
        ((1, "arguments", "id"), "${id} is captured by a later step only"),
        (
            (2, "arguments", "of", 0, "n-${note_id}"),
            '${note_id} is not captured by an earlier step (did you mean "note_ids"?) '
            f"(captured: id, note_ids); {advice % 'note_id'}",
        ),
        (
            (2, "arguments", "${idd}"),
            '${idd} is not captured by an earlier step (did you mean "id"?) (captured: id, note_ids); '
            f"{advice % 'idd'}",
        ),
        (
            (3, "expect", 0, "value"),
            '${note_idz} is not captured by an earlier step (did you mean "note_ids"?) '
            f"(captured: id, note_ids); {advice % 'note_idz'}",
        ),
        (
            (3, "expect", 0, "value"),
            f"${{HOME}} is not captured by an earlier step (captured: id, note_ids); {advice % 'HOME'}",
        ),
    ]
