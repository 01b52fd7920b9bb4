"""Values inside the answers of targets. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from pytest_mcpeval.loading.messages import shown

MISSING = object()
"""What `field_of` finds where there is nothing."""


def field_of(entry: Any, path: str, default: Any = MISSING) -> Any:
    """The value at a dotted path below an entry; the empty path is the entry itself."""
    for name in path.split(".") if path else ():
        if not isinstance(entry, Mapping) or name not in entry:
            return default
        entry = entry[name]
    return entry


def outline(value: Any) -> str:
    """A value for a message: the keys of a mapping, else as messages show values."""
    if isinstance(value, Mapping) and value:
        return f"a mapping with {', '.join(map(shown, islice(value, 8)))}"
    return shown(value)
