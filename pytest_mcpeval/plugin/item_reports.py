"""Fill the report of an item: samples of its cases, messages, and properties for other reports."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard

import pytest

from pytest_mcpeval.config.settings import Inconclusive
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.judging import unasked
from pytest_mcpeval.core.repeating import LATENCY, judged_otherwise, mean_over_runs, worst
from pytest_mcpeval.core.sample import TEARDOWN_FAILED, Outcome, Sample
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.loading.messages import suggestion
from pytest_mcpeval.plugin.items import NOT_READY, CaseFailed, CaseItem, samples_key
from pytest_mcpeval.python_tests.cases import python_sample, raised, withdraw_xfail
from pytest_mcpeval.reports.outcomes import batch_message
from pytest_mcpeval.targets.base import TargetStartError
from pytest_mcpeval.text.visible import visible

OUTCOME_ATTRIBUTE = "mcpeval_outcome"
LABEL_ATTRIBUTE = "mcpeval_label"
AVAILABLE_FIXTURES = re.compile(r"available fixtures: (.*)")
"""Finds the fixture names in pytest's message, since there is no public way to ask for them."""

sent_key = pytest.StashKey[list[Sample]]()
"""The samples of an item that its reports have carried so far."""


def put_into_words(item: CaseItem, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Write the message of an item that raised, where pytest would show internals of a set-up or function.

    The mark ``xfail`` expects a wrong answer: it does not accept a missing one.
    """
    error = raised(call)
    if call.when != "call" or _was_ended_from_outside(call) or _lacks_answer(item):
        withdraw_xfail(item, call, report)
    if _is_fixture_of_file(error, item):
        report.longrepr = _unknown_fixture(item, str(error.argname), report.longreprtext)
    elif isinstance(error, NOT_READY):
        if isinstance(error, TargetStartError):
            error.origin = error.origin or item.suite.origin_of(item.cases[0])
        report.longrepr = str(error)


def _was_ended_from_outside(call: pytest.CallInfo[None]) -> bool:
    """Whether an item was ended by something else than its verdict."""
    error = raised(call)
    return error is not None and not isinstance(error, (CaseFailed, pytest.skip.Exception))


def _lacks_answer(item: CaseItem) -> bool:
    """Whether a case of an item is in error, or lacks only the evidence for a verdict."""
    for sample in item.stash.get(samples_key, []):
        wrong = {check.status for check in sample.checks if not check.passed}
        if sample.outcome in ("error", "inconclusive") or (wrong and "failed" not in wrong):
            return True
    return False


def _is_fixture_of_file(error: BaseException | None, item: CaseItem) -> TypeGuard[pytest.FixtureLookupError]:
    """Whether a fixture is missing that the data file names, or its settings."""
    return isinstance(error, pytest.FixtureLookupError) and error.argname in item.cases[0].fixtures


def _unknown_fixture(item: CaseItem, name: str, text: str) -> str:
    """What a file says wrongly; pytest's ``text`` shows the function behind an item, and all fixtures."""
    found = AVAILABLE_FIXTURES.search(text)
    known = found[1].split(", ") if found else []
    message = f"fixture {name!r} not found{suggestion(name, known)}; pytest --fixtures lists all fixtures"
    suite, case = item.suite, item.cases[0]
    row = suite.row_of(case)
    if suite.origin and not (isinstance(row, dict) and name in (row.get("fixtures") or ())):
        return f"{suite.origin}: {message}"
    problem = suite.document.problem(*case.keys, "fixtures", message=message)
    return item.runtime.described(DataFileError([problem]))


def samples_of(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> list[Sample]:
    """The samples of an item, when this is the report that ends it: a call, or a set-up that failed.

    A failed tear-down returns them again, as errors: such cases did not pass.
    """
    if call.when == "teardown":
        if not report.failed:
            return []
        lines = report.longreprtext.strip().splitlines() or ["no reason given"]
        message = f"{TEARDOWN_FAILED}: {lines[-1]}"
        return [judged_otherwise(sent, "error", message) for sent in item.stash.get(sent_key, [])]
    if call.when == "setup" and report.passed:
        return []
    if not isinstance(item, CaseItem):
        sample = python_sample(item, call, report)
        return [] if sample is None else [replace(sample, cause=_cause(item, call))]
    judged = item.stash.get(samples_key, [])
    if len(judged) == len(item.cases) and not _was_ended_from_outside(call):
        return judged
    # Judged cases of a batch keep their samples; of a batch that was judged whole, none can be believed.
    kept = {sample.id: sample for sample in judged} if len(judged) < len(item.cases) else {}
    kind, suite, error = item.runtime.kinds[item.suite.kind], item.suite, raised(call)
    lines = [] if error is None else str(error).splitlines()
    message = report.longreprtext if _is_fixture_of_file(error, item) else next(iter(lines), "")
    outcome: Outcome = "skipped" if report.skipped and not hasattr(report, "wasxfail") else "error"
    cause = _cause(item, call)
    return [kept.get(case.id) or unasked(kind, suite, case, outcome, message, cause) for case in item.cases]


def _cause(item: pytest.Item, call: pytest.CallInfo[None]) -> str:
    """What identifies an error that other cases have as well; empty for one of this case alone.

    A target says so itself. Whatever else keeps cases of a file from being set up, such as a fixture that
    raises, is the same where the same exception was raised in the same line.
    """
    error = raised(call)
    while isinstance(error, TargetError) and isinstance(error.__cause__, NOT_READY):
        error = error.__cause__
    if isinstance(error, NOT_READY):
        return f"{error.cause} {error.origin}" if isinstance(error, TargetStartError) else error.cause
    if error is None or call.when != "setup" or not isinstance(item, CaseItem):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    said = error.argname if isinstance(error, pytest.FixtureLookupError) else error
    return f"{item.suite.key}: {type(error).__name__} at {place}: {said}"


def as_reported(samples: list[Sample], report: pytest.TestReport) -> list[Sample]:
    """The samples, with what marks made of their outcomes."""
    if hasattr(report, "wasxfail") and report.skipped:
        reason = f"expected to fail: {report.wasxfail}" if report.wasxfail else ""
        return [
            sample
            if sample.outcome in ("passed", "skipped")
            else judged_otherwise(sample, "xfailed", "; ".join(filter(None, [reason, sample.message])))
            for sample in samples
        ]
    if report.failed and all(sample.outcome == "passed" for sample in samples):
        # A strict mark expected a failure, but the case passed.
        message = report.longreprtext.partition("\n")[0]
        return [judged_otherwise(sample, "failed", message) for sample in samples]
    return samples


def mark_report(
    item: pytest.Item, report: pytest.TestReport, samples: Sequence[Sample], inconclusive: Inconclusive
) -> None:
    """Put outcome and properties on a report; a wrong case counts as skipped until the gates decide."""
    outcome = worst([sample.outcome for sample in samples])
    setattr(report, OUTCOME_ATTRIBUTE, outcome)
    setattr(report, LABEL_ATTRIBUTE, next((sample.label for sample in samples if sample.label), ""))
    found = _properties(samples[0]) if len(samples) == 1 else _properties_of_batch(samples, outcome)
    item.user_properties.extend((name, str(value)) for name, value in found)
    if outcome == "wrong":
        # As an expected failure, so that no third-party report counts a wrong answer as passed.
        message = samples[0].message if len(samples) == 1 else batch_message(samples)
        report.outcome = "skipped"
        report.wasxfail = visible(f"wrong, left to the gates: {message}")
        # Whether a gate is evaluated is known when the session ends, and junit shows no text with a skip.
        item.user_properties.append(("mcpeval_evidence", report.longreprtext))
    elif outcome == "inconclusive" and inconclusive == "skip" and report.failed:
        path, line, _ = item.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, report.longreprtext)
    report.user_properties = list(item.user_properties)


def _properties_of_batch(samples: Sequence[Sample], outcome: Outcome) -> Iterable[tuple[str, object]]:
    yield "mcpeval_kind", samples[0].kind
    yield "mcpeval_outcome", outcome
    passed = sum(sample.outcome == "passed" for sample in samples)
    yield "mcpeval_cases", f"{passed}/{len(samples)} passed"
    if latency := sum(sample.run.get(LATENCY) or 0 for sample in samples):
        yield "mcpeval_latency_ms", round(latency, 1)


def _properties(sample: Sample) -> Iterable[tuple[str, object]]:
    yield "mcpeval_kind", sample.kind
    yield "mcpeval_outcome", sample.outcome
    for name in ("difficulty", "project", "tool"):
        if name in sample.traits:
            value = sample.traits[name]
            yield f"mcpeval_{name}", value if isinstance(value, str) else ", ".join(value)
    if sample.checks:
        yield "mcpeval_checks", f"{sum(check.passed for check in sample.checks)}/{len(sample.checks)} passed"
    if sample.run.get(LATENCY):
        yield "mcpeval_latency_ms", round(sample.run[LATENCY], 1)
    confidence = mean_over_runs(sample, lambda run: run.measured.get("confidence"))
    if confidence is not None:
        yield "mcpeval_confidence", round(confidence, 4)
