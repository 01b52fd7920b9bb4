"""Lines on a server's standard output that are no JSON-RPC messages."""

from __future__ import annotations

from typing import Any

_EXAMPLE_LENGTH = 120


class Garbage:
    """Counts the lines and keeps the beginning of the first."""

    def __init__(self) -> None:
        self.count = 0
        self.example = ""

    async def observe(self, message: Any) -> None:
        """Take a message from mcp, which hands over the parse error of a line it could not read."""
        from pydantic import ValidationError

        if not isinstance(message, ValidationError):
            return
        line = str(message.errors(include_url=False, include_context=False)[0].get("input", "")).strip()
        if line:
            self.count += 1
            self.example = self.example or line[:_EXAMPLE_LENGTH]

    def words(self) -> str:
        """What to tell people; empty if there was none."""
        if not self.count:
            return ""
        lines = "a line" if self.count == 1 else f"{self.count} lines"
        verb = "is" if self.count == 1 else "are"
        first = "" if self.count == 1 else "the first: "
        return f"the server wrote {lines} on stdout that {verb} not JSON-RPC ({first}{self.example!r})"
