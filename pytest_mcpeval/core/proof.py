"""Proof that a measurement can fail: what was spoilt on purpose, and whether the gates noticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Proof:
    """One way to spoil a target, and whether it was noticed; ``holds`` is None when it could not be shown."""

    name: str
    holds: bool | None
    message: str


AskTwice = Callable[[Sequence[str], str, int], Mapping[str, Sequence[Mapping[str, Any]]]]
"""The ids of cases, what they are called (``queries``), and how many runs → id → what each run measured."""
