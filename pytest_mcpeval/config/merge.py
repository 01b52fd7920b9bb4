"""Settings laid over one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge(lower: Mapping[str, Any], higher: Mapping[str, Any]) -> dict[str, Any]:
    """Two settings as one: ``higher`` wins key by key, also inside nested mappings."""
    merged = dict(lower)
    for key, value in higher.items():
        below = merged.get(key)
        nested = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = merge(below, value) if nested and below is not None else value
    return merged
