"""What the gates of a retrieval set are judged on: settings, scores, and those of a baseline. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from pytest_mcpeval.kinds.retrieval.comparison import Comparison, compare

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.retrieval.metrics import Scores

DEFAULT_SHARE = 0.05
"""How far a metric may fall, and the p below which its fall is no chance, unless something else is said."""

DEFAULT_LOST_BY = "recall_at_5"
DEFAULT_TOLERANCE: Mapping[str, float] = {DEFAULT_LOST_BY: DEFAULT_SHARE}
DEFAULT_SIGNIFICANCE: Mapping[str, float] = {DEFAULT_LOST_BY: DEFAULT_SHARE}


@dataclass(frozen=True)
class GateSettings:
    """Which gates a set has.

    ``tolerance`` is the fall allowed per metric, absolute; None takes the baseline's own, or
    ``default_tolerance``. ``significance`` is the p below which the sign-flip test of a metric fails.
    ``max_lost`` is how many queries may have a lower ``lost_by`` than in the baseline: ``tolerance`` for as
    many as the tolerance amounts to in queries, None for no such gate. ``pinned`` maps query id to the k
    within which it must find a relevant tool; ``floors`` maps metric to its lowest value.
    """

    tolerance: Mapping[str, float] | None = None
    default_tolerance: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_TOLERANCE))
    significance: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_SIGNIFICANCE))
    max_lost: int | Literal["tolerance"] | None = "tolerance"
    lost_by: str = DEFAULT_LOST_BY
    pinned: Mapping[str, int] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)

    def without(self, queries: AbstractSet[str]) -> GateSettings:
        """The gates of a set from which queries were set aside: these are pinned no more."""
        return replace(self, pinned={query: k for query, k in self.pinned.items() if query not in queries})

    def tolerances(self, baseline: BaselineScores | None) -> Mapping[str, float]:
        """The tolerances in force: those said here, else the baseline's, else the default."""
        if self.tolerance is not None:
            return self.tolerance
        return (baseline.tolerance if baseline is not None else None) or self.default_tolerance


@dataclass(frozen=True)
class BaselineScores:
    """What a committed baseline says of a set.

    ``metrics`` are those of the set, by name. ``queries`` maps query id to its value of each metric, and is
    None for a baseline that holds the metrics of the set alone. ``digests`` are of what it was made from,
    by a word for people (``corpus``, ``golden set``, ``metric definitions``).
    """

    metrics: Mapping[str, float]
    queries: Mapping[str, Mapping[str, float]] | None = None
    tolerance: Mapping[str, float] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, scores: Scores, digests: Mapping[str, str] | None = None) -> BaselineScores:
        """The baseline that some scores are."""
        return cls(scores.means(), scores.rows(), digests=digests or {})

    def without(self, aside: AbstractSet[str]) -> BaselineScores:
        """The baseline of the other queries; without values of single queries, it knows nothing of those."""
        if not aside:
            return self
        if self.queries is None:
            return replace(self, metrics={})
        kept = {query: values for query, values in self.queries.items() if query not in aside}
        metrics = {
            metric: math.fsum(values[metric] for values in kept.values()) / len(kept)
            for metric in (self.metrics if kept else ())
        }
        return replace(self, metrics=metrics, queries=kept)

    def by_query(self, metric: str) -> dict[str, float] | None:
        """Query id → value of a metric; None when the baseline does not hold it for every query."""
        if self.queries is None or any(metric not in values for values in self.queries.values()):
            return None
        return {query: values[metric] for query, values in self.queries.items()}


@dataclass(frozen=True)
class GateInput:
    """Everything the gates of a set are judged on.

    ``scores`` hold every query of the set: one without an answer is scored as if nothing was returned.
    ``digests`` are of what it was made from, as in a baseline. ``bless_command`` writes a new baseline.
    """

    suite: str
    settings: GateSettings
    scores: Scores
    baseline: BaselineScores | None
    digests: Mapping[str, str] = field(default_factory=dict)
    bless_command: str = "pytest --mcpeval --mcpeval-bless"

    @cached_property
    def means(self) -> dict[str, float]:
        """The metrics of the set."""
        return self.scores.means()

    @cached_property
    def tolerances(self) -> Mapping[str, float]:
        """The tolerances in force."""
        return self.settings.tolerances(self.baseline)

    def comparison(self, metric: str) -> Comparison | None:
        """What became of every query; None without per-query values of this metric in the baseline."""
        old = None if self.baseline is None else self.baseline.by_query(metric)
        return None if old is None else compare(metric, self.scores.by_query(metric), old)
