"""Every case of a data file, asked twice, or more often, by a run of pytest: only there are fixtures."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class NotAsked(Exception):  # noqa: N818 (an outcome of asking)
    """A target did not answer every case; the text is for people."""


def cases_asked_twice(
    path: Path, key: str, root: Path, wanted: Sequence[str], noun: str, runs: int = 2
) -> dict[str, dict[str, Any]]:
    """Case id → the case in ``report.json``, with its ``runs``; ``noun`` is the plural of what cases are.

    Raises:
        NotAsked: Cases are without an answer.
    """
    with tempfile.TemporaryDirectory() as directory:
        options = ["--mcpeval", f"--mcpeval-report={directory}", f"--rootdir={root}"]
        options += ["--mcpeval-runs", str(runs)]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", "-q", str(path)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        report = Path(directory, "report.json")
        found = json.loads(report.read_text("utf-8")) if report.is_file() else {"suites": {}}
    cases = found["suites"].get(key, {}).get("cases", [])
    asked = {case["id"]: case for case in cases if case["outcome"] != "error" and "runs" in case}
    if not asked.keys() >= set(wanted):
        raise NotAsked(f"{len(asked)} of {len(wanted)} {noun} were answered:\n{done.stdout}")
    return asked
