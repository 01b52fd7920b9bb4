"""How labelled corpora, and the files they read, are detected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pytest_mcpeval.core.declaration import Better, CommandLine, DocumentRole, KindDeclaration, ReportFile
from pytest_mcpeval.kinds.security.command_line import OPTIONS, SARIF

_OF_CORPORA = {"label", "provenance"}


class SecurityDeclaration(KindDeclaration):
    """Labelled corpora: tool descriptions that a detector should flag, or should not."""

    name = "security"
    file_description = "an `entries:` list (security)"
    file_keys = ("entries",)
    option_table = OPTIONS
    has_selftest = True

    figures: ClassVar[Mapping[str, Better]] = {
        "per_detector.*.fpr": "lower",
        "per_detector.*.recall": "higher",
        "per_detector.*.precision": "higher",
        "per_detector.*.f1": "higher",
        "per_detector.*.errors": "lower",
    }

    def paired_values(self, case: Mapping[str, Any]) -> Mapping[str, float]:
        """Whether the detector was right, of malicious and of benign entries apart."""
        measured = case["measured"]
        if "label" not in measured or "detector" not in measured:
            return {}
        aspect = "recall" if measured["label"] == "malicious" else "benign entries not flagged"
        return {f"{measured['detector']} {aspect}": float(case["outcome"] == "passed")}

    def options(self, command_line: CommandLine) -> Path | None:
        """Return the file for the results of scans."""
        name = command_line.value("mcpeval_sarif")
        return command_line.directory / name if name else None

    def report_files(self, options: Path | None) -> Sequence[ReportFile]:
        """Return the report of scans, as SARIF."""
        if options is None:
            return ()
        from pytest_mcpeval.kinds.security.sarif import sarif

        return (ReportFile(options, SARIF, sarif),)

    def detect(self, data: Any) -> DocumentRole | None:
        """A mapping with ``entries``; recorded verdicts are a support file."""
        if not isinstance(data, dict) or "entries" not in data:
            return None
        return "support" if _is_recorded(data) else "suite"


def _is_recorded(data: object) -> bool:
    """Return whether a document has recorded verdicts, and no keys that only a corpus has.

    A corpus that was mistaken for recorded verdicts would silently not be run.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("detectors"), list):
        return False
    entries = data.get("entries")
    rows = [row for row in entries if isinstance(row, Mapping)] if isinstance(entries, list) else []
    return any("verdicts" in row for row in rows) and not any(row.keys() >= _OF_CORPORA for row in rows)
