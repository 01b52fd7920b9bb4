"""The side of a session that collects and runs items: a serial run, or one xdist worker."""

from __future__ import annotations

import re
import traceback
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import dropwhile, islice
from typing import Any

import pytest

from pytest_mcpeval.config.settings import Inconclusive
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.error_gates import raised_where
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.judging import unasked
from pytest_mcpeval.core.repeating import LATENCY, judged_otherwise, mean_over_runs, worst
from pytest_mcpeval.core.sample import SAMPLES_ATTRIBUTE, TEARDOWN_FAILED, Outcome, Sample, samples_to_json
from pytest_mcpeval.core.sample_store import Selection, selection_of, selections_to_json
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.loading.messages import suggestion
from pytest_mcpeval.plugin.items import NOT_READY, CaseFailed, CaseItem, samples_key
from pytest_mcpeval.plugin.prefetch_policy import SetUpsOfTheProject, may_be_set_aside
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.python_tests.cases import is_python_case, python_sample, python_selections, withdraw_xfail
from pytest_mcpeval.reports.outcomes import batch_message
from pytest_mcpeval.reports.redacted import disarm, redact
from pytest_mcpeval.targets.base import TargetStartError
from pytest_mcpeval.text.visible import visible

SELECTIONS_ATTRIBUTE = "mcpeval_selections"
OUTCOME_ATTRIBUTE = "mcpeval_outcome"
LABEL_ATTRIBUTE = "mcpeval_label"
AVAILABLE_FIXTURES = re.compile(r"available fixtures: (.*)")
"""Where pytest lists the names: there is no other way to ask it."""


sent_key = pytest.StashKey[list[Sample]]()


class Executor:
    """Selects cases, runs calls ahead, and sends the samples along with the report of each item.

    ``whole_files`` says that a file's items all run in this process (a serial run, or a distribution by
    file); otherwise only the very next item is known to run here.
    """

    def __init__(
        self, runtime: Runtime, set_ups: SetUpsOfTheProject, *, whole_files: bool, is_worker: bool
    ) -> None:
        self.runtime = runtime
        self._set_ups = set_ups
        self.is_worker = is_worker
        self._whole_files = whole_files
        self._items: list[pytest.Item] = []
        self._cases: list[tuple[CaseItem, Case[Any]]] = []
        self._places: dict[tuple[str, str], int] = {}
        self._at_hand: tuple[pytest.Item | None, ...] = ()
        self._unsent_selections: str | None = None
        runtime.prefetch.upcoming = self._upcoming
        runtime.prefetch.selected = self._selected
        runtime.has_whole_files = whole_files

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Refuse cases with one node id for several: what one of them answered would count for all."""
        counts = Counter(item.nodeid for item in items if isinstance(item, CaseItem) or is_python_case(item))
        for name, count in counts.items():
            if count > 1:
                message = f"{visible(name)} is the node id of {count} cases: give each an id of its own"
                report = pytest.CollectReport(name, "failed", message, [])
                session.config.hook.pytest_collectreport(report=report)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which cases were selected, to travel with the first report."""
        self._items = session.items
        self._cases = [
            (item, case) for item in session.items if isinstance(item, CaseItem) for case in item.cases
        ]
        self._places = {(item.suite.key, case.id): index for index, (item, case) in enumerate(self._cases)}
        listed = self.selections()
        self.runtime.selected = {selection.suite: selection.selected for selection in listed}
        for shape in self.runtime.kinds.declarations.values():
            try:
                shape.collected_session(
                    self.runtime.options(shape.name), self.runtime.suites, self.runtime.selected
                )
            except ValueError as error:
                raise pytest.UsageError(str(error)) from None
        if session.config.option.collectonly:
            return
        self._unsent_selections = selections_to_json(listed) if listed else None
        if self.runtime.settings.shard:
            for key, message in self._torn(listed):
                # As for a file that cannot be collected, so that it reaches the controller.
                report = pytest.CollectReport(key, "failed", message, [])
                session.config.hook.pytest_collectreport(report=report)

    def _torn(self, selections: Iterable[Selection]) -> Iterator[tuple[str, str]]:
        """The suites that a shard has a part of, and that cannot be divided."""
        for one in selections:
            suite = self.runtime.suite_at(one.path)
            if suite is None or self.runtime.kinds[one.kind].is_divisible(suite):
                continue
            if 0 < len(one.selected) < len(one.expected):
                count = f"{len(one.selected)} of {len(one.expected)}"
                message = f"its cases build on each other, and this shard has {count}: select all or none"
                yield one.suite, f"{one.suite}: {message}"

    def selections(self) -> list[Selection]:
        """What this process collected, and what of it is selected to run."""
        suites = sorted(self.runtime.suites, key=lambda suite: suite.key)
        chosen = [selection_of(suite, self._places.keys()) for suite in suites]
        return [*chosen, *python_selections(self._items)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Remember what comes next, for calls ahead."""
        self._at_hand = (item, nextitem)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Make the target of a case ready, unless pytest only shows what it would set up."""
        if isinstance(item, CaseItem) and not item.config.getoption("setupplan", False):
            item.prepare()

    def _upcoming(self, suite: Suite[Any], case: Case[Any], count: int) -> Iterable[Case[Any]]:
        if self._at_hand and self._at_hand[0] is not None and self._set_ups.affect(self._at_hand[0]):
            return ()
        if self._whole_files:
            start = self._places[suite.key, case.id]
            coming = self._cases[start : start + count]
        else:
            here = [item for item in self._at_hand if isinstance(item, CaseItem)]
            cases = [(item, other) for item in here for other in item.cases]
            coming = list(islice(dropwhile(lambda entry: entry[1] is not case, cases), count))
        return [
            other
            for item, other in coming
            if other is case or (item.suite is suite and not may_be_set_aside(item))
        ]

    def _selected(self, suite: Suite[Any]) -> list[Case[Any]]:
        return [case for item, case in self._cases if item.suite is suite and not may_be_set_aside(item)]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the samples of an item on its report, as one JSON string."""
        report = yield
        if call.excinfo is not None:
            if isinstance(item, CaseItem) and not _is_verdict(item, call):
                withdraw_xfail(item, call, report)
            if (problem := _unknown_fixture(item, call, report)) is not None:
                report.longrepr = problem
            elif (error := _not_ready(item, call)) is not None:
                # In a set-up, pytest does not ask the item for the words.
                report.longrepr = str(error)
        samples = _samples_of(item, call, report)
        if samples:
            samples, text = _as_json(_as_reported(samples, report), report)
            item.stash[sent_key] = samples
            setattr(report, SAMPLES_ATTRIBUTE, text)
            if call.when != "teardown":
                _mark(item, report, samples, self.runtime.settings.inconclusive)
        if self._unsent_selections is not None:
            setattr(report, SELECTIONS_ATTRIBUTE, self._unsent_selections)
            self._unsent_selections = None
        redact(report)
        if isinstance(item, CaseItem) or is_python_case(item):
            disarm(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """What is wrong with a file, without values that came from the environment."""
        report = yield
        redact(report)
        return report

    def pytest_sessionfinish(self) -> None:
        """Close every connection; one that cannot be closed takes no report with it."""
        for error in self.runtime.close():
            with suppress(Warning):  # Where warnings are errors.
                warnings.warn(
                    pytest.PytestWarning(visible(f"while closing: {raised_where(error)}")), stacklevel=1
                )


def _as_json(samples: list[Sample], report: pytest.TestReport) -> tuple[list[Sample], str]:
    """The samples, and their text; what is no JSON is an error of its case, and not of the session."""
    try:
        return samples, samples_to_json([sample.redacted() for sample in samples])
    except TypeError as error:
        message = f"what the kind measured is no JSON: {error}"
    report.outcome, report.longrepr = "failed", message
    bare = [Sample(one.suite, one.kind, one.id, "error", message=message) for one in samples]
    return bare, samples_to_json(bare)


def _is_verdict(item: CaseItem, call: pytest.CallInfo[None]) -> bool:
    """Whether an item that raised did so because its target answered and was wrong, and nothing else."""
    if call.when != "call" or _is_foreign(call):
        return False
    return not any(
        sample.outcome in ("error", "inconclusive") or _lacks_evidence_only(sample)
        for sample in item.stash.get(samples_key, [])
    )


def _lacks_evidence_only(sample: Sample) -> bool:
    wrong = [check.status for check in sample.checks if not check.passed]
    return wrong != [] and "failed" not in wrong


def _unknown_fixture(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> str | None:
    """What a file says wrongly, where pytest shows the function behind an item and all fixtures."""
    error = call.excinfo.value if call.excinfo is not None else None
    if not isinstance(item, CaseItem) or not isinstance(error, pytest.FixtureLookupError):
        return None
    case, name = item.cases[0], str(error.argname)
    if name not in case.fixtures:
        return None
    shown = AVAILABLE_FIXTURES.search(report.longreprtext)
    known = shown[1].split(", ") if shown else []
    message = f"fixture {name!r} not found{suggestion(name, known)}; pytest --fixtures lists what there is"
    suite, row = item.suite, item.suite.row_of(case)
    own = isinstance(row, dict) and name in (row.get("fixtures") or ())
    if suite.origin and not own:
        return f"{suite.origin}: {message}"
    problem = suite.document.problem(*case.keys, "fixtures", message=message)
    return item.runtime.described(DataFileError([problem]))


def _not_ready(item: pytest.Item, call: pytest.CallInfo[None]) -> BaseException | None:
    """Why the target of a case is not there."""
    error = call.excinfo.value if call.excinfo is not None else None
    if not isinstance(item, CaseItem) or not isinstance(error, NOT_READY):
        return None
    if isinstance(error, TargetStartError):
        error.origin = error.origin or item.suite.origin_of(item.cases[0])
    return error


def _cause(item: pytest.Item, call: pytest.CallInfo[None]) -> str:
    """What identifies an error that other cases have as well; empty for one of this case alone.

    A target says so itself. Whatever else keeps cases of a file from being set up, such as a fixture that
    raises, is the same where the same exception was raised in the same line.
    """
    error = call.excinfo.value if call.excinfo is not None else None
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


def _samples_of(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> list[Sample]:
    """The samples of an item, when this is the report that ends it: a call, or a set-up that failed."""
    if call.when == "teardown":
        return _of_failed_teardown(item, report)
    if call.when == "setup" and report.passed:
        return []
    if not isinstance(item, CaseItem):
        sample = python_sample(item, call, report)
        return [] if sample is None else [replace(sample, cause=_cause(item, call))]
    judged = item.stash.get(samples_key, [])
    if len(judged) == len(item.cases) and not _is_foreign(call):
        return judged
    # Judged cases of a batch keep their samples; of a batch that was judged whole, none can be believed.
    kept = {sample.id: sample for sample in judged} if len(judged) < len(item.cases) else {}
    return [kept.get(case.id) or _not_judged(item, case, call, report) for case in item.cases]


def _is_foreign(call: pytest.CallInfo[None]) -> bool:
    """Whether an item was ended by something else than its verdict."""
    as_judged = (CaseFailed, pytest.skip.Exception)
    return call.excinfo is not None and not isinstance(call.excinfo.value, as_judged)


def _not_judged(
    item: CaseItem, case: Case[Any], call: pytest.CallInfo[None], report: pytest.TestReport
) -> Sample:
    kind, is_known = item.runtime.kinds[item.suite.kind], _unknown_fixture(item, call, report) is None
    outcome: Outcome = "skipped" if report.skipped and not hasattr(report, "wasxfail") else "error"
    message = _first_line(call) if is_known else report.longreprtext
    return unasked(kind, item.suite, case, outcome, message, _cause(item, call))


def _of_failed_teardown(item: pytest.Item, report: pytest.TestReport) -> list[Sample]:
    """Cases whose tear-down failed did not pass: their samples, once more, as errors."""
    if not report.failed:
        return []
    lines = report.longreprtext.strip().splitlines() or ["no reason given"]
    message = f"{TEARDOWN_FAILED}: {lines[-1]}"
    return [judged_otherwise(sent, "error", message) for sent in item.stash.get(sent_key, [])]


def _first_line(call: pytest.CallInfo[None]) -> str:
    lines = str(call.excinfo.value).splitlines() if call.excinfo is not None else []
    return lines[0] if lines else ""


def _as_reported(samples: list[Sample], report: pytest.TestReport) -> list[Sample]:
    """The samples, with what marks made of their outcomes."""
    if hasattr(report, "wasxfail") and report.skipped:
        return [
            sample
            if sample.outcome in ("passed", "skipped")
            else judged_otherwise(sample, "xfailed", _expected_words(sample, report))
            for sample in samples
        ]
    if report.failed and all(sample.outcome == "passed" for sample in samples):
        # A strict mark expected a failure, and there was none.
        message = report.longreprtext.partition("\n")[0]
        return [judged_otherwise(sample, "failed", message) for sample in samples]
    return samples


def _expected_words(sample: Sample, report: pytest.TestReport) -> str:
    reason = getattr(report, "wasxfail", "")
    return "; ".join(
        part for part in (f"expected to fail: {reason}" if reason else "", sample.message) if part
    )


def _mark(
    item: pytest.Item, report: pytest.TestReport, samples: Sequence[Sample], inconclusive: Inconclusive
) -> None:
    outcome = worst([sample.outcome for sample in samples])
    setattr(report, OUTCOME_ATTRIBUTE, outcome)
    setattr(report, LABEL_ATTRIBUTE, next((sample.label for sample in samples if sample.label), ""))
    found = _properties(samples[0]) if len(samples) == 1 else _properties_of_batch(samples, outcome)
    item.user_properties.extend((name, str(value)) for name, value in found)
    if outcome == "wrong":
        # Like an expected failure: no report of a third party may count a wrong answer as passed.
        message = samples[0].message if len(samples) == 1 else batch_message(samples)
        report.outcome = "skipped"
        report.wasxfail = f"wrong, left to the gates: {message}"
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


def runs_whole_files(config: pytest.Config) -> bool:
    """Whether the items of a file all run in this process."""
    worker = getattr(config, "workerinput", None)
    return worker is None or worker.get("mcpeval_distribution") in ("loadfile", "loadscope")
