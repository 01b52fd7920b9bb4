"""Ranked lists and labels → the ranks of the relevant tools. Pure, and without numpy.

A list is taken in the server's own order and cut to the depth that was asked for. A tool that comes again is
dropped and what follows moves up; a tool the corpus does not hold keeps its rank.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

_FEW = 6
"""Up to so many relevant tools, searching the list for each is faster than a map of the whole list."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One query's answer beside its labels.

    ``ranked`` are tool ids, best first, empty when nothing was returned; ``labels`` maps tool id to relevance
    (0, 1 or 2), of which at least one is relevant (1 or more).
    """

    id: str
    ranked: Sequence[str]
    labels: Mapping[str, int]


@dataclass
class LocatedLabels:
    """The relevant labels of many queries, filled query by query.

    ``ids`` are the queries and ``counts`` their numbers of relevant labels; ``rank`` and ``gain`` have one
    entry per label, query after query: the rank counts from 1 and is 0 for a tool that was not returned, the
    gain is the label's relevance.
    """

    ids: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    gain: list[int] = field(default_factory=list)

    def add(self, query: str, relevant: Mapping[str, int], ranks: Sequence[int]) -> None:
        """Note a query: tool id → relevance of its relevant tools, and their ranks in that order."""
        self.ids.append(query)
        self.counts.append(len(relevant))
        self.rank += ranks
        self.gain += relevant.values()


def locate(rankings: Iterable[Ranking], depth: int) -> LocatedLabels:
    """Where the relevant tools of each query stand within its first ``depth`` results."""
    located = LocatedLabels()
    for ranking in rankings:
        ranked = ranking.ranked
        if len(ranked) > depth:
            ranked = ranked[:depth]
        relevant = {tool: relevance for tool, relevance in ranking.labels.items() if relevance >= 1}
        located.add(ranking.id, relevant, ranks_of(relevant, ranked))
    return located


def ranks_of(tools: Collection[str], ranked: Sequence[str]) -> list[int]:
    """The rank of each tool in a list, from 1, with duplicates dropped; 0 for those not returned."""
    if len(tools) > _FEW:
        return _ranks_by_map(tools, ranked)
    ranks = []
    last = 0
    for tool in tools:
        try:
            rank = ranked.index(tool) + 1
        except ValueError:
            rank = 0
        ranks.append(rank)
        # Comparing beats max(): this loop runs for every relevant label there is.
        if rank > last:
            last = rank
    # Only a duplicate above the last relevant tool changes a rank.
    return ranks if len(set(ranked[:last])) == last else _ranks_by_map(tools, ranked)


def _ranks_by_map(tools: Iterable[str], ranked: Sequence[str]) -> list[int]:
    rank_of = {tool: rank for rank, tool in enumerate(dict.fromkeys(ranked), 1)}
    return [rank_of.get(tool, 0) for tool in tools]


def from_ranks(
    ids: Iterable[str], ranks: Mapping[str, Mapping[str, int]], labels: Mapping[str, Mapping[str, int]]
) -> LocatedLabels:
    """What `locate` found, from stored ranks: query id → tool id → rank, tools not returned left out."""
    located = LocatedLabels()
    for query in ids:
        found = ranks.get(query, {})
        relevant = {tool: relevance for tool, relevance in labels[query].items() if relevance >= 1}
        located.add(query, relevant, [found.get(tool, 0) for tool in relevant])
    return located


def duplicates(ranked: Sequence[str]) -> tuple[str, ...]:
    """The tools that a list names more than once, in the order of their first repetition."""
    if len(set(ranked)) == len(ranked):
        return ()
    seen: set[str] = set()
    # set.add returns None: a tool seen for the first time is noted and left out.
    return tuple(dict.fromkeys(tool for tool in ranked if tool in seen or seen.add(tool)))  # type: ignore[func-returns-value]


def foreign(ranked: Sequence[str], corpus: AbstractSet[str]) -> tuple[str, ...]:
    """The tools in a list that the corpus does not hold, in the list's order, each once."""
    return tuple(dict.fromkeys(tool for tool in ranked if tool not in corpus))


def changed(runs: Collection[Mapping[str, Sequence[str]]]) -> list[str]:
    """The queries whose ranked list was not the same in every run (query id → list, one mapping per run)."""
    first, *others = runs
    return [
        query
        for query, ranked in first.items()
        if any(list(other.get(query, ())) != list(ranked) for other in others)
    ]
