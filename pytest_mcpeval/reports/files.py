"""The files of a report: ours, and those that the hook ``pytest_mcpeval_report`` returns."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.baseline import write_atomically
from pytest_mcpeval.core.declaration import KindDeclaration
from pytest_mcpeval.core.error_gates import raised_where
from pytest_mcpeval.core.evaluation import Evaluation
from pytest_mcpeval.core.judging_input import SuiteRun
from pytest_mcpeval.reports import github, history, html_report, json_report, markdown, shard
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import visible

HOOK = "pytest_mcpeval_report"
OURS = ("report.json", "report.md", "report.html", shard.SHARD_FILE)


@dataclass
class ReportWriter:
    """Writes files one by one: what a disk refuses must not cost the others.

    ``problems`` are sentences on what was not written, with paths relative to ``here``. ``step_summary`` is
    the file to which ``report.md`` is appended, on GitHub.
    """

    here: Path
    step_summary: Path | None = None
    written: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def write(self, path: Path, text: str, *, is_redacted: bool = False) -> None:
        """Write one file."""
        try:
            write_atomically(path, text, is_redacted=is_redacted)
            self.written.append(path)
        except OSError as error:
            reason = error.strerror or str(error)
            self.problems.append(visible(f"cannot write {self._short(path)}: {reason}"))

    def write_report(
        self,
        evaluation: Evaluation,
        hook: Callable[..., Iterable[Any]],
        directory: Path | None,
        started: str,
        seconds: float,
        points: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Write our reports and what the hook returns into a directory, if there is one.

        The hook is called all the same. ``started`` is an ISO time, ``points`` what `add_to_history`
        returned.
        """
        try:
            further = dict(_further(hook(evaluation=evaluation)))
        except Exception as error:
            self.problems.append(visible(f"the hook {HOOK} raised {raised_where(error)}"))
            further = {}
        if self.step_summary is not None:
            try:
                summary = redactor.text(markdown.text(evaluation, started, seconds))
                github.append_summary(self.step_summary, summary)
            except OSError as error:
                reason = error.strerror or str(error)
                self.problems.append(visible(f"cannot append to GITHUB_STEP_SUMMARY: {reason}"))
        if directory is not None:
            path = directory / "report.json"
            report = redactor.file(path, json_report.text(evaluation, started, seconds, points))
            self.write(path, report, is_redacted=True)
            self.write(directory / "report.md", markdown.text(evaluation, started, seconds))
            for name, source in json_report.screenshots(evaluation):
                self._copy(source, directory / name)
            try:
                page = html_report.text(json.loads(report), directory)
                # Redacting the page would change its scripts, where a value is a word of theirs.
                self.write(directory / "report.html", page, is_redacted=True)
            except Exception as error:
                # What a kind of another plugin measured may have any shape.
                self.problems.append(visible(f"report.html cannot be made: {raised_where(error)}"))
            for name, text in further.items():
                self.write(directory / name, text)

    def add_to_history(
        self,
        path: Path | None,
        evaluation: Evaluation,
        suites: Iterable[SuiteRun],
        declarations: Mapping[str, KindDeclaration],
        root: Path,
        started: str,
    ) -> list[dict[str, Any]]:
        """Append the run to a history, if there is one; returns the last points, this one included."""
        if path is None:
            return []
        inputs = {one.selection.suite: shard.inputs(one, root) for one in suites}
        try:
            return history.appended(path, history.point(evaluation, declarations, inputs, started, root))
        except history.HistoryError as error:
            self.problems.append(visible(str(error)))
            return []

    def _copy(self, source: Path, path: Path) -> None:
        if not source.is_file():
            return  # The report of a shard, made on another machine: the page says so.
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
        except OSError as error:
            reason = error.strerror or str(error)
            self.problems.append(visible(f"cannot write {self._short(path)}: {reason}"))

    def line(self, directory: Path | None) -> str:
        """Which files were written into a directory; empty for none."""
        names = [
            path.name for path in self.written if path.parent == directory and path.name != shard.SHARD_FILE
        ]
        if directory is None or not names:
            return ""
        listed = " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
        return visible(f"reports: {self._short(directory)}/{listed}")

    def _short(self, path: Path) -> Path:
        return path.relative_to(self.here) if path.is_relative_to(self.here) else path


def _further(found: Iterable[Any]) -> Iterator[tuple[str, str]]:
    taken = set(OURS)
    for texts in found:
        if not isinstance(texts, Mapping):
            raise TypeError(f"expected a mapping of names of files to texts, found {texts!r:.80}")
        for name, text in texts.items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise TypeError(f"expected the text of a report by the name of its file, found {name!r:.80}")
            if Path(name).name != name:
                raise ValueError(f"{name!r} is not the name of a file in the directory of the report")
            if name in taken:
                raise ValueError(f"two reports are named {name!r}: rename one")
            taken.add(name)
            yield name, text
