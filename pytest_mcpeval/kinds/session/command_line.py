"""The options about sessions. Imported in every session of pytest, so it imports next to nothing."""

from __future__ import annotations

from argparse import ArgumentTypeError

from pytest_mcpeval.core.option import Option, positive

MOST_CALLS = 999
"""The largest call budget of a session's scenario: ids of calls have three digits."""


def call_budget(text: str) -> int:
    """The calls that a text stands for, at most `MOST_CALLS`.

    Raises:
        ArgumentTypeError: It is not a whole number from 1.
    """
    return min(positive(text), MOST_CALLS)


def minutes(text: str) -> float:
    """The minutes that a text stands for.

    Raises:
        ArgumentTypeError: They are not more than 0 and at most 1440.
    """
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1440:
        raise ArgumentTypeError(f"expected minutes, more than 0 and at most 1440, found {text!r}")
    return found


OPTIONS = (
    Option(
        "--mcpeval-name",
        "name of the evaluation that session suites write to mcp-evals/ (default: date and time)",
        metavar="NAME",
    ),
    Option("--mcpeval-resume", "continue an unfinished evaluation of session suites"),
    Option(
        "--mcpeval-restart",
        "start an evaluation over; the old files are moved into a separate folder",
    ),
    Option(
        "--mcpeval-call-budget",
        f"calls that a scenario of a session may make (default: 20, at most {MOST_CALLS})",
        metavar="N",
        type=call_budget,
        changes_measure=True,
    ),
    Option(
        "--mcpeval-wallclock-budget",
        "minutes that all scenarios of a session may take together (default: 15)",
        metavar="MINUTES",
        type=minutes,
        changes_measure=True,
    ),
)
