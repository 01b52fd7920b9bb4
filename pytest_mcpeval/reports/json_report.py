"""``report.json``: everything a run found out. The same inputs give the same bytes, apart from ``run``."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.core.gate import GateResult, gate_nodeid
from pytest_mcpeval.core.sample import NOT_PASSED, Check, Sample, to_json

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation, SuiteResult

REPORT_VERSION = 1
TIMED = "a time: see run"


def text(
    evaluation: Evaluation, started: str, seconds: float, history: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The report; ``started`` is an ISO time, ``history`` the last runs, this one included."""
    report = {
        "version": REPORT_VERSION,
        "verdict": evaluation.verdict,
        "reason": evaluation.reason,
        "gates": [_gate(gate) for gate in evaluation.gates],
        "totals": dict(evaluation.totals),
        "suites": {suite.key: _suite(suite) for suite in evaluation.suites},
        "options": list(evaluation.options),
        "run": {
            "started": started,
            "timestamp": started,
            "seconds": round(seconds, 3),
            "host": platform.node(),
            "python": platform.python_version(),
            "gates": {
                gate_nodeid(gate): {"value": gate.value, "message": gate.message}
                for gate in evaluation.gates
                if gate.timed
            },
            "totals": dict(evaluation.totals_of_run),
            "suites": {suite.key: _run_of(suite) for suite in evaluation.suites},
            **({"history": list(history)} if history else {}),
        },
    }
    return to_json(report, indent=1) + "\n"


def _gate(gate: GateResult) -> dict[str, Any]:
    return {
        "suite": gate.suite,
        "name": gate.name,
        "verdict": gate.verdict,
        "value": None if gate.timed else gate.value,
        "baseline": gate.baseline,
        "limit": gate.limit,
        "wanted": gate.wanted,
        "message": TIMED if gate.timed else gate.message,
    }


def _run_of(result: SuiteResult) -> dict[str, Any]:
    """The times of a suite, those that checks speak of included."""
    timed = {
        name: {
            str(number): {"message": check.message, "details": check.details}
            for number, check in enumerate(sample.checks)
            if check.timed
        }
        for name, sample in _with_runs(result)
    }
    attachments = {
        sample.id: [
            {**one, "image": screenshot(result, sample, number)} if "image" in one else one
            for number, one in enumerate(found, 1)
        ]
        for sample in result.samples
        if (found := sample.run.get("attachments"))
    }
    return {
        **result.run,
        "spent": [vars(one.spent) for one in result.headlines],
        "timedChecks": {case: checks for case, checks in timed.items() if checks},
        "attachments": attachments,
    }


def screenshot(result: SuiteResult, sample: Sample, number: int) -> str:
    """Where the picture of an attachment is copied to, relative to the report."""
    suite = re.sub(r"[^A-Za-z0-9]+", "-", result.key).strip("-")
    return f"screenshots/{suite}/{sample.id}-{number}.png"


def screenshots(evaluation: Evaluation) -> Iterator[tuple[str, Path]]:
    """Each picture of a case: where it is copied to, relative to the report, and where it is."""
    for result in evaluation.suites:
        for sample in result.samples:
            for number, one in enumerate(sample.run.get("attachments", ()), 1):
                if "image" in one:
                    yield screenshot(result, sample, number), Path(one["image"])


def _with_runs(result: SuiteResult) -> Iterator[tuple[str, Sample]]:
    for sample in result.samples:
        yield sample.id, sample
        yield from ((f"{sample.id} (run {number})", run) for number, run in enumerate(sample.runs, 1))


def _suite(result: SuiteResult) -> dict[str, Any]:
    complete = result.complete
    items = {case: name for name, cases in result.selection.batches.items() for case in cases}
    return {
        "kind": result.selection.kind,
        "digest": result.selection.digest,
        "expected": complete.expected,
        "measured": complete.measured,
        "missing": list(complete.missing),
        "errors": list(complete.errors),
        "setAside": list(complete.set_aside),
        "headlines": [
            {name: value for name, value in vars(one).items() if name not in ("spent", "change_text")}
            for one in result.headlines
        ],
        "metrics": dict(result.metrics),
        "baseline_delta": dict(result.compared),
        "cases": [_case(result, sample, items) for sample in result.samples],
        "failures": [_failure(sample) for sample in result.samples if _is_failure(sample)],
    }


def _case(result: SuiteResult, sample: Sample, items: Mapping[str, str]) -> dict[str, Any]:
    """What is reported of a case, and where it is; ``items`` are the names of items of several cases."""
    line, item = result.lines.get(sample.id), items.get(sample.id)
    place = {"line": line, "item": item}
    return {**case_of(sample), **{name: value for name, value in place.items() if value is not None}}


def case_of(sample: Sample) -> dict[str, Any]:
    """What is reported of a case, the same in every run that found out the same."""
    return {
        "id": sample.id,
        "outcome": sample.outcome,
        "message": steady_message(sample),
        "checks": [_check(check) for check in sample.checks],
        "traits": dict(sample.traits),
        "measured": dict(sample.measured),
        **({"runs": [_one_run(run) for run in sample.runs]} if sample.runs else {}),
    }


def _one_run(sample: Sample) -> dict[str, Any]:
    """One of several runs of a case; what does not differ between them stands beside."""
    found = case_of(sample)
    return {name: found[name] for name in ("outcome", "message", "checks", "measured")}


def _check(check: Check) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rule": dict(check.rule),
        "status": check.status,
        "passed": check.passed,
        "message": TIMED if check.timed else check.message,
    }
    details = None if check.timed else check.details
    optional: Mapping[str, Any] = {"details": details, "step": check.step}
    return found | {name: value for name, value in optional.items() if value is not None}


def steady_message(sample: Sample) -> str:
    """The message of a case without the times in it."""
    message = sample.message
    for check in sample.checks:
        if check.timed:
            message = message.replace(check.message, TIMED)
    return message


def _is_failure(sample: Sample) -> bool:
    return sample.outcome in NOT_PASSED


def _failure(sample: Sample) -> dict[str, Any]:
    return {
        "testId": sample.id,
        "testName": sample.traits.get("name", sample.id),
        "failedValidations": [_check(check) for check in sample.checks if not check.passed],
        "errorMessage": steady_message(sample),
    }
