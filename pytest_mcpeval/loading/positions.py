"""Lines of every value of a file, as a tree shaped like the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from .parsed import Key

Position: TypeAlias = "int | tuple[int, Mapping[Key, Position]]"
"""The line (from 1) of a scalar, or the line of a container with the positions of what it holds.

The value of a mapping has the line of its key; an entry of a list the line it starts on. Plain integers for
scalars halve the memory of a large file.
"""


def find(position: Position, keys: tuple[Key, ...]) -> int:
    """The line at a path of keys, or of its nearest ancestor that exists."""
    for key in keys:
        if isinstance(position, int) or key not in position[1]:
            break
        position = position[1][key]
    return line_of(position)


def line_of(position: Position) -> int:
    """The line of one position."""
    return position if isinstance(position, int) else position[0]


def at_line(position: Position, line: int) -> Position:
    """The same position on another line: what a key or an alias refers to."""
    return line if isinstance(position, int) else (line, position[1])
