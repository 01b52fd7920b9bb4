"""What every retriever offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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
            AnswerError: There is no ranked list.
        """

    def close(self) -> None:
        """End what `open` began."""
