"""``trace/capture.json``: how the capture of a case went, so that it can be scored again later."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from pytest_mcpeval.browser.artifacts import CaseFolder, write_private
from pytest_mcpeval.browser.directive import CaptureResult, Directive
from pytest_mcpeval.core.sample import to_json

CAPTURE_VERSION = 1
UNFINISHED = "the capture did not finish: there is no trace/capture.json"


@dataclass(frozen=True)
class Capture:
    """One capture.

    ``input`` and ``url`` are what it was made with; ``error`` says which step failed and why,
    ``fetch_error`` why the trace backend could not be asked. ``final_url`` is the address of the page
    at the last capture. ``started`` and ``ended`` are ISO times. ``agent``, ``run_id`` and
    ``final_url`` are None in captures of earlier versions.
    """

    case_id: str
    url: str
    input: str
    started: str = ""
    ended: str = ""
    browser: str = ""
    completed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None
    fetch_error: str | None = None
    agent: str | None = None
    run_id: str | None = None
    final_url: str | None = None


def capture_of(directive: Directive, result: CaptureResult) -> Capture:
    """Return the record of a visit."""
    error = result.error
    return Capture(
        case_id=directive.case_id,
        url=directive.url,
        input=directive.input,
        started=result.started,
        ended=result.ended,
        browser=result.browser,
        completed=result.completed,
        notes=result.notes,
        error=None if error is None else f"{error.step.replace('_', ' ')}: {error.message}",
        agent=directive.agent,
        run_id=directive.run_id,
        final_url=result.final_url,
    )


def write_capture(folder: CaseFolder, capture: Capture) -> None:
    """Write it.

    Raises:
        OSError: It cannot be written.
    """
    write_private(folder.capture, to_json({"version": CAPTURE_VERSION, **asdict(capture)}, indent=1) + "\n")


def read_capture(folder: CaseFolder) -> Capture | None:
    """The capture in a folder; None when there is none, because it did not finish.

    Raises:
        ValueError: The file is not one that `write_capture` wrote.
    """
    try:
        data: dict[str, Any] = json.loads(folder.capture.read_text(encoding="utf-8"))
        if data.pop("version") != CAPTURE_VERSION:
            raise ValueError("another version")
        lists = {name: tuple(data[name]) for name in ("completed", "notes")}
        return Capture(**{**data, **lists})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{folder.capture}: expected a record of a capture: {error}") from None


def note_fetched(folder: CaseFolder) -> None:
    """Record that evidence was fetched later, so the case no longer waits for its trace backend.

    Raises:
        ValueError: What is kept of the capture cannot be read.
        OSError: It cannot be written.
    """
    capture = read_capture(folder)
    if capture is not None and capture.fetch_error is not None:
        write_capture(folder, replace(capture, fetch_error=None))
