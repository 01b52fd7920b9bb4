"""Turn exceptions of kinds while they judge into gates in error, so that other suites keep their reports."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pytest_mcpeval.core.gate import GateResult

ARTIFACTS_GATE = "artifacts"
JUDGING_GATE = "judging"

CALLERS = frozenset({__file__, str(Path(__file__).with_name("judging.py"))})
"""The files that call kinds; the cause of an exception is further down the stack."""

Found = TypeVar("Found")


class ErrorGates:
    """Calls functions that may raise, and keeps a gate in error for each suite in which one raised.

    Messages show paths relative to ``root``.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._messages: dict[tuple[str, str], list[str]] = {}

    @property
    def gates(self) -> list[GateResult]:
        """The gates so far."""
        return [
            GateResult(suite, name, "error", "\n".join(dict.fromkeys(messages)))
            for (suite, name), messages in self._messages.items()
        ]

    def call(
        self, suite: str, default: Found, function: Callable[..., Found], *args: Any, **options: Any
    ) -> Found:
        """Return the result of a function.

        If it raises, return ``default`` and add a gate in error to the suite.
        """
        try:
            return function(*args, **options)
        except KeyboardInterrupt:
            raise
        except OSError as error:
            name = ARTIFACTS_GATE
            message = f"files of the whole run cannot be read or written: {error}"
        except BaseException as error:  # pytest's outcomes are not subclasses of `Exception`.
            name, message = JUDGING_GATE, raised_where(error)
        self._messages.setdefault((suite, name), []).append(relative_paths(message, self._root))
        return default


def raised_where(error: BaseException) -> str:
    """What was raised, and where: in the last two functions that were called."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename not in CALLERS]
    places = ", which called ".join(f"{one.name} ({one.filename}:{one.lineno})" for one in frames[-2:])
    return f"{type(error).__name__}: {error}" + (f"; raised in {places}" if places else "")


def relative_paths(text: str, root: Path) -> str:
    """A text with paths below the root directory relative to it, as everywhere in pytest's output."""
    return text.replace(f"{root}{os.sep}", "")
