"""Entries put to detectors: one by one, or all of an item at once; and verdicts that were recorded."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from pytest_mcpeval.kinds.security.detectors.base import Detected, Detector
from pytest_mcpeval.kinds.security.spec import Entry
from pytest_mcpeval.kinds.security.verdicts import verdict_of
from pytest_mcpeval.targets.base import AnswerError


def ask(detector: Detector, entries: Sequence[Entry]) -> list[Detected]:
    """What a detector answers to entries; without lists, to exactly one. A failure is in the answer."""
    started = time.perf_counter()
    try:
        # Copies: what a detector does to an entry must not reach the next one.
        found = detector.detect([deepcopy(dict(entry.seen)) for entry in entries])
    except AnswerError as error:
        found = [error] * len(entries)
    seconds = (time.perf_counter() - started) / len(entries)
    return [
        Detected(error=one, seconds=seconds)
        if isinstance(one, AnswerError)
        else Detected(verdict=one, seconds=seconds)
        for one in found
    ]


class Answers:
    """Answers of one detector of a suite, entry by entry, each time anew.

    A detector that takes lists is asked about all entries of an item at once: the answers to the others wait
    until their turn comes.
    """

    def __init__(self, detector: Detector) -> None:
        self.detector = detector
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, deque[Detected]] = defaultdict(deque)

    def answer(self, entry: Entry, together: Iterable[Entry]) -> Detected:
        """The answer to an entry; ``together`` are all entries of its item, in their order."""
        if not self.detector.takes_lists:
            return ask(self.detector, [entry])[0]
        with self._lock:
            if not self._waiting[entry.id]:
                entries = list(together)
                for other, found in zip(entries, ask(self.detector, entries), strict=True):
                    self._waiting[other.id].append(found)
            return self._waiting[entry.id].popleft()

    def close(self) -> None:
        """Close the detector."""
        self.detector.close()


class RecordedAnswers:
    """Recorded verdicts: entry id → verdict, once for each run. Asked again, the next run counts."""

    def __init__(self, runs: Sequence[Mapping[str, Any]]) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self._asked: defaultdict[str, int] = defaultdict(int)

    def answer(self, entry: Entry) -> Detected:
        """The verdict on an entry."""
        with self._lock:
            number = self._asked[entry.id]
            self._asked[entry.id] += 1
        try:
            return Detected(verdict=verdict_of(self._runs[number % len(self._runs)][entry.id]))
        except AnswerError as error:
            return Detected(error=error)

    def close(self) -> None:
        """There is nothing to end."""
