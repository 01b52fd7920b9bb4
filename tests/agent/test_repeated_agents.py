"""Agents asked several times: means of cases and assertions, and what gates make of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_mcpeval.kinds.agent.gates import judge_gates
from pytest_mcpeval.kinds.agent.metrics import measure, measure_run
from pytest_mcpeval.kinds.agent.outcomes import rule_of
from pytest_mcpeval.kinds.agent.score_file import CaseRow
from pytest_mcpeval.kinds.agent.settings import GatesModel
from pytest_mcpeval.kinds.agent.tables import tables
from pytest_mcpeval.kinds.agent.transitions import transitions
from pytest_mcpeval.repeating import combined, worst
from pytest_mcpeval.samples import Check, CheckStatus, Sample


def run(*statuses: CheckStatus, case: str = "c", **measured: Any) -> Sample:
    """One run of a case whose assertions on the tools t0, t1, … ended so."""
    checks = [Check(rule_of("must_call", f"t{n}", f"t{n}"), status, "") for n, status in enumerate(statuses)]
    outcome = worst(list(statuses)) if statuses else "error"
    return Sample(
        "agent.yaml", "agent", case, outcome, tuple(checks), traits={"agent": "people"}, run=measured
    )


HALF = combined(
    [
        run("failed", "passed", latency_ms=10, total_cost_usd=1),
        run("passed", "passed", latency_ms=30, total_cost_usd=2),
    ]
)
OPEN = combined([run("passed", "failed", case="d"), run("inconclusive", "passed", case="d")])


def test_metrics_are_means_over_the_runs() -> None:
    found = measure([HALF, OPEN])
    counts = {"passed": 0.5, "failed": 1, "inconclusive": 0.5, "error": 0}
    assert found["cases"] == {"total": 2, **counts}
    assert found["pass_rate"] == 0.25
    assert found["assertions"] == {"total": 4, "passed": 2.5, "failed": 1, "inconclusive": 0.5}
    assert found["by_target"]["t0"] == {"total": 2, "passed": 1, "failed": 0.5, "inconclusive": 0.5}
    times = measure_run([HALF])
    # The mean time, and all that was paid.
    assert (times["averageLatencyMs"], times["totalCostUsd"]) == (20, 3)
    agents, kinds, _ = tables({"agent.yaml": [HALF, OPEN]})
    assert agents.rows[0].cells == ("people", "0.50", "1", "0.50", "0", "25.0 %")
    assert agents.brief == "0.50 of 2 agent cases passed, 0.50 inconclusive"
    assert kinds.rows[0].cells == ("must_call", "2.50", "1", "0.50")


@pytest.mark.parametrize(
    ("limits", "verdict", "words"),
    [
        ({"pass_rate": 0.25}, "passed", "0.50 of 2 cases passed (25 %)"),
        ({"pass_rate": 0.3}, "failed", "wanted at least 30 %; not passed: c, d"),
        ({"max_inconclusive": 0}, "failed", "0.50 inconclusive assertions, at most 0 may be: d"),
        ({"max_inconclusive": 1}, "passed", "at most 1 may be: d"),
    ],
)
def test_gates_judge_the_means(limits: Mapping[str, Any], verdict: str, words: str) -> None:
    (gate,) = judge_gates("agent.yaml", GatesModel(**limits), [HALF, OPEN], None)
    assert (gate.verdict, words in gate.message) == (verdict, True), gate.message


def test_an_assertion_newly_fails_when_it_does_in_any_run() -> None:
    totals = {"total": 2, "passed": 2, "failed": 0, "inconclusive": 0}
    evidence = {"artifact_path": "trace", "detail": "seen"}
    same = {"assertion_kind": "must_call", "outcome": "passed", "message": "", "evidence": evidence}
    outcomes = [{**same, "target": tool, "expected": tool} for tool in ("t0", "t1")]
    row = {"case_id": "c", "case_dir": "c", "outcome": "passed", **totals, "outcomes": outcomes}
    old = [CaseRow.model_validate(row)]
    each_once = combined([run("failed", "passed"), run("passed", "failed"), run()])
    found = transitions([each_once], old)
    assert [(one["target"], one["transition"]) for one in found["changed"]] == [
        ("t0", "newly_failing"),
        ("t1", "newly_failing"),
    ]
    # One run that could not be captured does not hide what the other showed.
    found = transitions([combined([run(), run("passed", "inconclusive")])], old)
    assert [one["transition"] for one in found["changed"]] == ["newly_inconclusive"]
