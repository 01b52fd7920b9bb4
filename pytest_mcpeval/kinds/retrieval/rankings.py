"""Ranked lists and labels → the ranks of the relevant tools. Pure, and without numpy.

A list is taken in the server's own order and cut to the depth that was asked for. A duplicate tool is
dropped and the following ones move up; a tool that is not in the corpus keeps its rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

_FEW = 6
"""Up to this many relevant tools, searching the list for each is faster than a map of the whole list."""


class Ranking(NamedTuple):
    """One query's answer and labels. A tuple, since there may be very many.

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

    def add(self, relevant: Mapping[str, int], ranks: Sequence[int]) -> None:
        """Note a query's labels: tool id → relevance of its relevant tools, and their ranks in that order."""
        self.counts.append(len(relevant))
        self.rank += ranks
        self.gain += relevant.values()


def locate(rankings: Iterable[Ranking], depth: int) -> LocatedLabels:
    """Where the relevant tools of each query stand within its first ``depth`` results."""
    located = LocatedLabels()
    for ranking in rankings:
        ranked, labels = ranking.ranked, ranking.labels
        if len(ranked) > depth:
            ranked = ranked[:depth]
        located.ids.append(ranking.id)
        if len(labels) > _FEW or not _search(ranked, labels, located):
            relevant = relevant_of(labels)
            located.add(relevant, ranks_of(relevant, ranked))
    return located


def ranks_of(tools: Iterable[str], ranked: Sequence[str]) -> list[int]:
    """The rank of each tool in a list, from 1, with repetitions dropped; 0 for those not returned."""
    rank_of = {tool: rank for rank, tool in enumerate(dict.fromkeys(ranked), 1)}
    return [rank_of.get(tool, 0) for tool in tools]


def _search(ranked: Sequence[str], labels: Mapping[str, int], located: LocatedLabels) -> bool:
    """Note a query by searching its list for each relevant tool; False when repetitions make that wrong.

    It is several times faster than a map of the whole list, since the search mostly ends near the top.
    """
    ranks = []
    gains = []
    last = 0
    for tool, relevance in labels.items():
        if relevance < 1:
            continue
        gains.append(relevance)
        rank = ranked.index(tool) + 1 if tool in ranked else 0
        ranks.append(rank)
        if rank > last:
            last = rank
    # Only a repetition above the last relevant tool changes a rank.
    if last > 1 and len(set(ranked[:last])) != last:
        return False
    located.counts.append(len(ranks))
    located.rank += ranks
    located.gain += gains
    return True


def relevant_of(labels: Mapping[str, int]) -> dict[str, int]:
    """The labels that are relevant: 1 or more."""
    return {tool: relevance for tool, relevance in labels.items() if relevance >= 1}


def from_ranks(
    ids: Iterable[str], ranks: Mapping[str, Mapping[str, int]], labels: Mapping[str, Mapping[str, int]]
) -> LocatedLabels:
    """What `locate` found, from stored ranks: query id → tool id → rank, tools not returned left out."""
    located = LocatedLabels()
    for query in ids:
        relevant, found = relevant_of(labels[query]), ranks.get(query, {})
        located.ids.append(query)
        located.add(relevant, [found.get(tool, 0) for tool in relevant])
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
