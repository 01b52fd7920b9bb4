"""Proof that a measurement can fail: what was spoilt on purpose, and whether the gates noticed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Proof:
    """One way to spoil a target, and whether it was noticed; ``holds`` is None when it could not be shown."""

    name: str
    holds: bool | None
    message: str
