"""The text of a failure, as pytest's reports expect it: one line for the summary, the rest with colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.text.visible import visible


@dataclass(frozen=True)
class Crash:
    """The one line that pytest shows in its short summary and junit in ``message``; whole with ``--tb=line``.

    ``lineno`` is 0 where the failure is that of no line.
    """

    message: str
    path: str = ""
    lineno: int = 0

    def __str__(self) -> str:
        place = f"{self.path}:{self.lineno}" if self.lineno else self.path
        return f"{place}: {self.message}" if place else self.message


class FailureText:
    """A failure in words, and where it is. Lines that begin with ✗ are red, with ✓ green, with ? yellow."""

    def __init__(self, text: str, path: str = "", lineno: int = 0) -> None:
        # Made visible already, but maybe put together of parts since: a part may begin a line now.
        self.text = visible(text)
        self.reprcrash = Crash(self.text.partition("\n")[0], path, lineno)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, writer: Any) -> None:
        """Write the text; pytest calls this wherever it shows a failure."""
        for line in self.text.split("\n"):
            writer.line(line, **_markup(line))


def _markup(line: str) -> dict[str, bool]:
    start = line.lstrip()[:1]
    if start == "✗":
        return {"red": True}
    if start == "✓":
        return {"green": True}
    return {"yellow": True} if start == "?" else {}
