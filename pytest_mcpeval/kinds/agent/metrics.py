"""Samples → metrics of agents: cases and assertions by how they ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.agent.scoring import STATUSES, by_assertion_kind, by_target, totals_of

SET_ASIDE = frozenset({"skipped", "xfailed"})


def without_set_aside(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples that count: all that were not skipped or xfailed."""
    return [sample for sample in samples if sample.outcome not in SET_ASIDE]


def measure(samples: Sequence[Sample]) -> dict[str, Any]:
    """Totals of cases and assertions, and the roll-ups by kind of assertion and by tool or agent."""
    kept = without_set_aside(samples)
    outcomes = [
        {"assertion_kind": check.name, "target": check.rule.get("target"), "outcome": check.status}
        for sample in kept
        for check in sample.checks
    ]
    cases = [str(sample.outcome) for sample in kept]
    return {
        "cases": {"total": len(cases), **{name: cases.count(name) for name in (*STATUSES, "error")}},
        "pass_rate": pass_rate(kept),
        "assertions": totals_of(outcomes),
        "by_assertion_kind": by_assertion_kind(outcomes),
        "by_target": by_target(outcomes),
    }


def pass_rate(kept: Sequence[Sample]) -> float | None:
    """The share of cases that passed, or None of nothing."""
    return sum(sample.outcome == "passed" for sample in kept) / len(kept) if kept else None


def measure_run(samples: Sequence[Sample]) -> dict[str, Any]:
    """What differs from run to run: times, costs, folders, and all outcomes with their evidence."""
    kept = without_set_aside(samples)
    latencies = [sample.run["latency_ms"] for sample in kept if sample.run.get("latency_ms") is not None]
    costs = [sample.run["total_cost_usd"] for sample in kept if sample.run.get("total_cost_usd") is not None]
    return {
        "averageLatencyMs": sum(latencies) / len(latencies) if latencies else None,
        "totalCostUsd": sum(costs) if costs else None,
        "cases": {
            sample.id: {name: value for name, value in sample.run.items() if name != "attachments"}
            for sample in samples
        },
    }
