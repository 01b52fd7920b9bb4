"""The input of the gates of a retrieval set: settings, scores, and those of a baseline. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from pytest_mcpeval.core.gate import names
from pytest_mcpeval.core.statistics import FallsTest, falls_test, has_fallen
from pytest_mcpeval.kinds.retrieval.definitions import default_metric

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.retrieval.metrics import Scores
    from pytest_mcpeval.kinds.retrieval.schema import GatesModel
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite

DEFAULT_LOST_BY = "recall_at_5"
DEFAULT_SHARE = 0.05
"""How far a metric may fall by default."""

DEFAULT_TOLERANCE: Mapping[str, float] = {DEFAULT_LOST_BY: DEFAULT_SHARE}

FALL_LEVEL = 0.04
"""A fall of a metric fails if one as large happens by chance less often than this."""

LOST_LEVEL = 0.01
"""Lost queries fail if as many are lost by chance less often than this.  The two levels add up to
0.05: if nothing changed, the default gates together fail in at most 5 of 100 runs."""

DEFAULT_SIGNIFICANCE: Mapping[str, float] = {DEFAULT_LOST_BY: FALL_LEVEL}


@dataclass(frozen=True)
class GateSettings:
    """Which gates a set has.

    ``tolerance`` is the fall allowed per metric, absolute; None takes the baseline's own, or
    ``default_tolerance``. ``significance`` is the p below which the sign-flip test of a metric fails.
    ``max_lost`` is how many queries may be lost by ``lost_by`` since the baseline, None for no such gate;
    ``chance`` fails if more are lost than the tolerance allows and than chance explains.
    ``pinned`` maps query id to the k within which it must find a relevant tool; ``floors`` maps metric to its
    lowest value. ``off`` maps gates that are turned off on purpose to the setting that says so.
    """

    tolerance: Mapping[str, float] | None = None
    default_tolerance: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_TOLERANCE))
    significance: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_SIGNIFICANCE))
    max_lost: int | Literal["chance"] | None = "chance"
    lost_by: str = DEFAULT_LOST_BY
    pinned: Mapping[str, int] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)
    off: Mapping[str, str] = field(default_factory=dict)

    def without(self, queries: AbstractSet[str]) -> GateSettings:
        """Return the gates without the pins of some queries."""
        return replace(self, pinned={query: k for query, k in self.pinned.items() if query not in queries})

    def tolerances(self, baseline: BaselineScores | None) -> Mapping[str, float]:
        """Return the tolerances that apply: those given here, else the baseline's, else the default."""
        if self.tolerance is not None:
            return self.tolerance
        return (baseline.tolerance if baseline is not None else None) or self.default_tolerance


@dataclass(frozen=True)
class Comparison:
    """The change of every query's value of one metric since the baseline.

    ``values`` maps each query to its values in the runs of the baseline and in the new runs. ``new``
    are queries the baseline does not have, which are not compared. A query that is in the baseline
    but not in the run counts as 0.
    """

    metric: str
    values: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    new: tuple[str, ...] = ()

    @property
    def differences(self) -> list[float]:
        """New − old of every query, both means over the same number of runs (the first ones of the
        longer series).  The means of one run and of five do not differ symmetrically by chance, which
        a sign-flip test requires.
        """
        pairs = ((old, new, min(len(old), len(new))) for old, new in self.values.values())
        return [fmean(new[:runs]) - fmean(old[:runs]) for old, new, runs in pairs]

    @cached_property
    def won(self) -> list[str]:
        """Queries with a higher value than in the baseline; of several runs, in most of them."""
        return [query for query, (old, new) in self.values.items() if has_fallen(new, old)]

    @cached_property
    def lost(self) -> list[str]:
        """Queries with a lower value than in the baseline; of several runs, in most of them."""
        return [query for query, (old, new) in self.values.items() if has_fallen(old, new)]

    @property
    def tied(self) -> list[str]:
        """The other queries that are compared."""
        changed = {*self.won, *self.lost}
        return [query for query in self.values if query not in changed]

    def falls(self) -> FallsTest:
        """Whether more queries are lost than chance explains."""
        return falls_test(self.values.values())

    def words(self) -> str:
        """Lost, won and tied queries, counted for a message; those that are tied are not named."""
        parts = [_named("lost", self.lost), _named("won", self.won), f"tied {len(self.tied)}"]
        if self.new:
            parts.append(_named("not in the baseline", self.new))
        return "; ".join(parts)

    def as_data(self) -> dict[str, list[str]]:
        """Every won, lost and tied query, for reports."""
        return {"won": self.won, "lost": self.lost, "tied": self.tied}


def _named(word: str, queries: list[str] | tuple[str, ...], limit: int = 10) -> str:
    return f"{word} {len(queries)}: {names(queries, limit)}" if queries else f"{word} 0"


def compare(
    metric: str, values: Mapping[str, Sequence[float]], baseline: Mapping[str, Sequence[float]]
) -> Comparison:
    """Compare a metric's values (query id → its value in each run) with those of a baseline."""
    queries = [query for query in values if query in baseline]
    gone = [query for query in baseline if query not in values]
    return Comparison(
        metric,
        {
            query: (baseline[query], values.get(query, [0.0] * len(baseline[query])))
            for query in [*queries, *gone]
        },
        tuple(query for query in values if query not in baseline),
    )


@dataclass(frozen=True)
class BaselineScores:
    """The scores of a committed baseline.

    ``metrics`` are those of the set, by name. ``scores`` are those of every query in every run, or
    None for a baseline with only the metrics of the set. ``digests`` are those of what it was made
    from, by readable name (``corpus``, ``golden set``, ``metric definitions``).
    """

    metrics: Mapping[str, float]
    scores: Scores | None = None
    tolerance: Mapping[str, float] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, scores: Scores, digests: Mapping[str, str] | None = None) -> BaselineScores:
        """The baseline that some scores are."""
        return cls(scores.means(), scores, digests=digests or {})

    def without(self, aside: AbstractSet[str]) -> BaselineScores:
        """Return the baseline without some queries; one without values of single queries is unchanged."""
        if not aside:
            return self
        if self.scores is None:
            return replace(self, metrics={})
        kept = self.scores.subset(frozenset(self.scores.ids) - aside)
        return replace(self, metrics=kept.means(), scores=kept)

    def by_run(self, metric: str) -> dict[str, list[float]] | None:
        """Query id → the value of a metric in each run; None when the baseline does not hold it."""
        if self.scores is None or metric not in self.scores.metrics:
            return None
        return self.scores.by_run(metric)


@dataclass(frozen=True)
class GateInput:
    """Everything that the gates of a set are judged on.  ``scores`` has every query of the set; a
    query without an answer counts as if nothing was returned. ``digests`` are those of what it was
    made from, as in a baseline. ``bless_command`` writes a new baseline.
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
        """Return the change of every query.

        None if the baseline has no values of single queries for this metric.
        """
        if metric not in self._comparisons:
            old = None if self.baseline is None else self.baseline.by_run(metric)
            found = None if old is None else compare(metric, self.scores.by_run(metric), old)
            self._comparisons[metric] = found
        return self._comparisons[metric]

    @cached_property
    def _comparisons(self) -> dict[str, Comparison | None]:
        return {}


def gate_settings(suite: RetrievalSuite) -> GateSettings:
    """Return the gates of a suite from its settings and its pinned queries."""
    gates: GatesModel = suite.settings.gates
    watched, given = default_metric(suite.settings.depth), gates.model_fields_set
    significance = gates.significance if "significance" in given else {watched: FALL_LEVEL}
    return GateSettings(
        tolerance=None if gates.tolerance is None else _limits(gates.tolerance),
        default_tolerance={watched: DEFAULT_SHARE},
        significance=_limits(significance),
        max_lost=gates.max_lost,
        lost_by=gates.lost_by if "lost_by" in given else watched,
        pinned=suite.golden.pinned,
        floors=_limits(gates.floors),
        off=dict(_off(gates, watched)),
    )


def _limits(found: Mapping[str, float | None]) -> dict[str, float]:
    return {metric: limit for metric, limit in found.items() if limit is not None}


def _off(gates: GatesModel, watched: str) -> Iterator[tuple[str, str]]:
    """Yield the gates that are turned off on purpose, each with its setting."""
    for group, suffix in {"tolerance": "", "significance": "_sign_flip", "floors": "_floor"}.items():
        limits: Mapping[str, float | None] | None = getattr(gates, group)
        if limits == {} and group in gates.model_fields_set and group != "floors":
            yield f"{watched}{suffix}", f"{group}: {{}}"
        for metric in (metric for metric, limit in (limits or {}).items() if limit is None):
            yield f"{metric}{suffix}", f"{group}: {{{metric}: null}}"
    if gates.max_lost is None:
        yield "max_lost", "max_lost: null"
