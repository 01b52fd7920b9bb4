"""Lines for people while tests run, when pytest captures what is written and workers have no terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

_descriptors: list[int] = []


def keep_standard_error() -> Callable[[], None]:
    """Keep this process's standard error as it is now, before it is captured; call the result to let go.

    Workers share that of their controller.
    """
    try:
        kept = os.dup(2)
    except OSError:
        return lambda: None
    _descriptors.append(kept)

    def let_go() -> None:
        _descriptors.remove(kept)
        os.close(kept)

    return let_go


def announce(line: str) -> None:
    """Write a line of its own to standard error at once."""
    if _descriptors:
        with suppress(OSError):
            os.write(_descriptors[-1], f"\n{line}\n".encode(errors="replace"))
