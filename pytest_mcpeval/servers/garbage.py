"""Lines on a server's standard output that are no JSON-RPC messages."""

from __future__ import annotations

from typing import Any

_EXAMPLE_LENGTH = 120


class Garbage:
    """Counts the lines and keeps the beginnings of the first and of the last."""

    def __init__(self) -> None:
        self.count = 0
        self._first = self._last = ""

    async def observe(self, message: Any) -> None:
        """Take a message from mcp, which hands over the parse error of a line it could not read."""
        from pydantic import ValidationError

        if not isinstance(message, ValidationError):
            return
        line = str(message.errors(include_url=False, include_context=False)[0].get("input", "")).strip()
        if line:
            self.count += 1
            self._last = line[:_EXAMPLE_LENGTH]
            self._first = self._first or self._last

    def words(self, since: int, until: int) -> str:
        """What to tell people of the lines after ``since`` of them, up to ``until``; empty if none."""
        count = until - since
        if not count:
            return ""
        lines = "a line" if count == 1 else f"{count} lines"
        verb = "is" if count == 1 else "are"
        which = "" if count == 1 else "the last: " if since else "the first: "
        example = self._last if since else self._first
        return f"the server wrote {lines} on stdout that {verb} not JSON-RPC ({which}{example!r})"
