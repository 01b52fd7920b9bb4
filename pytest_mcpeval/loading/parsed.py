"""The result of a parser: plain data, and the lines of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Key: TypeAlias = str | int

Position: TypeAlias = "int | tuple[int, Mapping[Key, Position]]"
"""The line (from 1) of a scalar, or the line of a container with the positions of its members.  A
tree of positions has the shape of the data. A value in a mapping has the line of its key; an entry of
a list has the line on which it starts. Plain integers for scalars halve the memory of a large file.
"""


@dataclass(frozen=True)
class EntryLines:
    """The lines (from 1) noted while parsing: of the root, and of the entries of the outermost lists.

    ``rows`` are the entries of a root that is a list; ``by_key`` the entries of each list in a root mapping.
    """

    root: int = 1
    rows: Sequence[int] = ()
    by_key: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def find(self, keys: tuple[Key, ...]) -> tuple[int, int]:
        """Return the nearest known line for a path of keys, and how many of the keys it covers."""
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


def find(position: Position, keys: tuple[Key, ...]) -> int:
    """Return the line at a path of keys, or that of its nearest ancestor that exists."""
    for key in keys:
        if isinstance(position, int) or key not in position[1]:
            break
        position = position[1][key]
    return line_of(position)


def line_of(position: Position) -> int:
    """Return the line of one position."""
    return position if isinstance(position, int) else position[0]


def at_line(position: Position, line: int) -> Position:
    """Return the position with another line: the line of the key or alias that refers to the value."""
    return line if isinstance(position, int) else (line, position[1])
