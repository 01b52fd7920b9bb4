"""What is left of a budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pytest_mcpeval.kinds.session.guard import calls_left, seconds_left
from pytest_mcpeval.kinds.session.records import Budget, TranscriptEntry, timestamp

STARTED = datetime(2026, 1, 1, 12, tzinfo=UTC)


def entry(scenario: str, tool: str) -> TranscriptEntry:
    return TranscriptEntry(f"{scenario}-001", scenario, "t", tool, tool.startswith("mcp__"))


def test_calls_of_all_tools_count_and_nothing_else() -> None:
    entries = [
        entry("S1", tool)
        for tool in ("mcp__a__get", "Bash", "__blocked__", "__budget_abort__", "__wallclock_abort__")
    ]
    assert calls_left(Budget(STARTED, 20), [*entries, entry("S2", "Bash")], "S1") == 18
    assert calls_left(Budget(STARTED, 2), entries, "S1") == 0
    assert calls_left(Budget(STARTED, 1), entries, "S1") == 0
    assert calls_left(Budget(STARTED), [], "S1") == 20


@pytest.mark.parametrize(("minutes", "passed", "left"), [(15, 0, 900), (15, 900, 0), (0.5, 31, -1)])
def test_time_counts_from_the_start_of_the_session(minutes: float, passed: float, left: float) -> None:
    budget = Budget(STARTED, wallclock_minutes=minutes)
    assert seconds_left(budget, STARTED + timedelta(seconds=passed)) == left


def test_moments_are_written_in_utc() -> None:
    here = STARTED.astimezone(tz=None)
    assert timestamp(here) == "2026-01-01T12:00:00.000+00:00"
