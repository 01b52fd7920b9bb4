"""Per-query values against a baseline's: which queries were won, lost or tied. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_mcpeval.gates import SLACK, names

NAMED_TIES = 3
"""Ties are the rule: a message names these, and counts them all."""


@dataclass(frozen=True)
class Comparison:
    """The queries of a set by what became of their value of one metric since the baseline.

    ``differences`` are new − old, query by query; ``new`` are queries the baseline does not have, which are
    not compared. A query the baseline has and the run has not counts with its worst value, 0.
    """

    metric: str
    differences: Mapping[str, float]
    new: tuple[str, ...] = ()

    @property
    def won(self) -> list[str]:
        """Queries with a higher value than in the baseline."""
        return [query for query, difference in self.differences.items() if difference > SLACK]

    @property
    def lost(self) -> list[str]:
        """Queries with a lower value than in the baseline."""
        return [query for query, difference in self.differences.items() if difference < -SLACK]

    @property
    def tied(self) -> list[str]:
        """Queries with the value they had in the baseline."""
        return [query for query, difference in self.differences.items() if abs(difference) <= SLACK]

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


def compare(metric: str, values: Mapping[str, float], baseline: Mapping[str, float]) -> Comparison:
    """Compare a metric's values (query id → value) with those of a baseline."""
    queries = [query for query in values if query in baseline]
    gone = [query for query in baseline if query not in values]
    return Comparison(
        metric,
        {query: values.get(query, 0.0) - baseline[query] for query in [*queries, *gone]},
        tuple(query for query in values if query not in baseline),
    )
