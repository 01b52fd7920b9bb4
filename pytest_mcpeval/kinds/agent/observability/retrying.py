"""Asking again where a backend may recover: connection errors and 5xx, with pauses that double."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from pytest_mcpeval.kinds.agent.observability.errors import ObservabilityError

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.2

AnswerT = TypeVar("AnswerT")


class UnavailableError(Exception):
    """No answer, or one that may be another the next time. The text is for people."""


def retried(ask: Callable[[], AnswerT]) -> AnswerT:
    """The answer.

    Raises:
        ObservabilityError: There is none after several attempts.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        try:
            return ask()
        except UnavailableError as error:
            last = error
    raise ObservabilityError(f"{last} (tried {ATTEMPTS} times)") from None
