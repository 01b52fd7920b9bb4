"""What a parser hands over: plain data, and the lines it noticed on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .problems import DataFileError, Problem

Key: TypeAlias = str | int


@dataclass(frozen=True)
class EntryLines:
    """The lines (from 1) noticed while parsing: of the root, and of the entries of the outermost lists.

    ``rows`` are the entries of a root that is a list; ``by_key`` the entries of each list in a root mapping.
    """

    root: int = 1
    rows: Sequence[int] = ()
    by_key: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def find(self, keys: tuple[Key, ...]) -> tuple[int, int]:
        """The line nearest to a path of keys, and how many of the keys it stands for."""
        lines, taken = self.rows, 0
        if keys and isinstance(keys[0], str):
            lines, taken = self.by_key.get(keys[0], ()), 1
        index = keys[taken] if len(keys) > taken else None
        if isinstance(index, int) and 0 <= index < len(lines):
            return lines[index], taken + 1
        return self.root, 0


@dataclass(frozen=True)
class Parsed:
    """A parsed file: ``data`` is plain JSON data; ``nodes`` and ``depth`` count expanded aliases."""

    data: Any
    lines: EntryLines
    nodes: int
    depth: int


class ParsedWithProblemsError(DataFileError):
    """A file that could be read to its end, but is not sound: ``parsed`` is what it says all the same."""

    def __init__(self, problems: Iterable[Problem], parsed: Parsed) -> None:
        super().__init__(problems)
        self.parsed = parsed
