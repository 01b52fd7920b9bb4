"""A checked golden set: its queries, and the groups that are reported separately."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.kinds.retrieval.corpus import Corpus

HARD_NEGATIVE = "hard-negative"

_HARD_NEGATIVE = re.compile(rf"\s*{HARD_NEGATIVE}\s*:", re.IGNORECASE)
_WORD_BEFORE_COLON = re.compile(r"\s*([\w][\w .-]{0,39}?)\s*:")


@dataclass(frozen=True)
class GoldenQuery:
    """A query of a golden set: tool id → relevance (0, 1 or 2), and a remark of its author.

    ``must_hit`` pins it: the k within which it must find a relevant tool.
    """

    id: str
    text: str
    labels: Mapping[str, int]
    notes: str = ""
    must_hit: int | None = None

    @property
    def is_hard_negative(self) -> bool:
        """Whether a tool that looks right is wrong, as its notes say."""
        return is_hard_negative(self.notes)

    def as_data(self) -> dict[str, Any]:
        """Return what the digest of a set covers: everything that is measured, without pins."""
        return {"id": self.id, "query": self.text, "labels": dict(self.labels), "notes": self.notes}


@dataclass(frozen=True)
class GoldenData:
    """The queries of a golden set, and the corpus their labels are from."""

    queries: Sequence[GoldenQuery]
    corpus: Corpus

    @cached_property
    def digest(self) -> str:
        """``sha256:<hex>`` of the queries; settings, pins, provenance and layout do not count."""
        return digest_of([query.as_data() for query in self.queries])

    @cached_property
    def by_id(self) -> Mapping[str, GoldenQuery]:
        """Query id → query."""
        return {query.id: query for query in self.queries}

    @cached_property
    def pinned(self) -> Mapping[str, int]:
        """Query id → the k within which it must find a relevant tool, of the queries that say so."""
        return {query.id: query.must_hit for query in self.queries if query.must_hit is not None}


@dataclass(frozen=True, kw_only=True)
class RetrievalSuite(Suite[GoldenQuery]):
    """A golden file, loaded, with its queries and their corpus. ``settings`` are `RetrievalSettings`."""

    golden: GoldenData


def is_hard_negative(notes: str) -> bool:
    """Whether notes begin with ``hard-negative:``, in small or capital letters."""
    return _HARD_NEGATIVE.match(notes) is not None


def servers_of(labels: Mapping[str, int]) -> list[str]:
    """The servers of the relevant tools, sorted; tool ids are ``<server>:<tool>``."""
    return sorted({tool.partition(":")[0] for tool, relevance in labels.items() if relevance >= 1})


def kind_of_notes(notes: str) -> str | None:
    """Return the kind of notes: the words before their first colon, ``typo`` in ``typo: swapped``."""
    if is_hard_negative(notes):
        return HARD_NEGATIVE
    found = _WORD_BEFORE_COLON.match(notes)
    return found[1] if found else None


def slices(queries: Iterable[GoldenQuery]) -> dict[str, dict[str, frozenset[str]]]:
    """Query ids by dimension and group, groups sorted by name.

    ``difficulty`` parts the hard negatives from the other queries; ``server`` has a query under each server
    of its relevant tools; ``notes`` has those whose notes name their kind. Dimensions without groups are
    left out.
    """
    dimensions: dict[str, dict[str, set[str]]] = {"difficulty": {}, "server": {}, "notes": {}}
    for query in queries:
        difficulty = HARD_NEGATIVE if query.is_hard_negative else "other"
        dimensions["difficulty"].setdefault(difficulty, set()).add(query.id)
        for server in servers_of(query.labels):
            dimensions["server"].setdefault(server, set()).add(query.id)
        if kind := kind_of_notes(query.notes):
            dimensions["notes"].setdefault(kind, set()).add(query.id)
    return {
        dimension: {name: frozenset(groups[name]) for name in sorted(groups)}
        for dimension, groups in dimensions.items()
        if groups
    }
