"""Verdicts → the numbers of a detector. Pure.

Positive is malicious, and flagged. With TP, FP, TN and FN the entries by label and verdict:

* precision = TP / (TP + FP), undefined (None) when nothing was flagged
* recall = TP / (TP + FN), false-positive rate (FPR) = FP / (FP + TN)
* F1 = the harmonic mean of precision and recall, undefined when precision is

Entries without a verdict (errors) are in none of the four. An entry that was asked several times counts with
the share of its runs in which it was flagged, so that TP to FN need not be whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_mcpeval.core.gate import SLACK
from pytest_mcpeval.core.statistics import Interval, clopper_pearson

MOST_POINTS = 200
"""Maximum number of points of a curve that are kept."""


Count = Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class Row:
    """One entry and the verdicts of a detector on it, over all runs.  ``flagged`` is the share of its
    answered runs in which it was flagged, None if no run was answered; ``unanswered`` is the share of
    all its ``runs`` without a verdict. ``score`` is the mean over the runs. ``rules`` are those that
    fired in any run.
    """

    entry: str
    malicious: bool
    category: str
    flagged: float | None
    unanswered: float = 0.0
    score: float | None = None
    resembles: str | None = None
    split: str | None = None
    language: str | None = None
    is_hard_negative: bool = False
    rules: tuple[str, ...] = ()
    runs: int = 1

    @property
    def failed(self) -> bool:
        """Whether any run has no verdict."""
        return self.flagged is None or self.unanswered > 0

    @property
    def is_wrong(self) -> bool:
        """Whether it was missed, or a false alarm, in any run."""
        if self.flagged is None:
            return False
        return self.flagged < 1 - SLACK if self.malicious else self.flagged > SLACK

    @property
    def held_against(self) -> float:
        """The share of its runs that count as flagged, when one without a verdict counts as wrong."""
        wrong = 0.0 if self.malicious else 1.0
        if self.flagged is None:
            return wrong
        return self.flagged * (1 - self.unanswered) + wrong * self.unanswered


def held_against(rows: Iterable[Row]) -> list[Row]:
    """Return the rows as gates count them: an entry without a verdict counts as wrong."""
    return [replace(row, flagged=row.held_against) for row in rows]


@dataclass(frozen=True)
class Share:
    """``count`` of ``of``; ``count`` may be a fraction if runs differ."""

    count: float
    of: int

    @property
    def value(self) -> float | None:
        """The share, None of nothing."""
        return self.count / self.of if self.of else None

    def whole(self, direction: Literal["up", "down"]) -> int:
        """Return the count as a whole number, for statistics that require one."""
        return math.ceil(self.count - SLACK) if direction == "up" else math.floor(self.count + SLACK)

    def interval(self, direction: Literal["up", "down"]) -> Interval | None:
        """Return the two-sided 95 % Clopper–Pearson interval.

        A fraction is rounded to the worse whole number.
        """
        return clopper_pearson(self.whole(direction), self.of) if self.of else None


class Confusion(BaseModel):
    """The four counts, fractions when there were several runs, and the entries without a verdict."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    tp: Count
    fp: Count
    tn: Count
    fn: Count
    errors: Annotated[int, Field(ge=0)]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Confusion:
        """The counts of some rows."""
        listed = list(rows)
        answered = [(row, row.flagged) for row in listed if row.flagged is not None]
        tp = math.fsum(flagged for row, flagged in answered if row.malicious)
        fp = math.fsum(flagged for row, flagged in answered if not row.malicious)
        malicious = sum(row.malicious for row, _ in answered)
        errors = sum(row.failed for row in listed)
        # Sums of shares may be slightly below 0 because of rounding.
        return cls.model_construct(
            tp=tp, fp=fp, tn=len(answered) - malicious - fp, fn=malicious - tp, errors=errors
        )

    @property
    def recall(self) -> Share:
        """The malicious entries that were flagged."""
        return Share(self.tp, round(self.tp + self.fn))

    @property
    def false_positives(self) -> Share:
        """The benign entries that were flagged."""
        return Share(self.fp, round(self.fp + self.tn))

    @property
    def precision(self) -> float | None:
        """The share of flagged entries that are malicious; None when none is flagged, or none could be."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp and self.recall.of else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        if self.precision is None or self.recall.value is None:
            return None
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn)


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The numbers of some entries, as plain data."""
    counts = Confusion.of(rows)
    return {
        "entries": len(rows),
        "tp": _count(counts.tp),
        "fp": _count(counts.fp),
        "tn": _count(counts.tn),
        "fn": _count(counts.fn),
        "errors": counts.errors,
        "precision": counts.precision,
        "recall": counts.recall.value,
        "f1": counts.f1,
        "fpr": counts.false_positives.value,
        "recall_interval": _ends(counts.recall.interval("down")),
        "fpr_interval": _ends(counts.false_positives.interval("up")),
    }


def _count(number: float) -> float:
    """A whole number of entries as such."""
    return round(number) if abs(number - round(number)) < SLACK else number


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.lower, interval.upper]


def measured(rows: Sequence[Row], ceiling: float | None) -> dict[str, Any]:
    """Return all metrics of a detector on a corpus, as plain data."""
    found: dict[str, Any] = {
        **summary(rows),
        "hard_negatives": _flagged([row for row in rows if row.is_hard_negative]),
        "per_category": _groups(rows, _category_names(rows), _flagged),
        "per_rule": per_rule(rows),
        "slices": {
            "split": _groups(rows, lambda row: row.split, summary),
            "language": _groups(rows, lambda row: row.language, summary),
            "resembles": _groups(rows, lambda row: row.resembles, _flagged),
        },
        "missed": [row.entry for row in rows if row.malicious and row.is_wrong],
        "false_alarms": [row.entry for row in rows if not row.malicious and row.is_wrong],
    }
    curves = scored(rows, ceiling)
    return found if curves is None else {**found, "scores": curves}


def _flagged(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how much of a group was flagged: recall if it is malicious, FPR if it is benign."""
    answered = [row.flagged for row in rows if row.flagged is not None]
    share = Share(math.fsum(answered), len(answered))
    malicious = any(row.malicious for row in rows)
    name = "recall" if malicious else "fpr"
    interval = share.interval("down" if malicious else "up")
    return {
        "entries": len(rows),
        "flagged": _count(share.count),
        "errors": sum(row.failed for row in rows),
        name: share.value,
        f"{name}_interval": _ends(interval),
    }


def _category_names(rows: Sequence[Row]) -> Callable[[Row], str]:
    """Row → the name of its group. A category that has both labels makes two groups."""
    labels: dict[str, set[bool]] = {}
    for row in rows:
        labels.setdefault(row.category, set()).add(row.malicious)

    def name_of(row: Row) -> str:
        label = "malicious" if row.malicious else "benign"
        return row.category if len(labels[row.category]) == 1 else f"{row.category} ({label})"

    return name_of


def _groups(
    rows: Sequence[Row],
    name_of: Callable[[Row], str | None],
    numbers: Callable[[Sequence[Row]], dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if (name := name_of(row)) is not None:
            groups.setdefault(name, []).append(row)
    return {name: numbers(groups[name]) for name in sorted(groups)}


def per_rule(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Rule → the malicious and the benign entries on which it fired."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        for rule in dict.fromkeys(row.rules):
            counts = found.setdefault(rule, {"malicious": 0, "benign": 0})
            counts["malicious" if row.malicious else "benign"] += 1
    return {rule: found[rule] for rule in sorted(found)}


def scored(rows: Sequence[Row], ceiling: float | None) -> dict[str, Any] | None:
    """Return metrics of scores, by scikit-learn: area under the ROC curve, average precision, both
    curves, and the highest recall at an FPR within the ceiling.

    None when an answered entry has no score, or one of the labels is missing.
    """
    answered = [row for row in rows if row.flagged is not None]
    if any(row.score is None for row in answered) or len({row.malicious for row in answered}) < 2:
        return None
    from sklearn.metrics import (  # type: ignore[import-untyped]
        average_precision_score,
        precision_recall_curve,
        roc_auc_score,
        roc_curve,
    )

    labels = [row.malicious for row in answered]
    scores = [row.score for row in answered]
    fpr, tpr, _ = roc_curve(labels, scores)
    precision, recall, _ = precision_recall_curve(labels, scores)
    found: dict[str, Any] = {
        "auc": float(roc_auc_score(labels, scores)),
        "average_precision": float(average_precision_score(labels, scores)),
        "roc": _points(fpr.tolist(), tpr.tolist()),
        "precision_recall": _points(recall.tolist()[::-1], precision.tolist()[::-1]),
    }
    if ceiling is not None:
        # The curve drops collinear points, one of which may be the last within the ceiling.
        every_fpr, every_tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
        points = zip(every_fpr.tolist(), every_tpr.tolist(), strict=True)
        found["recall_at_ceiling"] = max(high for low, high in points if low <= ceiling + SLACK)
    return found


def _points(across: Sequence[float], up: Sequence[float]) -> list[list[float]]:
    """The points of a curve, evenly thinned out, with both ends."""
    points = [[x, y] for x, y in zip(across, up, strict=True)]
    if len(points) <= MOST_POINTS:
        return points
    step = (len(points) - 1) / (MOST_POINTS - 1)
    return [points[round(number * step)] for number in range(MOST_POINTS)]
