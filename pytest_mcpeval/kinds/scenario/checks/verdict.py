"""The verdict of a judge on a response, and helpers for its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.core.sample import CheckStatus

EXCERPT_CHARACTERS = 80


@dataclass(frozen=True)
class Verdict:
    """Whether a check passes, why, and what was measured.  ``unjudged`` marks a failure that does not
    judge the answer, such as a regular expression that timed out: ``not`` must not turn it into a
    pass. ``broke`` marks a failure caused by the check itself, which is not a verdict on the target.
    """

    status: CheckStatus
    message: str
    details: Mapping[str, Any] | None = None
    unjudged: bool = False
    broke: bool = False


class JudgementError(Exception):
    """A judge raises it if the response has nothing to judge; the check becomes an `unjudged` failure."""


def judged(holds: bool, message: str, details: Mapping[str, Any] | None = None) -> Verdict:
    """Return passed if ``holds``, else failed, with the same message."""
    return Verdict("passed" if holds else "failed", message, details)


def passed(message: str, details: Mapping[str, Any] | None = None) -> Verdict:
    """The requirement holds."""
    return Verdict("passed", message, details)


def failed(message: str, details: Mapping[str, Any] | None = None) -> Verdict:
    """The requirement does not hold."""
    return Verdict("failed", message, details)


def unjudged(message: str) -> Verdict:
    """Failed, because the requirement could not be judged; stays failed inside ``not``."""
    return Verdict("failed", message, unjudged=True)


def broken(message: str) -> Verdict:
    """Unjudged, because the check itself is wrong or raised an error; makes the case an error."""
    return Verdict("failed", message, unjudged=True, broke=True)


def inconclusive(message: str, recovery: str) -> Verdict:
    """The evidence is missing; ``recovery`` says how to get it."""
    return Verdict("inconclusive", f"{message}; {recovery}")


def on_one_line(text: str, characters: int = EXCERPT_CHARACTERS) -> str:
    """The text on one line, cut to ``characters`` with an ellipsis."""
    line = " ".join(text[: characters * 4].split())
    complete = len(text) <= characters * 4
    return line if complete and len(line) <= characters else line[: characters - 1] + "…"


def quoted(text: str) -> str:
    """The shortened text in double quotes."""
    return f'"{on_one_line(text)}"'


def listed(texts: list[str]) -> str:
    """Up to five quoted texts, and how many more there are."""
    shown = ", ".join(quoted(text) for text in texts[:5])
    return f"{shown} and {len(texts) - 5} more" if len(texts) > 5 else shown
