"""Groups of queries that are reported apart: hard negatives, servers, kinds of notes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

HARD_NEGATIVE = "hard-negative"

_HARD_NEGATIVE = re.compile(rf"\s*{HARD_NEGATIVE}\s*:", re.IGNORECASE)
_WORD_BEFORE_COLON = re.compile(r"\s*([\w][\w .-]{0,39}?)\s*:")


@dataclass(frozen=True)
class LabelledQuery:
    """A query of a golden set: tool id → relevance (0, 1 or 2), and a remark of its author."""

    id: str
    text: str
    labels: Mapping[str, int]
    notes: str = ""

    @property
    def is_hard_negative(self) -> bool:
        """Whether a tool that looks right is wrong, as its notes say."""
        return is_hard_negative(self.notes)


def is_hard_negative(notes: str) -> bool:
    """Whether notes begin with ``hard-negative:``, in small or capital letters."""
    return _HARD_NEGATIVE.match(notes) is not None


def servers_of(labels: Mapping[str, int]) -> list[str]:
    """The servers of the relevant tools, sorted; tool ids are ``<server>:<tool>``."""
    return sorted({tool.partition(":")[0] for tool, relevance in labels.items() if relevance >= 1})


def kind_of_notes(notes: str) -> str | None:
    """What notes call themselves: the words before their first colon, ``typo`` in ``typo: swapped``."""
    if is_hard_negative(notes):
        return HARD_NEGATIVE
    found = _WORD_BEFORE_COLON.match(notes)
    return found[1] if found else None


def slices(queries: Iterable[LabelledQuery]) -> dict[str, dict[str, frozenset[str]]]:
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
