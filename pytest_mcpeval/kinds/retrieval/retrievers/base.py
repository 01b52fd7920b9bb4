"""What every retriever offers, and how it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pytest_mcpeval.kinds.base import TargetError

SearchReason = Literal[
    "timeout", "crashed", "raised", "answer", "http", "refused", "unreachable", "protocol", "connection"
]
"""Why a search brought no ranked list.

``timeout``: none within the time limit. ``crashed``: the process ended. ``raised``: the function raised.
``answer``: what came back is no ranked list. ``http``: an HTTP error status. ``refused``: HTTP 401 or 403.
``unreachable``: no connection could be made. ``protocol``: an answer against the protocol, or a tool's own
error. ``connection``: the connection broke while the answer was awaited.
"""


@dataclass(frozen=True)
class Hit:
    """One tool found. ``score`` is shown to people; the order of hits is the ranking."""

    tool_id: str
    score: float | None = None


class Retriever(Protocol):
    """The system under test: finds tools by a query.

    Made without cost; `open` does what is slow. One object serves all queries of a process, and `search` may
    be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """What it is, in a few words for people; without secrets."""

    def open(self) -> None:
        """Make ready; called before the first search. A second call does nothing.

        Raises:
            TargetError: It cannot be made ready, so nothing can be measured.
        """

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """The tools found, best first: about ``k``, as the system returns them.

        Raises:
            SearchError: There is no ranked list.
        """

    def close(self) -> None:
        """End what `open` began."""


class SearchError(Exception):
    """A search brought no ranked list. ``stderr_tail`` is what the target last wrote on standard error."""

    def __init__(self, reason: SearchReason, message: str, *, stderr_tail: str = "") -> None:
        super().__init__(message)
        self.reason: SearchReason = reason
        self.message = message
        self.stderr_tail = stderr_tail

    @property
    def is_incident(self) -> bool:
        """Whether the run could not even ask, so that nothing is known about the search's quality."""
        return self.reason in ("refused", "unreachable")


class RetrieverStartError(TargetError):
    """A retriever cannot be made ready. ``stderr_tail`` is what it last wrote on standard error."""

    def __init__(self, name: str, reason: str, *, stderr_tail: str = "") -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason
        self.stderr_tail = stderr_tail

    def __str__(self) -> str:
        lines = [f"retriever {self.name} cannot be used: {self.reason}"]
        if self.stderr_tail:
            lines += ["  its last words:", *(f"    {line}" for line in self.stderr_tail.splitlines())]
        return "\n".join(lines)
