"""One detector's answer to one entry → its sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.sample import Check, Outcome, Sample
from pytest_mcpeval.kinds.security.detectors.asking import Detected
from pytest_mcpeval.kinds.security.spec import Entry, SecuritySpec, SecuritySuite
from pytest_mcpeval.targets.base import cause_of

MISSED = "MISSED"
FALSE_ALARM = "FALSE ALARM"
ERROR = "ERROR"


def judge(suite: SecuritySuite, case: Case[SecuritySpec], found: Detected) -> Sample:
    """The sample of an entry: does the verdict agree with the label?

    The gates decide about a wrong verdict, unless the suite is ``strict``. A missing verdict is an
    error; if the gates allow some (``max_errors``), they decide about it too.
    """
    spec = case.spec
    check = _check(spec.entry, found)
    outcome: Outcome = "passed"
    label = ""
    # Everything that metrics need, so that they can be computed from samples alone.
    measured = asked_of(suite, spec)
    run: dict[str, Any] = {"processingTimeMs": found.seconds * 1000}
    if found.error is not None:
        may_fail = suite.gates_of(spec.detector).max_errors > 0 and not found.error.is_incident
        outcome, label = ("wrong", ERROR) if may_fail else ("error", "")
        measured |= {"flagged": None, "error": found.error.reason}
        if found.error.stderr_tail:
            run["stderr"] = found.error.stderr_tail
    elif found.verdict is not None:
        measured |= found.verdict.as_data()
        if not check.passed and suite.settings.strict:
            outcome = "failed"
        elif not check.passed:
            outcome, label = "wrong", MISSED if spec.entry.is_malicious else FALSE_ALARM
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome=outcome,
        checks=(check,),
        message="" if check.passed else check.message,
        label=label,
        traits=dict(case.traits),
        measured=measured,
        run=run,
        cause=cause_of(found.error, f"{suite.key}: detector {spec.detector}") if outcome == "error" else "",
    )


def _check(entry: Entry, found: Detected) -> Check:
    rule = {"type": "verdict", "label": entry.label}
    if found.error is not None:
        return Check(rule, "inconclusive", found.error.message, {"reason": found.error.reason})
    assert found.verdict is not None
    flagged = found.verdict.flagged
    likeness = f", resembles {entry.resembles}" if entry.resembles else ""
    what = f"{entry.label} ({entry.category}{likeness})"
    message = f"{'flagged' if flagged else 'not flagged'}, and the entry is {what}"
    rules = list(dict.fromkeys(detection.rule for detection in found.verdict.detections))
    if flagged and rules:
        message = f"{message}; by {', '.join(rules)}"
    agrees = flagged == entry.is_malicious
    return Check(rule, "passed" if agrees else "failed", message, {"flagged": flagged})


NOT_MEASURED = {"flagged": None, "error": "not measured"}
"""Used instead of a missing verdict."""


def asked_of(suite: SecuritySuite, spec: SecuritySpec) -> dict[str, Any]:
    """Return what metrics need of an entry besides the verdict."""
    entry = spec.entry
    measured: dict[str, Any] = {
        "detector": spec.detector,
        "entry": entry.id,
        "label": entry.label,
        "category": entry.category,
        "ceiling": suite.gates_of(spec.detector).fpr_ceiling,
    }
    optional: Mapping[str, Any] = {
        "split": entry.split,
        "language": entry.language,
        "resembles": entry.resembles,
    }
    return measured | {name: value for name, value in optional.items() if value is not None}
