"""Ranks of relevant tools → metrics, for many queries at once. Pure.

With R the relevant tools of a query (relevance 1 or more) and r their ranks among the results:

* Recall@k: share of R with r ≤ k. hit@k: 1 if any r ≤ k, else 0.
* RR: 1 / smallest r. AP: sum over retrieved tools of R of (relevant up to r) / r, divided by the size of R.
* nDCG@k: sum over r ≤ k of gain / log2(r + 1), divided by the same sum of the best order of all labels.

These are the definitions of trec_eval (recall, success, recip_rank, map, ndcg_cut), for lists without ties.
A query that returned nothing scores 0 in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_mcpeval.kinds.retrieval.definitions import CUTOFFS, METRICS, NDCG_CUTOFF, metrics_within, nested
from pytest_mcpeval.kinds.retrieval.rankings import LocatedLabels, Ranking, locate

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Many queries, scored.

    ``values`` has one row per query and one column per metric, in the order of `METRICS`; ``relevant`` is the
    number of relevant tools of each query, ``first_rank`` the rank of the first one returned (0 for none).
    With a ``depth``, metrics that need more results have no value. ``runs`` are the
    runs of which these are the means; empty for those of one run.
    """

    ids: tuple[str, ...]
    values: Floats
    relevant: Integers
    first_rank: Integers
    depth: int | None = None
    runs: tuple[Scores, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that have a value."""
        return METRICS if self.depth is None else metrics_within(self.depth)

    def of(self, metric: str) -> Floats:
        """A metric's value for every query."""
        column: Floats = self.values[:, METRICS.index(metric)]
        return column

    def by_query(self, metric: str) -> dict[str, float]:
        """Query id → a metric's value."""
        return dict(zip(self.ids, self.of(metric).tolist(), strict=True))

    def by_run(self, metric: str) -> dict[str, list[float]]:
        """Query id → a metric's value in each run."""
        columns = [run.of(metric).tolist() for run in self.runs or (self,)]
        return {query: list(values) for query, *values in zip(self.ids, *columns, strict=True)}

    def means(self) -> dict[str, float]:
        """Every metric of the set: its mean over the queries. Empty for a set without queries."""
        if not self.ids:
            return {}
        return self._named(self.values.mean(axis=0).tolist())

    def rows(self) -> dict[str, dict[str, float]]:
        """Query id → the value of every metric."""
        return {query: self._named(row) for query, row in zip(self.ids, self.values.tolist(), strict=True)}

    def _named(self, values: Sequence[float]) -> dict[str, float]:
        named = dict(zip(METRICS, values, strict=True))
        return {metric: named[metric] for metric in self.metrics}

    def highest_recalls(self) -> dict[str, float]:
        """The highest Recall@k that the labels allow: with two relevant tools, Recall@1 is at most ½."""
        if not self.ids:
            return {}
        found = {
            f"recall_at_{k}": float((np.minimum(k, self.relevant) / self.relevant).mean()) for k in CUTOFFS
        }
        return {metric: value for metric, value in found.items() if metric in self.metrics}

    def subset(self, ids: AbstractSet[str]) -> Scores:
        """The scores of some of the queries, in the same order."""
        kept = [number for number, query in enumerate(self.ids) if query in ids]
        return Scores(
            tuple(self.ids[number] for number in kept),
            self.values[kept],
            self.relevant[kept],
            self.first_rank[kept],
            self.depth,
            tuple(run.subset(ids) for run in self.runs),
        )


def evaluate_many(rankings: Iterable[Ranking], depth: int) -> Scores:
    """Many queries, scored over the first ``depth`` results of each.

    Raises:
        ValueError: A query has no relevant label; the text names it.
    """
    return replace(score(locate(rankings, depth)), depth=depth)


def score(located: LocatedLabels) -> Scores:
    """Compute every metric from the ranks of the relevant tools.

    Raises:
        ValueError: A query has no relevant label; the text names it.
    """
    count = len(located.ids)
    relevant = np.array(located.counts, dtype=np.int64)
    if not relevant.all():
        name = located.ids[int(np.argmin(relevant))]
        raise ValueError(f"query {name!r} has no label with a relevance of 1 or more")
    query = np.repeat(np.arange(count), relevant)
    rank, gain = np.array(located.rank, dtype=np.int64), np.array(located.gain, dtype=np.int64)
    found = np.lexsort((rank, query))
    found = found[rank[found] > 0]
    columns = _Found(count, query[found], rank[found], gain[found], relevant)
    values = np.empty((count, len(METRICS)))
    for number, column in enumerate(_columns(columns, _ideal_gains(query, gain, count))):
        values[:, number] = column
    return Scores(tuple(located.ids), values, relevant, columns.first_ranks())


@dataclass(frozen=True)
class _Found:
    """The relevant tools that were returned, by query and rank; ``relevant`` has one entry per query."""

    count: int
    query: Integers
    rank: Integers
    gain: Integers
    relevant: Integers

    def sums(self, weights: NDArray[np.generic]) -> Floats:
        """The sum of some weights per query."""
        return _sums(self.query, weights, self.count)

    def first_ranks(self) -> Integers:
        """The smallest rank per query, 0 for none."""
        first = np.zeros(self.count, dtype=np.int64)
        starts = _ordinals(self.query) == 1
        first[self.query[starts]] = self.rank[starts]
        return first


def _columns(found: _Found, ideal: Floats) -> Iterable[Floats]:
    """The columns of `Scores.values`, in their order."""
    first = found.first_ranks()
    for k in CUTOFFS:
        yield found.sums(found.rank <= k) / found.relevant
    for k in CUTOFFS:
        yield ((first > 0) & (first <= k)).astype(np.float64)
    yield np.divide(1.0, first, out=np.zeros(found.count), where=first > 0)
    yield found.sums(_discounted(found.gain, found.rank)) / ideal
    yield found.sums(_ordinals(found.query) / found.rank) / found.relevant


def _ideal_gains(query: Integers, gain: Integers, count: int) -> Floats:
    """DCG@10 of the best order of all labels, per query."""
    best = np.lexsort((-gain, query))
    weights = _discounted(gain[best], _ordinals(query[best]))
    return _sums(query[best], weights, count)


def _sums(groups: Integers, weights: NDArray[np.generic], count: int) -> Floats:
    sums: Floats = np.bincount(groups, weights=weights, minlength=count).astype(np.float64, copy=False)
    return sums


def _discounted(gain: Integers, rank: Integers) -> Floats:
    return np.where(rank <= NDCG_CUTOFF, gain / np.log2(rank + 1.0), 0.0)


def _ordinals(groups: Integers) -> Integers:
    """The place of each entry within its group, from 1; equal groups stand together."""
    numbers = np.arange(len(groups))
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    lengths = np.diff(starts, append=len(groups))
    return numbers - np.repeat(starts, lengths) + 1


def average(runs: Sequence[Scores]) -> Scores:
    """The per-query means over runs of the same queries; ``first_rank`` is the worst of all runs.

    Raises:
        ValueError: There is no run, or the runs have not the same queries in the same order.
    """
    if not runs or any(run.ids != runs[0].ids for run in runs):
        raise ValueError("runs can be averaged when there is one at least, and all have the same queries")
    if len(runs) == 1:
        return runs[0]
    ranks = np.stack([run.first_rank for run in runs])
    worst = np.where((ranks == 0).any(axis=0), 0, ranks.max(axis=0))
    means = np.mean([run.values for run in runs], axis=0)
    return replace(runs[0], values=means, first_rank=worst, runs=tuple(runs))


def summary(scores: Scores) -> dict[str, Any]:
    """The metrics of some queries: ``recall_at`` and ``hit_at`` by cutoff, ``mrr``, ``ndcg_at_10``, ``map``.

    ``queries`` counts them; ``highest_recall_at`` is the most that the labels allow. A metric that looks
    further than the depth is None.
    """
    means, highest = scores.means(), nested(scores.highest_recalls())
    return {
        "queries": len(scores.ids),
        **nested({metric: means.get(metric) for metric in METRICS} if means else {}),
        "highest_recall_at": highest.get("recall_at", {}),
    }


def sliced(
    scores: Scores, slices: Mapping[str, Mapping[str, AbstractSet[str]]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """A `summary` for each slice (dimension → group → query ids).

    Groups without a scored query are left out.
    """
    found = {
        dimension: {name: scores.subset(ids) for name, ids in groups.items()}
        for dimension, groups in slices.items()
    }
    return {
        dimension: {name: summary(part) for name, part in groups.items() if part.ids}
        for dimension, groups in found.items()
    }
