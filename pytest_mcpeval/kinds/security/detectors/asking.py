"""Settings → detector, and asking it about entries, one by one or all of an item at once.

Recorded verdicts.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.kinds.security.detectors.settings import ENTRY_FIELDS, DetectorModel
from pytest_mcpeval.kinds.security.spec import Entry
from pytest_mcpeval.kinds.security.verdicts import Verdict, verdict_of, verdicts_of
from pytest_mcpeval.targets.base import AnswerError, Codec, Request, Target
from pytest_mcpeval.targets.making import Surroundings, make_target
from pytest_mcpeval.targets.threads import DaemonThreads, Late


@dataclass(frozen=True)
class Detected:
    """A detector's answer to one entry: a verdict, or why there is none. ``seconds`` is how long it took."""

    verdict: Verdict | None = None
    error: AnswerError | None = None
    seconds: float = 0.0


def make_detector(model: DetectorModel, around: Surroundings) -> Detector:
    """Return the detector that settings describe, not opened yet; not for recorded verdicts.

    Raises:
        TargetStartError: Its server or fixture does not exist.
    """
    if model.heuristics is not None:
        return Detector(model, Heuristics(model.heuristics.without, around.timeout))
    if model.takes_lists:
        codec = Codec("detector", "detect", "entries", lambda asked: (asked["entries"],), list)
    else:
        answer = model.mcp or model.http
        read: Callable[[Any], Verdict] = verdict_of if answer is None else answer.verdict
        codec = Codec("detector", "detect", "entry", lambda asked: (dict(asked),), read)
    return Detector(model, make_target(model, codec, around))


def request_of(model: DetectorModel, seen: Mapping[str, Any]) -> Request:
    """Return the request about an entry, made from `Entry.seen`, which contains neither label nor id.
    A function or a program gets `Entry.seen` unchanged. For the placeholders of a tool or a URL,
    there is every field (null if the entry does not have it), and ``entry``.
    """
    if model.mcp is None and model.http is None:
        return seen
    return {**dict.fromkeys(ENTRY_FIELDS), **seen, "entry": seen}


class Detector:
    """The system under test, which decides whether a tool description is an attack.  A detector that
    takes lists is asked about all entries of an item at once; the answers are kept until their
    entries are asked for.
    """

    def __init__(self, model: DetectorModel, target: Target) -> None:
        self.target = target
        self._model = model
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, deque[Detected]] = defaultdict(deque)

    def answer(self, entry: Entry, together: Iterable[Entry]) -> Detected:
        """Ask about an entry and return the answer; ``together`` has all entries of its item, in order."""
        if not self._model.takes_lists:
            return self.ask([entry])[0]
        with self._lock:
            if not self._waiting[entry.id]:
                entries = list(together)
                for other, found in zip(entries, self.ask(entries), strict=True):
                    self._waiting[other.id].append(found)
            return self._waiting[entry.id].popleft()

    def ask(self, entries: Sequence[Entry]) -> list[Detected]:
        """Return the answers to some entries.

        Without lists, to exactly one. A failure becomes part of the answer.
        """
        started = time.perf_counter()
        # Copies, so that a detector cannot change an entry for the next call.
        seen = [deepcopy(dict(entry.seen)) for entry in entries]
        found: Sequence[Verdict | AnswerError]
        try:
            if self._model.takes_lists:
                found = verdicts_of(self.target.ask({"entries": seen}), len(seen))
            else:
                (one,) = seen
                found = [self.target.ask(request_of(self._model, one))]
        except AnswerError as error:
            found = [error] * len(entries)
        seconds = (time.perf_counter() - started) / len(entries)
        return [
            Detected(error=one, seconds=seconds)
            if isinstance(one, AnswerError)
            else Detected(verdict=one, seconds=seconds)
            for one in found
        ]

    def close(self) -> None:
        """Close the target."""
        self.target.close()


class Heuristics:
    """The embedded reference detector. ``without`` are rules to leave out; ``timeout`` is for each entry."""

    def __init__(self, without: Sequence[str], timeout: float) -> None:
        self._without = frozenset(without)
        self._timeout = timeout
        self._threads = DaemonThreads("mcpeval-heuristics")

    @property
    def name(self) -> str:
        """``heuristics``."""
        left_out = f" without {', '.join(sorted(self._without))}" if self._without else ""
        return f"heuristics{left_out}"

    def open(self) -> None:
        """Do nothing."""

    def ask(self, request: Request) -> Verdict:
        """Return the verdict on an entry.

        Raises:
            AnswerError: The detector took too long.
        """
        from pytest_mcpeval.kinds.security.detectors.heuristics import detect

        try:
            return self._threads.call(lambda: detect(request, self._without), self._timeout)
        except Late:
            raise AnswerError("timeout", f"no answer within {self._timeout:g} s") from None

    def close(self) -> None:
        """End its thread."""
        self._threads.close()


class RecordedAnswers:
    """Recorded verdicts: entry id → verdict, one for each run.

    Each call returns the verdict of the next run.
    """

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
        """Do nothing."""
