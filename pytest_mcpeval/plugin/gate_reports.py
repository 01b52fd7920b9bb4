"""Gates as reports of pytest, so that every consumer of reports sees them: exit status, junit, html."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

from pytest_mcpeval.core.gate import GateResult, gate_nodeid
from pytest_mcpeval.reports.failure import FailureText

GATE_ATTRIBUTE = "mcpeval_gate"

PHASES: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")


def reports_of(gate: GateResult) -> Iterator[pytest.TestReport]:
    """The reports of a gate, as those of a test that was set up, called and torn down."""
    nodeid = gate_nodeid(gate)
    for when in PHASES:
        outcome: Literal["passed", "failed", "skipped"] = "passed"
        longrepr: Any = None
        if when == "call" and gate.verdict in ("not_evaluated", "not_set"):
            outcome, longrepr = "skipped", (gate.suite, 0, gate.message)
        elif when == "call" and gate.verdict != "passed":
            outcome, longrepr = "failed", FailureText(gate.message, gate.suite)
        report = pytest.TestReport(
            nodeid=nodeid,
            location=(gate.suite, None, nodeid),
            keywords={},
            outcome=outcome,
            longrepr=longrepr,
            when=when,
            user_properties=[("mcpeval_gate", gate.name), ("mcpeval_verdict", gate.verdict)],
        )
        setattr(report, GATE_ATTRIBUTE, gate)
        yield report
