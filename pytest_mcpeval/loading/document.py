"""A loaded data file: its data, its digest, and the line of each value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .json_scan import Scan
from .parsed import EntryLines, Key, Position, find
from .problems import DataFileError, Problem
from .source import LINE_BREAK, Limits, Source, read

EXCERPT_WIDTH = 200
"""Maximum characters of a line in an excerpt, since a file may be one long line."""


@dataclass(frozen=True, eq=False)
class Document:
    """One data file.

    ``data`` is plain JSON data (aliased values are shared, so do not change it). ``digest`` is
    ``sha256:<hex>`` of the file's bytes. Lines of values inside list entries are found by reading the
    file again on first use; if it has changed, the nearest known line is returned.
    """

    path: Path
    data: Any
    digest: str
    entry_lines: EntryLines = field(default_factory=EntryLines, repr=False)
    limits: Limits = field(default_factory=Limits, repr=False)

    def line(self, *keys: Key) -> int:
        """Return the line (from 1) of the value at a path of keys; for a value in a mapping, the line
        of its key.  If there is no such value, return the line of its nearest ancestor.
        """
        line, taken = self.entry_lines.find(keys)
        if taken == len(keys):
            return line
        return line if self._positions is None else find(self._positions, keys)

    def problem(self, *keys: Key, message: str) -> Problem:
        """Return a problem at the line of the value at a path of keys."""
        return Problem(self.path, self.line(*keys), message)

    def excerpt(self, line: int, before: int = 1, after: int = 6, near: str = "") -> str:
        """Return the source around a line with line numbers; ``>`` marks the line itself.  A long
        line is cut; the cut of the marked line contains the text ``near``. Empty if the file is gone
        or has changed.
        """
        lines = self._source_lines
        numbers = range(max(1, line - before), min(len(lines), line + after) + 1)
        width = len(str(numbers[-1])) if numbers else 0
        marks = ((number, ">" if number == line else " ", lines[number - 1]) for number in numbers)
        return "\n".join(
            f"{mark} {number:>{width}} | {_part(text, near if number == line else '')}".rstrip()
            for number, mark, text in marks
        )

    @cached_property
    def _positions(self) -> Position | None:
        source, suffix = self._unchanged_source(), self.path.suffix.lower()
        if source is None or suffix == ".jsonl":
            return None
        if suffix == ".json":
            return Scan(source, self.limits).positions
        from .yaml_positions import positions

        return positions(source)

    @cached_property
    def _source_lines(self) -> list[str]:
        source = self._unchanged_source()
        return [] if source is None else LINE_BREAK.split(source.text)

    def _unchanged_source(self) -> Source | None:
        try:
            source = read(self.path, self.limits)
        except DataFileError:
            return None
        return source if source.digest == self.digest else None


def value_at(data: Any, keys: Iterable[Key]) -> Any:
    """Return the value at a path of keys, or None if there is none."""
    for key in keys:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _part(text: str, near: str) -> str:
    """Return a line; if it is long, the part around a text, which may be quoted or the value of a key."""
    if len(text) <= EXCERPT_WIDTH:
        return text
    found = (text.find(one) for one in (f'"{near}"', f": {near}", near)) if near else ()
    place = next((index for index in found if index >= 0), 0)
    start = max(0, min(place - EXCERPT_WIDTH // 4, len(text) - EXCERPT_WIDTH))
    end = start + EXCERPT_WIDTH
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
