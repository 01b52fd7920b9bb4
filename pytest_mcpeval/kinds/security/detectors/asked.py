"""Functions, programs, MCP tools and URLs as detectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_mcpeval.kinds.security.detectors.base import SeenEntry
from pytest_mcpeval.kinds.security.detectors.settings import ENTRY_FIELDS
from pytest_mcpeval.kinds.security.verdicts import Verdict, verdict_of
from pytest_mcpeval.targets.base import AnswerError, Request, Target
from pytest_mcpeval.targets.functions import Signature

DETECT = Signature("detector", "detect", "entry", lambda asked: (dict(asked),), verdict_of)
"""A detector written in Python takes an entry."""

DETECT_LIST = Signature("detector", "detect", "entries", lambda asked: (asked["entries"],), list)
"""A detector that takes lists takes several entries."""


def in_line(entry: SeenEntry) -> Request:
    """The request of a function or a program: the entry itself."""
    return entry


def in_placeholders(entry: SeenEntry) -> Request:
    """The request of a tool or a URL: every field of an entry, null for those it has not, and ``entry``."""
    return {**dict.fromkeys(ENTRY_FIELDS), **entry, "entry": entry}


class AskedDetector:
    """A target that is asked entry by entry; ``read`` makes the verdict of its answer."""

    takes_lists = False

    def __init__(
        self, target: Target, request: Callable[[SeenEntry], Request], read: Callable[[Any], Verdict]
    ) -> None:
        self._target = target
        self._request = request
        self._read = read

    @property
    def name(self) -> str:
        """``python:pkg.mod:detect``, ``command: ./scan --fast``."""
        return self._target.name

    def open(self) -> None:
        """Open the target."""
        self._target.open()

    def detect(self, entries: Sequence[SeenEntry]) -> list[Verdict | AnswerError]:
        """The verdict in its answer to the one entry.

        Raises:
            AnswerError: There is no answer, or it is no verdict.
        """
        (entry,) = entries
        return [self._read(self._target.ask(self._request(entry)))]

    def close(self) -> None:
        """Close the target."""
        self._target.close()


class ListDetector:
    """A function that takes a list of entries and returns as many verdicts, in the same order."""

    takes_lists = True

    def __init__(self, target: Target) -> None:
        self._target = target

    @property
    def name(self) -> str:
        """``python:pkg.mod:detect``."""
        return self._target.name

    def open(self) -> None:
        """Open the target."""
        self._target.open()

    def detect(self, entries: Sequence[SeenEntry]) -> list[Verdict | AnswerError]:
        """The verdicts in its answer.

        Raises:
            AnswerError: There is no answer, or not as many verdicts as entries.
        """
        from pytest_mcpeval.kinds.security.verdicts import verdicts_of

        return verdicts_of(self._target.ask({"entries": list(entries)}), len(entries))

    def close(self) -> None:
        """Close the target."""
        self._target.close()
