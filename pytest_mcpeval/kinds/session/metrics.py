"""Samples → the numbers of a session, as plain data for reports. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.session.critic.findings import Finding
from pytest_mcpeval.kinds.session.endings import COMPLETE
from pytest_mcpeval.kinds.session.spec import REPORT_ID


def report_sample_of(samples: Sequence[Sample]) -> Sample | None:
    """The sample of the report, when it was written."""
    return next((sample for sample in samples if sample.id == REPORT_ID and sample.measured), None)


def findings_of(samples: Sequence[Sample]) -> list[Finding] | None:
    """The findings of the critic; None when there is no report, or its output could not be read."""
    report = report_sample_of(samples)
    return (
        None
        if report is None or report.outcome == "failed"
        else [Finding(**found) for found in report.measured["findings"]]
    )


def dropped_of(samples: Sequence[Sample]) -> list[str]:
    """The headings of the critic that look like findings and could not be read."""
    report = report_sample_of(samples)
    return [] if report is None else list(report.measured.get("dropped_headings", ()))


def conclusion(samples: Sequence[Sample]) -> list[str]:
    """What the terminal says of an evaluation with a report; the last line says where that is."""
    report = next((one for one in samples if one.id == REPORT_ID and "report" in one.run), None)
    if report is None:
        return []
    found = report.message.replace(" findings", "", 1)
    early = incomplete(samples)
    lines = [
        f"Evaluation complete: {report.run['evaluation']}",
        f"Findings: {found}" if report.measured else found,
        *([f"Not complete: {early}"] if early else []),
        f"Report: {report.run['report']}",
    ]
    return ["\n".join(lines)]


def incomplete(samples: Sequence[Sample]) -> str:
    """The scenarios that were not carried out as they should have been, and how they ended."""
    report = report_sample_of(samples)
    # A worker that died took the samples of its scenario with it: the report knows it.
    ended = {} if report is None else dict(report.measured["endings"])
    ended |= {sample.id: sample.measured["ended"] for sample in samples if "ended" in sample.measured}
    return "; ".join(f"{name}: {words}" for name, words in ended.items() if words != COMPLETE)


def measure(samples: Sequence[Sample]) -> dict[str, Any]:
    """``scenarios`` and ``aborted`` by reason, ``calls``, ``blocked``; of the report what it found."""
    scenarios = [sample for sample in samples if sample.id != REPORT_ID and sample.measured]
    reasons = Counter(sample.measured["abort_reason"] for sample in scenarios)
    reasons.pop(None, None)
    found: dict[str, Any] = {
        "scenarios": len(scenarios),
        "aborted": dict(sorted(reasons.items())),
        "calls": sum(sample.measured["call_count"] for sample in scenarios),
        "blocked": sum(sample.measured["blocked"] for sample in scenarios),
    }
    report = report_sample_of(samples)
    if report is not None:
        kept = ("counts", "dropped", "dangling_citations", "servers")
        found |= {"findings" if name == "counts" else name: report.measured[name] for name in kept}
    return found


def measure_run(samples: Sequence[Sample]) -> dict[str, Any]:
    """The name of the evaluation, its report, and how long each scenario took, in seconds."""
    report = report_sample_of(samples)
    seconds = {sample.id: sample.run["seconds"] for sample in samples if "seconds" in sample.run}
    return {**(dict(report.run) if report is not None else {}), "seconds": seconds}
