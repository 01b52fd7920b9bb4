"""What GitHub Actions shows of a run: annotations at the lines of data files, and the summary of a step."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_mcpeval.loading.messages import shortened
from pytest_mcpeval.reports.summary import wrong_gates
from pytest_mcpeval.text.visible import visible

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation

Level = Literal["error", "warning"]

LEVELS: Mapping[str, Level] = {
    "failed": "error",
    "error": "error",
    "inconclusive": "warning",
    "wrong": "warning",
}
SHOWN_ANNOTATIONS = 10
"""GitHub shows as many of each level in a step."""
LONGEST_MESSAGE = 1000
SUMMARY_LIMIT = 1024 * 1024
"""Bytes, of all that a step writes: GitHub shows nothing of a longer summary."""
CUT = "\n\nThe summary is cut: GitHub shows 1 MiB of a step. `report.md` of --mcpeval-report is whole.\n"


class Annotation(NamedTuple):
    """A message at a line of a file; 0 for none."""

    level: Level
    file: str
    line: int
    title: str
    message: str


def annotation_lines(evaluation: Evaluation, root: Path) -> list[str]:
    """The workflow commands for gates and cases that are wrong, of each level the first ones and a count.

    Nothing elsewhere than on GitHub. Paths are relative to the directory of the checkout, where ``root`` is
    within it.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return []
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    found = list(_annotations(evaluation))
    inside = workspace and root.is_relative_to(workspace)
    prefix = root.relative_to(workspace).as_posix() + "/" if inside and str(root) != workspace else ""
    lines = []
    for level in ("error", "warning"):
        own = [one for one in found if one.level == level]
        lines += [_command(one._replace(file=prefix + one.file)) for one in own[:SHOWN_ANNOTATIONS]]
        if len(own) > SHOWN_ANNOTATIONS:
            left = len(own) - SHOWN_ANNOTATIONS
            lines.append(f"{left} more {level}s have no annotation: GitHub shows {SHOWN_ANNOTATIONS}")
    return lines


def _annotations(evaluation: Evaluation) -> Iterator[Annotation]:
    for gate in wrong_gates(evaluation):
        yield Annotation("error", gate.suite, 0, f"gate {gate.name} {gate.verdict}", gate.message)
    causes = set()
    for suite in evaluation.suites:
        for sample in suite.samples:
            level = LEVELS.get(sample.outcome)
            if level is None or sample.id in suite.for_information or sample.cause in causes:
                continue
            if sample.cause:
                causes.add(sample.cause)
            line = suite.lines.get(sample.id, 0)
            yield Annotation(level, suite.key, line, f"{sample.id} {sample.outcome}", sample.message)


def _command(one: Annotation) -> str:
    line = f",line={one.line}" if one.line else ""
    message = _escaped(shortened(visible(one.message), LONGEST_MESSAGE))
    return f"::{one.level} file={_property(one.file)}{line},title={_property(one.title)}::{message}"


def _escaped(text: str) -> str:
    """Text as the data of a workflow command, by the rules of GitHub's own toolkit."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(visible(text)).replace(":", "%3A").replace(",", "%2C")


def append_summary(path: Path, text: str) -> None:
    """Append a report to the summary of the step, cut where it would be too long to be shown.

    Raises:
        OSError: The file cannot be written.
    """
    with path.open("ab") as file:
        room = SUMMARY_LIMIT - file.tell()
        whole = text.encode()
        if len(whole) > room:
            end = f"\n</details>{CUT}".encode()
            kept = whole[: max(0, room - len(end))]
            kept = kept[: kept.rfind(b"\n") + 1]
            is_folded = kept.count(b"<details>") > kept.count(b"</details>")
            whole = kept + (end if is_folded else CUT.encode())
            whole = whole if len(whole) <= room else b""
        file.write(whole)


def step_summary() -> Path | None:
    """The file of the summary of this step; None elsewhere than on GitHub."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(name) if name else None
