"""SARIF 2.1.0 of scanned servers: one result for each detection in a flagged tool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_mcpeval.config.project_file import PROJECT_FILE_NAME
from pytest_mcpeval.core.sample import Sample, to_json
from pytest_mcpeval.kinds.security.sampling import tools_of
from pytest_mcpeval.text.visible import clipped, revealed

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
KIND = "security"
NO_DETECTOR = "none"
UNNAMED = "flagged"
"""The rule id for a detector that gives no reason."""
SHOWN_CHARACTERS = 500


def sarif(evaluation: Evaluation) -> str:
    """The log of all scans of a session; without any, it has no results.

    It has a run for each detector, which is unsuccessful if a tool has no verdict.
    """
    results: dict[str, list[dict[str, Any]]] = {}
    failures: dict[str, list[str]] = {}
    for sample in (sample for suite in evaluation.suites for sample in suite.samples):
        if "scan" in sample.traits.get("tags", ()) and sample.kind == KIND:
            detector = sample.traits["detector"]
            results.setdefault(detector, []).extend(_results(sample))
            failures.setdefault(detector, []).extend(_failures(sample))
    if lost := list(_lost(evaluation)):
        results.setdefault(NO_DETECTOR, [])
        failures.setdefault(NO_DETECTOR, []).extend(lost)
    runs = [_run(name, found, failures[name]) for name, found in results.items()]
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": runs or [_run(NO_DETECTOR, [], [])]}
    return to_json(log, indent=1) + "\n"


def _failures(sample: Sample) -> Iterator[str]:
    """Yield what was not scanned of a server."""
    if "tools" not in sample.measured:
        yield f"{sample.traits['server']}: not scanned: {sample.message or sample.outcome}"
    for tool in tools_of(sample):
        if tool["flagged"] is None:
            yield f"{sample.traits['server']}/{tool['tool']}: no verdict: {tool['error']}"


def _lost(evaluation: Evaluation) -> Iterator[str]:
    """Yield the scans that should have run but have no result."""
    for suite in evaluation.suites:
        path = suite.selection.path
        if suite.selection.kind == KIND and path is not None and Path(path).name == PROJECT_FILE_NAME:
            for case in suite.complete.missing:
                yield f"{suite.key}::{case}: not scanned: it left no result"


def _run(detector: str, results: list[dict[str, Any]], failures: list[str]) -> dict[str, Any]:
    from pytest_mcpeval import __version__

    rules = sorted({result["ruleId"] for result in results})
    driver = {
        "name": f"pytest-mcpeval ({revealed(detector)})",
        "version": __version__,
        "rules": [{"id": rule} for rule in rules],
    }
    # Without this, a failed scan would look like one that found nothing.
    invocation: dict[str, Any] = {"executionSuccessful": not failures}
    if failures:
        texts = [clipped(revealed(text), SHOWN_CHARACTERS) for text in failures]
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": text}} for text in texts
        ]
    return {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }


def _results(sample: Sample) -> Iterator[dict[str, Any]]:
    for tool in tools_of(sample):
        if tool["flagged"]:
            for detection in tool["detections"] or [{"rule": UNNAMED, "severity": tool["severity"]}]:
                yield _result(sample, tool, detection)


def _result(sample: Sample, tool: Mapping[str, Any], detection: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{sample.measured['server']}/{tool['tool']}"
    rule, field = detection["rule"], detection.get("field", "description")
    severity = str(detection.get("severity") or tool.get("severity") or "").lower()
    said = detection.get("message") or "flagged"
    message = clipped(revealed(f"{name}: {said} ({field})"), SHOWN_CHARACTERS)
    identity = "\n".join((name, rule, field, str(detection.get("span")), said))
    return {
        "ruleId": revealed(rule),
        "level": LEVELS.get(severity, "warning"),
        "message": {"text": message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(sample.suite), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": sample.measured["line"]},
                },
                "logicalLocations": [{"fullyQualifiedName": revealed(name), "kind": "function"}],
            }
        ],
        "partialFingerprints": {"detection/v1": hashlib.sha256(identity.encode()).hexdigest()},
    }
