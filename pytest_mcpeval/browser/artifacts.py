"""Where the artifacts of a captured run lie: ``<runs root>/<agent>/<run id>/<case id>/trace/…``. Paths only.

Folders are private to the user, since pages and traces may contain confidential data.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pytest_mcpeval.text.redact import redactor

PRIVATE = 0o700
PRIVATE_FILE = 0o600


def new_run_id(now: datetime | None = None) -> str:
    """An id for a run: the time in UTC and six random hex digits, so that ids sort by time and never meet."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


@dataclass(frozen=True)
class RunFolder:
    """All cases of one agent in one run: ``<runs root>/<agent>/<run id>``."""

    path: Path

    @classmethod
    def of(cls, runs_root: Path, agent: str, run_id: str) -> RunFolder:
        """The folder of an agent's run."""
        return cls(runs_root.absolute() / agent / run_id)

    def case(self, case_id: str) -> CaseFolder:
        """The folder of a case."""
        return CaseFolder(self.path / case_id)

    @property
    def score(self) -> Path:
        """The score of the agent: the roll-up over its cases."""
        return self.path / "score.json"

    @property
    def report(self) -> Path:
        """The report on the run, for people."""
        return self.path / "report.md"

    @property
    def plan(self) -> Path:
        """The directives of all cases."""
        return self.path / "plan.json"

    def narrative(self, case_id: str) -> Path:
        """Where a narrative of a case may lie besides the case's own folder."""
        return self.path / "narratives" / f"{case_id}.json"


@dataclass(frozen=True)
class CaseFolder:
    """Everything captured of one case. All names below are relative to ``path``."""

    path: Path

    def create(self) -> None:
        """Make the folder and its subfolders, readable by this user alone.

        Raises:
            OSError: A folder cannot be made.
        """
        for folder in (self.screenshots, self.dom, self.observability):
            make_private(folder, above=self.path.parent.parent.parent)

    def relative(self, path: Path) -> str:
        """A path inside the folder, relative to it, with forward slashes.

        Raises:
            ValueError: The path leads out of the folder.
        """
        return path.resolve().relative_to(self.path.resolve()).as_posix()

    @property
    def trace(self) -> Path:
        """What was captured; scores and narratives lie beside it."""
        return self.path / "trace"

    @property
    def screenshots(self) -> Path:
        """Screenshots, one for each step."""
        return self.trace / "screenshots"

    @property
    def dom(self) -> Path:
        """The page as HTML, one file for each step."""
        return self.trace / "dom"

    @property
    def observability(self) -> Path:
        """The canonical logs."""
        return self.trace / "observability"

    @property
    def landing_screenshot(self) -> Path:
        """The page before the input is typed."""
        return self.screenshots / "step-001-landing.png"

    @property
    def landing_dom(self) -> Path:
        """The HTML of the page before the input is typed."""
        return self.dom / "step-001-landing.html"

    @property
    def after_submit_screenshot(self) -> Path:
        """The page with the answer."""
        return self.screenshots / "step-002-after_submit.png"

    @property
    def after_submit_dom(self) -> Path:
        """The HTML of the page with the answer."""
        return self.dom / "step-002-after_submit.html"

    def captured_dom(self, name: Literal["landing", "after_submit"]) -> Path:
        """Return the captured HTML of a step: ``step-NNN-<name>.html``.

        Of several, the first landing page and the last one with an answer.
        """
        found = [path for path in self.dom.glob(f"step-*-{name}.html") if path.name.split("-")[1].isdecimal()]
        ordered = sorted(found, key=lambda path: (int(path.name.split("-")[1]), path.name))
        own = self.landing_dom if name == "landing" else self.after_submit_dom
        return ordered[0 if name == "landing" else -1] if ordered else own

    @property
    def failure_screenshot(self) -> Path:
        """The page when a step failed."""
        return self.screenshots / "failure.png"

    @property
    def failure_dom(self) -> Path:
        """The HTML of the page when a step failed."""
        return self.dom / "failure.html"

    @property
    def console_log(self) -> Path:
        """What the page wrote to the browser's console; kept when a step failed."""
        return self.trace / "console.log"

    @property
    def playwright_trace(self) -> Path:
        """A trace for Playwright's viewer; kept when a step failed."""
        return self.trace / "playwright-trace.zip"

    @property
    def capture(self) -> Path:
        """How the capture went: a `CaptureResult` with the input it was made for."""
        return self.trace / "capture.json"

    @property
    def tool_calls(self) -> Path:
        """Canonical log of tool calls, one JSON object a line."""
        return self.observability / "tool_calls.jsonl"

    @property
    def routing_decisions(self) -> Path:
        """Canonical log of sub-agents that were entered, one JSON object a line."""
        return self.observability / "routing_decisions.jsonl"

    @property
    def step_count(self) -> Path:
        """Canonical count of reasoning steps, one JSON object."""
        return self.observability / "step_count.json"

    @property
    def generations(self) -> Path:
        """Canonical log of model calls, one JSON object a line."""
        return self.observability / "generations.jsonl"

    @property
    def doubts(self) -> Path:
        """Which canonical logs may be incomplete, and why; the file exists only if some are."""
        return self.observability / "incomplete.json"

    @property
    def score(self) -> Path:
        """The outcomes of the case's assertions."""
        return self.path / "score.json"

    @property
    def narrative(self) -> Path:
        """Why the case ended as it did, with citations."""
        return self.path / "narrative.json"


def make_private(folder: Path, above: Path) -> None:
    """Make a folder and missing parents below ``above``, each for this user only."""
    lacking = [folder, *(parent for parent in folder.parents if parent.is_relative_to(above))]
    for path in reversed(lacking):
        path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file that only this user may read. No value from the environment gets into a text.

    Raises:
        OSError: It cannot be written.
    """
    if isinstance(content, str):
        content = redactor.file(path, content).encode("utf-8", "backslashreplace")
    path.touch(mode=PRIVATE_FILE)
    path.write_bytes(content)
