"""What a rule of the reference detector is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.kinds.security.verdicts import Detection


@dataclass(frozen=True)
class Finding:
    """Something a rule found: where (see `Detection`), and in words what."""

    message: str
    field: str
    span: tuple[int, int]


@dataclass(frozen=True)
class Rule:
    """One rule, documented.

    ``weight`` is what a finding adds to the score of an entry, once for each rule: an entry is flagged from 1
    on. ``looks_for``, ``why`` and ``limits`` are for people. ``find`` looks at an entry as a detector
    sees it.
    """

    id: str
    weight: float
    looks_for: str
    why: str
    limits: str
    find: Callable[[Mapping[str, Any]], Iterator[Finding]]

    @property
    def severity(self) -> str:
        """How much a finding of this rule alone means."""
        return "high" if self.weight >= 1 else "medium" if self.weight >= 0.5 else "low"

    def detections(self, seen: Mapping[str, Any]) -> list[Detection]:
        """What it found in an entry."""
        return [
            Detection(self.id, found.message, self.severity, found.field, found.span)
            for found in self.find(seen)
        ]
