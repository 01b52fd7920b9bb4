"""Options of the command line as data. Imported in every session, so it imports next to nothing."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any, Literal, NamedTuple


class Option(NamedTuple):
    """An option, as ``argparse`` takes it. One with neither ``metavar`` nor ``choices`` is a flag.

    With ``changes_measure``, the shards of a run must agree on it: it changes what is measured, or what gates
    compare with. One that ``is_path`` is relative to the directory where the command was given. One that
    ``is_report`` asks for a report of its kind: ``pytest-mcpeval merge`` has it too, without ``mcpeval-``.
    """

    name: str
    help: str
    metavar: str | None = None
    type: Callable[[str], Any] | None = None
    choices: tuple[str, ...] | None = None
    is_repeatable: bool = False
    changes_measure: bool = False
    is_path: bool = False
    is_report: bool = False

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return self.metavar is None

    @property
    def dest(self) -> str:
        """Its name among the values of the command line."""
        return self.name.removeprefix("--").replace("-", "_")

    def attributes(self) -> dict[str, Any]:
        """What ``argparse`` takes besides the name."""
        if self.is_flag:
            return {"action": "store_true", "help": self.help}
        found = {"metavar": self.metavar, "type": self.type, "choices": self.choices, "help": self.help}
        repeated: dict[str, Any] = {"action": "append", "default": []} if self.is_repeatable else {}
        return {**repeated, **{key: value for key, value in found.items() if value is not None}}


def natural(text: str) -> int:
    """The whole number from 0 that a text stands for.

    Raises:
        ArgumentTypeError: It is none.
    """
    return _whole_number(text, 0)


def positive(text: str) -> int:
    """The whole number from 1 that a text stands for.

    Raises:
        ArgumentTypeError: It is none.
    """
    return _whole_number(text, 1)


def _whole_number(text: str, least: Literal[0, 1]) -> int:
    if not text.isdecimal() or int(text) < least:
        raise ArgumentTypeError(f"expected a whole number from {least}, found {text!r}")
    return int(text)
