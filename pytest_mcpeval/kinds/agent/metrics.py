"""Samples → metrics of agents: cases and assertions by how they ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_mcpeval.kinds.agent.scoring import by_assertion_kind, by_target, totals_of
from pytest_mcpeval.repeating import ended, mean_counts, mean_over_runs, of_each_run, runs_of, whole
from pytest_mcpeval.samples import Check, Outcome, Sample

OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "inconclusive", "error")
SET_ASIDE = frozenset({"skipped", "xfailed"})


def counted(samples: Sequence[Sample]) -> list[Sample]:
    """The samples that count: all but those set aside."""
    return [sample for sample in samples if sample.outcome not in SET_ASIDE]


def measure(samples: Sequence[Sample]) -> dict[str, Any]:
    """Totals of cases and assertions, and the roll-ups by kind of assertion and by tool or agent."""
    kept = counted(samples)
    return {
        "cases": {"total": len(kept), **{name: ended(kept, name) for name in OUTCOMES}},
        "pass_rate": pass_rate(kept),
        **mean_counts([_assertions(run) for run in of_each_run(kept)]),
    }


def _assertions(samples: Sequence[Sample]) -> dict[str, Any]:
    outcomes = [_outcome(check) for sample in samples for check in sample.checks]
    return {
        "assertions": totals_of(outcomes),
        "by_assertion_kind": by_assertion_kind(outcomes),
        "by_target": by_target(outcomes),
    }


def pass_rate(kept: Sequence[Sample]) -> float | None:
    """The share of cases that passed, or None of nothing; each counts with the share of its runs that did."""
    return ended(kept, "passed") / len(kept) if kept else None


def inconclusive(sample: Sample) -> float:
    """How many assertions of a case are inconclusive: the mean over its runs."""
    counts = [sum(check.status == "inconclusive" for check in run.checks) for run in runs_of(sample)]
    return whole(sum(counts) / len(counts))


def _outcome(check: Check) -> dict[str, Any]:
    return {
        "assertion_kind": check.name,
        "target": check.rule.get("target"),
        "outcome": check.status,
    }


def measure_run(samples: Sequence[Sample]) -> dict[str, Any]:
    """What differs from run to run: times, costs, folders, and all outcomes with their evidence."""
    kept = counted(samples)
    means = [mean_over_runs(sample, lambda run: run.run.get("latency_ms")) for sample in kept]
    latencies = [value for value in means if value is not None]
    # Not a mean: every run is paid for.
    paid = [run.run.get("total_cost_usd") for sample in kept for run in runs_of(sample)]
    costs = [value for value in paid if value is not None]
    return {
        "averageLatencyMs": sum(latencies) / len(latencies) if latencies else None,
        "totalCostUsd": sum(costs) if costs else None,
        "cases": {sample.id: _steady(sample) for sample in samples},
    }


def _steady(sample: Sample) -> dict[str, Any]:
    return {name: value for name, value in sample.run.items() if name != "exhibits"}
