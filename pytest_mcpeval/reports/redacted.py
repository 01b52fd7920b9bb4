"""Reports without values that came from the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_mcpeval.core.sample import SAMPLES_ATTRIBUTE, samples_from_json, samples_to_json
from pytest_mcpeval.reports.failure import FailureText
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import without_workflow_commands

TEXTS = ("wasxfail", "mcpeval_label")
"""Attributes of reports that are texts."""


def redact(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Take the values out of everything a report holds: a process calls it for each report that leaves it.

    The process that shows the reports calls it again: it may know what another one does not.
    """
    if redactor.is_empty:
        return
    _change_texts(report, redactor.text)
    samples = getattr(report, SAMPLES_ATTRIBUTE, None)
    if samples is not None and redactor.json(samples) != samples:
        # Not the text itself: outcomes and ids stay what they are.
        redacted = [sample.redacted() for sample in samples_from_json(samples)]
        setattr(report, SAMPLES_ATTRIBUTE, samples_to_json(redacted))


def disarm(report: pytest.TestReport) -> None:
    """Take workflow commands out of what pytest shows of a case: captured output and logs, and the traceback.

    A server in this process writes there, and so does a function that is evaluated.
    """
    _change_texts(report, without_workflow_commands)


def _change_texts(report: pytest.TestReport | pytest.CollectReport, changed: Callable[[str], str]) -> None:
    report.longrepr = _longrepr(report.longrepr, changed)
    report.sections = [(name, changed(text)) for name, text in report.sections]
    for name in TEXTS:
        if isinstance(text := getattr(report, name, None), str):
            setattr(report, name, changed(text))
    if isinstance(report, pytest.TestReport):
        report.user_properties = [
            (name, changed(value) if isinstance(value, str) else value)
            for name, value in report.user_properties
        ]


@pytest.hookimpl(tryfirst=True)
def pytest_internalerror(excrepr: Any) -> None:
    """Take the values out of the traceback of what went wrong in a plugin, before anybody shows it."""
    chain = getattr(excrepr, "chain", None) or [(getattr(excrepr, "reprtraceback", None),)]
    for traceback, *_ in chain:
        for entry in getattr(traceback, "reprentries", ()):
            entry.lines = [redactor.text(line) for line in entry.lines]


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Take the values out of the reason for which a session was ended."""
    error = excinfo.value
    error.args = tuple(redactor.text(one) if isinstance(one, str) else one for one in error.args)
    if isinstance(error, pytest.exit.Exception):
        error.msg = redactor.text(error.msg)


def _longrepr(shown: Any, changed: Callable[[str], str]) -> Any:
    if isinstance(shown, tuple):
        return tuple(changed(part) if isinstance(part, str) else part for part in shown)
    text = "" if shown is None else str(shown)
    new = changed(text)
    if new == text:
        return shown
    if isinstance(shown, FailureText):
        return FailureText(new, shown.reprcrash.path, shown.reprcrash.lineno)
    return new
