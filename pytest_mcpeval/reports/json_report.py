"""``report.json``: everything a run found out. The same inputs give the same bytes, apart from ``run``."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.baseline import write_atomically
from pytest_mcpeval.samples import Check, Sample

if TYPE_CHECKING:
    from pytest_mcpeval.judging import Evaluation, SuiteResult

REPORT_VERSION = 1


def write(path: Path, evaluation: Evaluation, started: str, seconds: float) -> None:
    """Write the report; ``started`` is an ISO time."""
    text = json.dumps(report_of(evaluation, started, seconds), ensure_ascii=False, indent=1) + "\n"
    # A lone surrogate in an answer has no UTF-8: it is written as the escape it came as.
    write_atomically(path, text.encode("utf-8", "backslashreplace").decode("utf-8"))


def report_of(evaluation: Evaluation, started: str, seconds: float) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "version": REPORT_VERSION,
        "verdict": evaluation.verdict,
        "gates": [asdict(gate) for gate in evaluation.gates],
        "suites": {suite.key: _suite(suite) for suite in evaluation.suites},
        "run": {
            "started": started,
            "timestamp": started,
            "seconds": round(seconds, 3),
            "host": platform.node(),
            "python": platform.python_version(),
            "suites": {suite.key: dict(suite.run) for suite in evaluation.suites},
        },
    }


def _suite(result: SuiteResult) -> dict[str, Any]:
    complete = result.complete
    return {
        "kind": result.selection.kind,
        "digest": result.selection.digest,
        "expected": complete.expected,
        "measured": complete.measured,
        "missing": list(complete.missing),
        "errors": list(complete.errors),
        "setAside": list(complete.set_aside),
        "metrics": dict(result.metrics),
        "cases": [_case(sample) for sample in result.samples],
        "failures": [_failure(sample) for sample in result.samples if _is_failure(sample)],
    }


def _case(sample: Sample) -> dict[str, Any]:
    return {
        "id": sample.id,
        "outcome": sample.outcome,
        "message": sample.message,
        "checks": [_check(check) for check in sample.checks],
        "traits": dict(sample.traits),
        "measured": dict(sample.measured),
    }


def _check(check: Check) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rule": dict(check.rule),
        "status": check.status,
        "passed": check.passed,
        "message": check.message,
    }
    optional: Mapping[str, Any] = {"details": check.details, "step": check.step}
    return found | {name: value for name, value in optional.items() if value is not None}


def _is_failure(sample: Sample) -> bool:
    return sample.outcome in ("failed", "tolerated", "error")


def _failure(sample: Sample) -> dict[str, Any]:
    return {
        "testId": sample.id,
        "testName": sample.traits.get("name", sample.id),
        "failedValidations": [_check(check) for check in sample.checks if not check.passed],
        "errorMessage": sample.message,
    }
