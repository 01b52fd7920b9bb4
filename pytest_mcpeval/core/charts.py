"""Charts as data: kinds make them, the html report draws them. Shares are between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["good", "bad", "neutral"]


@dataclass(frozen=True)
class Bar:
    """A share with its words, such as ``5/41``; ``interval`` are the ends of its confidence interval."""

    name: str
    share: float
    words: str
    severity: Severity = "neutral"
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bars:
    """Shares below each other; ``limit`` is a line through all of them, with its words."""

    title: str
    bars: tuple[Bar, ...]
    limit: float | None = None
    limit_words: str = ""


@dataclass(frozen=True)
class Matrix:
    """Counts, each with a bar for its share of its row; ``wrong`` are the cells (row, column) to avoid."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]
    wrong: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Curve:
    """A line through points (across, up), with a dashed vertical line at ``limit``."""

    title: str
    across: str
    up: str
    points: tuple[tuple[float, float], ...]
    words: str = ""
    limit: float | None = None
    diagonal: bool = False


Chart = Bars | Matrix | Curve
