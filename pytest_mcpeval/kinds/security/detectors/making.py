"""Settings → detector."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pytest_mcpeval.kinds.security.detectors.asked import (
    DETECT,
    DETECT_LIST,
    AskedDetector,
    ListDetector,
    in_line,
    in_placeholders,
)
from pytest_mcpeval.kinds.security.detectors.base import Detector, SeenEntry
from pytest_mcpeval.kinds.security.detectors.settings import DetectorModel, VerdictFields
from pytest_mcpeval.kinds.security.verdicts import Verdict, VerdictMap, verdict_of
from pytest_mcpeval.targets.base import AnswerError, Request, Target
from pytest_mcpeval.targets.making import Surroundings, make_target
from pytest_mcpeval.targets.threads import DaemonThreads, Late


def make_detector(model: DetectorModel, around: Surroundings) -> Detector:
    """The detector that settings describe, not opened yet. Recorded verdicts are no detector to be asked.

    Raises:
        TargetStartError: It needs a server or a fixture that there is not.
    """
    if model.heuristics is not None:
        return HeuristicsDetector(model.heuristics.without, around.timeout)
    return _asked(model, make_target(model, DETECT_LIST if model.takes_lists else DETECT, around))


def _asked(model: DetectorModel, target: Target) -> Detector:
    if model.takes_lists:
        return ListDetector(target)
    answer = model.mcp or model.http
    if answer is not None:
        return AskedDetector(target, in_placeholders, _map(answer).verdict)
    return AskedDetector(target, in_line, verdict_of)


def requests_of(model: DetectorModel, entry: SeenEntry) -> list[Request]:
    """What the target of a detector is given of an entry, in its way of being asked; none when recorded."""
    if model.verdict_files:
        return []
    if model.heuristics is not None:
        return [entry]
    recorder = _Recorder()
    with suppress(AnswerError):
        _asked(model, recorder).detect([entry])
    return [one for request in recorder.asked for one in request.get("entries", [request])]


class _Recorder:
    """A target that notes what it is asked, and answers nothing."""

    name = "recorder"

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def open(self) -> None:
        """There is nothing to open."""

    def ask(self, request: Request) -> Any:
        """Note it.

        Raises:
            AnswerError: Always.
        """
        self.asked.append(request)
        raise AnswerError("answer", "nothing is answered")

    def close(self) -> None:
        """There is nothing to end."""


def _map(model: VerdictFields) -> VerdictMap:
    return VerdictMap(model.result, model.flagged, model.score, model.severity, model.detections)


class HeuristicsDetector:
    """The embedded reference detector. ``without`` are rules to leave out; ``timeout`` is for each entry."""

    takes_lists = False

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
        """There is nothing to open."""

    def detect(self, entries: Sequence[SeenEntry]) -> list[Verdict | AnswerError]:
        """The verdict on the one entry.

        Raises:
            AnswerError: It took too long.
        """
        from pytest_mcpeval.kinds.security.detectors.heuristics import detect

        (entry,) = entries
        try:
            return [self._threads.call(lambda: detect(entry, self._without), self._timeout)]
        except Late:
            raise AnswerError("timeout", f"no answer within {self._timeout:g} s") from None

    def close(self) -> None:
        """End its thread."""
        self._threads.close()
