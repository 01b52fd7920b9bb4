"""Thresholds of a scenario suite → gate results. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_mcpeval.core.gate import GateResult, at_least, at_most, figure, names, switched_off
from pytest_mcpeval.core.repeating import in_cases
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.scenario.metrics import (
    confidences,
    group_of,
    latencies,
    mean,
    not_set_aside,
    percentile,
    unanswered,
)
from pytest_mcpeval.kinds.scenario.schema import GatesModel

DECIDING = frozenset({"pass_rate", "no_new_failures"})
"""The gates that take wrong answers into account; the others measure something else."""


def gate_names(gates: GatesModel) -> list[str]:
    """The gates a suite has, in the order they are reported."""
    return [name for name in GatesModel.model_fields if getattr(gates, name) not in (None, False)]


def judge_gates(
    suite: str, gates: GatesModel, samples: Sequence[Sample], baseline: Mapping[str, Any] | None
) -> list[GateResult]:
    """Every gate of a suite, judged on its samples and the outcomes of a baseline (case id → outcome).

    Without a baseline, because a new one is being made or the old one is broken, nothing is compared.
    """
    kept = not_set_aside(samples)
    results = []
    if gates.pass_rate is not None:
        results.append(_pass_rate(suite, kept, gates.pass_rate))
    if gates.average_confidence is not None:
        value = mean(confidences(kept))
        results.append(at_least(suite, "average_confidence", value, gates.average_confidence, unit=" %"))
    if gates.p95_latency_ms is not None:
        results.append(replace(_p95_latency(suite, kept, gates.p95_latency_ms), timed=True))
    if gates.no_new_failures and baseline is not None:
        results.append(_no_new_failures(suite, kept, baseline))
    off = [name for name in GatesModel.model_fields if name in gates.model_fields_set - {*gate_names(gates)}]
    values = {name: "false" if name == "no_new_failures" else "null" for name in off}
    return [*results, *(switched_off(suite, name, f"{name}: {value}") for name, value in values.items())]


def _pass_rate(suite: str, kept: Sequence[Sample], limit: float) -> GateResult:
    group = group_of(kept)
    value = group["passRate"] / 100 if kept else None
    result = at_least(suite, "pass_rate", value, limit)
    wrong = [sample.id for sample in kept if sample.outcome != "passed"]
    listed = f"; not passed: {names(wrong)}" if wrong else ""
    share = f"{in_cases(group['passed'])} of {group['total']} cases passed ({figure((value or 0) * 100)} %)"
    words = f"{share}, wanted at least {figure(limit * 100)} %{listed}"
    return replace(result, message=words)


def _p95_latency(suite: str, kept: Sequence[Sample], limit: float) -> GateResult:
    """A call without an answer took longer than any limit."""
    silent = unanswered(kept)
    answered = latencies([sample for sample in kept if sample.id not in silent])
    value = percentile([*answered, *(math.inf for _ in silent)], 0.95)
    if value == math.inf:
        words = f"no answer in {len(silent)} of {len(kept)} cases: {names(silent)}"
        return GateResult(suite, "p95_latency_ms", "failed", words, None, None, limit)
    result = at_most(suite, "p95_latency_ms", value, limit, unit=" ms")
    left = f"; no answer: {names(silent)}" if silent else ""
    return replace(result, message=result.message + left)


def _no_new_failures(suite: str, kept: Sequence[Sample], baseline: Mapping[str, Any]) -> GateResult:
    new = [s.id for s in kept if s.outcome != "passed" and baseline.get(s.id) in ("passed", None)]
    fixed = [s.id for s in kept if s.outcome == "passed" and baseline.get(s.id) not in ("passed", None)]
    words = f"{len(new)} newly failing against the baseline"
    words += f": {names(new)}" if new else ""
    words += f" (newly passing: {names(fixed)})" if fixed else ""
    return GateResult(
        suite, "no_new_failures", "failed" if new else "passed", words, float(len(new)), 0.0, 0.0
    )
