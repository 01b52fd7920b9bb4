"""How much a data file may hold."""

from __future__ import annotations

from dataclasses import dataclass

DEEPEST = 200


@dataclass(frozen=True)
class Limits:
    """Bounds that keep a hostile or broken file from taking the machine.

    ``max_bytes`` bounds the size of the file. ``max_depth`` bounds how deep mappings and lists nest (at most
    200, so that no recursion can overflow). ``max_nodes`` bounds how many values and keys the file holds
    once its aliases are expanded; in YAML, a long text counts once more per 64 characters.

    Raises:
        ValueError: A bound is below 1, or ``max_depth`` is above 200.
    """

    max_bytes: int = 64 * 1024 * 1024
    max_depth: int = 64
    max_nodes: int = 5_000_000

    @property
    def too_many(self) -> str:
        """The message about a file with more than ``max_nodes`` nodes."""
        limit = f"{self.max_nodes:,} values, with aliases expanded"
        return f"the file holds more than {limit}: split it, or use fewer aliases"

    @property
    def too_deep(self) -> str:
        """The message about a file with more than ``max_depth`` levels."""
        return f"nests deeper than {self.max_depth} levels: flatten the data"

    def __post_init__(self) -> None:
        if min(self.max_bytes, self.max_depth, self.max_nodes) < 1 or self.max_depth > DEEPEST:
            raise ValueError(f"limits must be at least 1, and max_depth at most {DEEPEST}: {self}")
