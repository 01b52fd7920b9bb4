"""The history of a project's runs: one line of JSON for each, and what the last ones found out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.reports.comparison import declared_numbers
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    from pytest_mcpeval.core.declaration import KindDeclaration
    from pytest_mcpeval.core.evaluation import Evaluation

HISTORY_VERSION = 1
SHOWN_POINTS = 50
"""How many of the last points a report has."""

GIT_SECONDS = 5


class HistoryError(Exception):
    """A history cannot be read or written. The text says which line, and what to do."""


def point(
    evaluation: Evaluation,
    declarations: Mapping[str, KindDeclaration],
    inputs: Mapping[str, Mapping[str, str]],
    started: str,
    root: Path,
) -> dict[str, Any]:
    """A run as one point: of each suite that was run whole, its numbers and a digest of what they depend on.

    ``inputs`` maps suites to the digests of their files and settings; ``started`` is an ISO time.
    """
    suites = {}
    for one in evaluation.suites:
        kind = declarations.get(one.selection.kind)
        if one.complete.partial:
            continue
        suites[one.key] = {
            "kind": one.selection.kind,
            "data": one.selection.digest,
            "inputs": digest_of(to_json(dict(sorted(inputs.get(one.key, {}).items())))),
            "cases": one.complete.expected,
            "passed": sum(sample.outcome == "passed" for sample in one.samples),
            "figures": declared_numbers(one.metrics, kind.figures if kind else {}),
        }
    return {
        "version": HISTORY_VERSION,
        "started": started,
        "commit": _commit(root),
        "verdict": evaluation.verdict,
        "suites": suites,
    }


def appended(path: Path, latest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Append a point to a history; returns the last points, this one included.

    Raises:
        HistoryError: The file cannot be read or written, or a line of it is not a point: nothing is appended.
    """
    earlier = _points(path) if path.exists() else []
    line = redactor.json(to_json(dict(latest), separators=(",", ":"))) + "\n"
    try:
        # One write, so that two runs at once do not mix their lines.
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
    except OSError as error:
        raise HistoryError(f"cannot write {path}: {error.strerror}") from None
    return [*earlier, json.loads(line)][-SHOWN_POINTS:]


def _points(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HistoryError(f"cannot read {path}: {error}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError:
            data = None
        if not isinstance(data, dict) or data.get("version") != HISTORY_VERSION or "suites" not in data:
            what = f"expected a point of a history, version {HISTORY_VERSION}"
            raise HistoryError(f"{path}:{number}: {what}; remove the line, or name another file")
        found.append(data)
    return found


def _commit(root: Path) -> str | None:
    """The commit of a repository, with ``+changes`` if tracked files differ from it; None outside of one."""
    head = _git(root, "rev-parse", "--verify", "HEAD")
    if not head:
        return None
    return f"{head}+changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else head


def _git(root: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        found = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            env=environment,
            timeout=GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.decode("utf-8", "replace").strip()
