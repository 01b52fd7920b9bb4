"""Tables as data: kinds make them, the terminal, Markdown and html reports render them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

Rating = Literal["", "good", "fair", "bad"]


@dataclass(frozen=True)
class Row:
    """One line of a table; ``rating`` says whether its last cell is good.

    ``timed``: it holds times, which differ from run to run.
    """

    cells: tuple[str, ...]
    rating: Rating = ""
    timed: bool = False


@dataclass(frozen=True)
class Table:
    """A titled table. The first column is text, the others are figures; a table without rows is not shown.

    ``brief`` is what is left of it where there is room for one line only; empty for nothing.

    Raises:
        ValueError: A row has not as many cells as the header, or one that is not a text.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    brief: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.header) or not all(isinstance(cell, str) for cell in row.cells):
                count = len(self.header)
                raise ValueError(f"table {self.title!r}: a row has {count} texts, as its header, found {row}")


def rating_of(rate: float) -> Rating:
    """The rating of a pass rate in percent: good from 80, fair from 60."""
    if rate >= 80:
        return "good"
    return "fair" if rate >= 60 else "bad"


def short_titles(suites: Iterable[str]) -> dict[str, str]:
    """Suite key → the name of its file, or its whole path where two suites have the same name."""
    keys = list(suites)
    names = [PurePosixPath(key).name for key in keys]
    return {key: name if names.count(name) == 1 else key for key, name in zip(keys, names, strict=True)}
