"""Proof that a measurement can fail: what was damaged on purpose, and whether the gates noticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Proof:
    """One way to damage a target, and whether the gates noticed; ``holds`` is None if that is unknown."""

    name: str
    holds: bool | None
    message: str


AskTwice = Callable[[Sequence[str], str, int], Mapping[str, Sequence[Mapping[str, Any]]]]
"""The ids of cases, what they are called (``queries``), and how many runs → id → what each run measured."""
