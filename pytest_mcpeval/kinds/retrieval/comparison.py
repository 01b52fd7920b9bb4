"""Per-query values against a baseline's: which queries were won, lost or tied. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from pytest_mcpeval.core.gate import names
from pytest_mcpeval.core.statistics import FallsTest, falls_test, has_fallen

NAMED_TIES = 3
"""Ties are the rule: a message names these, and counts them all."""


@dataclass(frozen=True)
class Comparison:
    """The queries of a set by what became of their value of one metric since the baseline.

    ``values`` maps each query to its values in the runs of the baseline and in the new runs. ``new`` are
    queries the baseline does not have, which are not compared. A query the baseline has and the run has not
    counts with its worst value, 0.
    """

    metric: str
    values: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    new: tuple[str, ...] = ()

    @property
    def differences(self) -> list[float]:
        """New − old of every query, both means of equally many runs: of the first ones of the longer series.

        The means of one run and of five do not differ symmetrically by chance, which a sign-flip test needs.
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
        """Lost, won and tied queries, counted and named, for a message."""
        parts = [_named("lost", self.lost), _named("won", self.won), _named("tied", self.tied, NAMED_TIES)]
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
