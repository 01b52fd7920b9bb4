"""How much is left: calls of a scenario, time of the session. Both limits are hard."""

from __future__ import annotations

from datetime import datetime

from pytest_mcpeval.kinds.session.records import Budget
from pytest_mcpeval.kinds.session.transcript import Entries, call_count


def calls_left(budget: Budget, entries: Entries, scenario_id: str) -> int:
    """The calls a scenario may still make. A call in flight has been counted."""
    return max(0, budget.calls_per_scenario - call_count(entries, scenario_id))


def seconds_left(budget: Budget, now: datetime) -> float:
    """The time until the session is over; negative afterwards."""
    return budget.wallclock_minutes * 60 - (now - budget.session_started).total_seconds()
