"""What every detector offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_mcpeval.kinds.security.verdicts import Verdict
from pytest_mcpeval.targets.base import AnswerError

SeenEntry = dict[str, Any]
"""What a detector is given of an entry: see `Entry.seen`. Each call has a copy of its own."""


@dataclass(frozen=True)
class Detected:
    """A detector's answer to one entry: a verdict, or why there is none. ``seconds`` is how long it took."""

    verdict: Verdict | None = None
    error: AnswerError | None = None
    seconds: float = 0.0


class Detector(Protocol):
    """The system under test: says of a tool description whether it is an attack.

    Made without cost; `open` does what is slow. One object serves all entries of a process, and `detect` may
    be called from several threads at once.
    """

    takes_lists: bool
    """Whether it is asked about all entries of an item at once."""

    @property
    def name(self) -> str:
        """What it is, in a few words for people; without secrets."""

    def open(self) -> None:
        """Make ready; called before the first entry. A second call does nothing.

        Raises:
            TargetError: It cannot be made ready, so nothing can be measured.
        """

    def detect(self, entries: Sequence[SeenEntry]) -> list[Verdict | AnswerError]:
        """A verdict for each entry; exactly one entry when it takes no lists.

        Raises:
            AnswerError: There is no verdict on any of them.
        """

    def close(self) -> None:
        """End what `open` began."""
