"""Samples → metrics of scenario suites. Pure.

``summary`` and the groupings have the field names that evaluation reports of documentation servers use:
rates in percent, confidence averaged over the cases that report one (a reported 0 counts), times in
milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from pytest_mcpeval.core.repeating import ended, mean_over_runs, share_of_runs
from pytest_mcpeval.core.sample import Sample

DIFFICULTIES = ("basic", "intermediate", "advanced")
SET_ASIDE = frozenset({"skipped", "xfailed"})


def not_set_aside(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples that count: all that were not skipped or xfailed."""
    return [sample for sample in samples if sample.outcome not in SET_ASIDE]


def group_of(samples: Sequence[Sample]) -> dict[str, Any]:
    """``{total, passed, passRate}`` of some samples; a case that was asked several times counts in part."""
    passed = ended(samples, "passed")
    rate = passed / len(samples) * 100 if samples else 0.0
    return {"total": len(samples), "passed": passed, "passRate": rate}


def confidences(samples: Iterable[Sample]) -> list[float]:
    """Return the confidence of each case in percent: the mean over its runs that report one.

    A case that reports none is left out.
    """
    means = (mean_over_runs(sample, lambda run: run.measured.get("confidence")) for sample in samples)
    return [value for value in means if value is not None]


def unanswered(samples: Iterable[Sample]) -> list[str]:
    """Return the cases in which a call got no answer in any run: a time-out, a crash."""

    def is_unanswered(run: Sample) -> bool:
        return any(check.name == "answered" and not check.passed for check in run.checks)

    return [sample.id for sample in samples if share_of_runs(sample, is_unanswered)]


def latencies(samples: Iterable[Sample]) -> list[float]:
    """Milliseconds each case's calls took; cases without an answer are left out."""
    found = (sample.run.get("processingTimeMs") or 0 for sample in samples)
    return [value for value in found if value > 0]


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean, or None of nothing."""
    return math.fsum(values) / len(values) if values else None


def half_up(value: float, digits: int = 0) -> Decimal:
    """Return a number of 0 or more, rounded like JavaScript's ``Math.round`` and ``toFixed``: halves up."""
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least ``share`` of the values do not exceed (nearest rank), or None."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def by_trait(samples: Sequence[Sample], trait: str) -> dict[str, dict[str, Any]]:
    """Groups of samples by a trait; a case with several values (tags) is in several groups."""
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        value = sample.traits.get(trait)
        for name in value if isinstance(value, (list, tuple)) else [value] if value else []:
            groups.setdefault(str(name), []).append(sample)
    return {name: group_of(groups[name]) for name in sorted(groups)}


def summary(samples: Sequence[Sample]) -> dict[str, Any]:
    """The totals of some samples, without times."""
    kept = not_set_aside(samples)
    group = group_of(kept)
    inconclusive = ended(kept, "inconclusive")
    return {
        "totalTests": group["total"],
        "passed": group["passed"],
        "failed": group["total"] - group["passed"] - inconclusive,
        "inconclusive": inconclusive,
        "passRate": group["passRate"],
        "averageConfidence": int(half_up(mean(confidences(kept)) or 0)),
        "skipped": sum(sample.outcome == "skipped" for sample in samples),
        "expectedFailures": sum(sample.outcome == "xfailed" for sample in samples),
    }


def measure(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return all metrics of some samples that do not differ between runs."""
    kept = not_set_aside(samples)
    by_difficulty = by_trait(kept, "difficulty")
    return {
        "summary": summary(samples),
        "byDifficulty": {name: by_difficulty.get(name, group_of(())) for name in DIFFICULTIES},
        "byTool": by_trait(kept, "tool"),
        "byProject": by_trait(kept, "project"),
        "byTag": by_trait(kept, "tags"),
    }


def times(samples: Sequence[Sample]) -> dict[str, Any]:
    """The times of some samples, in milliseconds."""
    found = latencies(not_set_aside(samples))
    return {
        "averageProcessingTime": int(half_up(mean(found) or 0)),
        "p95ProcessingTime": percentile(found, 0.95),
    }


def measure_run(samples: Sequence[Sample]) -> dict[str, Any]:
    """The times of some samples, and each case's verbatim answers."""
    return {**times(samples), "cases": {sample.id: dict(sample.run) for sample in samples}}
