"""How scenarios ended: what speaks against them, and whether they called whom they are meant for."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcpeval.kinds.session.endings import Ending, endings_of
from pytest_mcpeval.kinds.session.records import TranscriptEntry
from pytest_mcpeval.kinds.session.state import State

START, LATER = "2026-01-01T10:00:00+00:00", "2026-01-01T10:00:09+00:00"
ECHO, OTHER = "mcp__git__echo", "mcp__git__hub__echo"


def ended(
    *tools: str, targets: tuple[str, ...] = ("git",), expect: str | None = None, **execution: Any
) -> Ending:
    """The ending of a scenario that left these lines.

    ``!name`` is a call that was not let pass, ``?name`` one of a tool that its server does not list.
    """
    lines = [
        TranscriptEntry(
            id=f"S1-{number:03d}",
            scenario_id="S1",
            ts=START,
            tool="__blocked__" if tool.startswith("!") else tool.removeprefix("?"),
            is_mcp=tool.removeprefix("?").startswith("mcp__"),
            result_shape="error:unknown_tool" if tool.startswith("?") else None,
            blocked_tool=tool.removeprefix("!") if tool.startswith("!") else None,
        )
        for number, tool in enumerate(tools, 1)
    ]
    scenario = {"id": "S1", "description": "x", "targets_mcps": targets, "expect_abort": expect}
    begun = {"scenario_id": "S1", "status": "complete", "started": START, "ended": LATER}
    data = {
        "eval_name": "one",
        "started": START,
        "last_updated": START,
        "attached_mcps": [{"name": name, "source": "x"} for name in ("git", "git__hub")],
        "scenarios": [scenario],
        "execution": [{**begun, **execution}],
    }
    elsewhere = TranscriptEntry(id="S2-001", scenario_id="S2", ts=START, tool=ECHO, is_mcp=True)
    (found,) = endings_of(State.model_validate(data), [*lines, elsewhere])
    return found


def refused(status: str, tool: str = ECHO) -> dict[str, Any]:
    """What a step with ``refused: true`` leaves."""
    check = {"rule": {"type": "refused", "tool": tool}, "status": status, "message": "blocked"}
    return {"outcome": {"checks": [check]}}


BUDGET: dict[str, Any] = {"status": "aborted", "abort_reason": "call_budget"}
SAFETY: dict[str, Any] = {"status": "aborted", "abort_reason": "safety_abort"}
WALLCLOCK: dict[str, Any] = {"status": "aborted", "abort_reason": "wallclock"}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (ended(), "called none of its target servers: git"),
        (ended("Bash"), "called none of its target servers: git"),
        (ended(f"?{ECHO}"), f"called none of its target servers: git; no server has {ECHO}"),
        (ended(OTHER), "git; it called git__hub"),
        (ended(f"!{ECHO}", f"!{ECHO}"), "git; the guard blocked 2 of its calls to them"),
        (ended(f"!{OTHER}"), "called none of its target servers: git"),
        (ended(f"!{ECHO}", OTHER), "of its calls to them; it called git__hub"),
        (ended(f"!{ECHO}", **refused("failed")), "the guard blocked 1 of its calls to them"),
        (ended(f"!{OTHER}", **refused("passed", OTHER)), "called none of its target servers: git"),
        (ended(OTHER, expect="call_budget", **BUDGET), "git; it called git__hub"),
        (ended(f"!{ECHO}", expect="safety_abort"), "the guard blocked 1 of its calls to them"),
        # It had time, and did nothing with it.
        (ended(expect="wallclock", **WALLCLOCK), "called none of its target servers: git"),
    ],
)
def test_a_scenario_that_called_none_of_its_targets_fails(found: Ending, words: str) -> None:
    (check,) = (check for check in found.checks if check.name == "targets_mcps")
    assert check in found.failed
    assert check.message.endswith(words)
    assert not found.is_complete


@pytest.mark.parametrize(
    "found",
    [
        ended(ECHO),
        ended(OTHER, ECHO),
        ended(OTHER, targets=("git", "git__hub")),
        ended("Bash", targets=()),
        ended(OTHER, targets=()),
        ended(f"!{ECHO}", targets=(), **refused("passed")),
        ended(f"!{ECHO}", targets=(), expect="safety_abort", **SAFETY),
        ended(targets=(), expect="wallclock", **{**WALLCLOCK, "ended": START}),
        ended(f"!{ECHO}", **refused("passed")),
        ended(f"!{ECHO}", expect="safety_abort", **SAFETY),
        ended(ECHO, expect="call_budget", **BUDGET),
        # Its time was over before it began.
        ended(expect="wallclock", **{**WALLCLOCK, "ended": START}),
    ],
)
def test_one_call_of_a_target_is_enough_and_so_is_what_the_file_expects(found: Ending) -> None:
    assert found.failed == ()
    assert found.is_complete == (found.words == "complete")


@pytest.mark.parametrize(
    "found",
    [
        ended(targets=()),
        ended("mcp__nobody__echo", targets=()),
        ended(f"?{ECHO}", targets=()),
        ended(f"!{ECHO}", targets=()),
        ended(expect="wallclock", targets=(), **WALLCLOCK),
    ],
)
def test_a_scenario_without_targets_that_called_nothing_fails(found: Ending) -> None:
    assert [(check.name, check.message) for check in found.failed if check.name != "ending"] == [
        ("calls", "made no call, so nothing was tried")
    ]
    assert not found.is_complete


def test_calls_before_an_abort_count_and_the_abort_fails_the_scenario() -> None:
    found = ended(ECHO, **BUDGET)
    assert [check.name for check in found.failed] == ["ending"]
    assert found.words == "aborted (call_budget)"
    assert [check.name for check in ended(**BUDGET).failed] == ["ending", "targets_mcps"]
