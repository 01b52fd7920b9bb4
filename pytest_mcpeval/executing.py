"""The side of a session that collects and runs items: a serial run, or one xdist worker."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from pytest_mcpeval.collection import CaseFailed, CaseItem, sample_key
from pytest_mcpeval.driving_plan import write_plan
from pytest_mcpeval.kinds.base import Case, Suite
from pytest_mcpeval.ledger import Selection, selection_of, selections_to_json
from pytest_mcpeval.python_cases import python_sample, python_selections
from pytest_mcpeval.runtime import Runtime
from pytest_mcpeval.samples import SAMPLE_ATTRIBUTE, Sample
from pytest_mcpeval.settings import Inconclusive

SELECTIONS_ATTRIBUTE = "mcpeval_selections"
OUTCOME_ATTRIBUTE = "mcpeval_outcome"
LABEL_ATTRIBUTE = "mcpeval_label"


sent_key = pytest.StashKey[Sample]()


class Executor:
    """Selects cases, runs calls ahead, and sends a sample along with the report of each case.

    ``whole_files`` says that a file's items all run in this process (a serial run, or a distribution by
    file); otherwise only the very next item is known to run here.
    """

    def __init__(self, runtime: Runtime, *, whole_files: bool, is_worker: bool) -> None:
        self.runtime = runtime
        self.is_worker = is_worker
        self._whole_files = whole_files
        self._items: list[pytest.Item] = []
        self._places: dict[tuple[str, str], int] = {}
        self._next: pytest.Item | None = None
        self._unsent_selections: str | None = None
        runtime.ahead.upcoming = self._upcoming

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which cases were selected, to travel with the first report."""
        if self.runtime.settings.plan is not None:
            write_plan(self.runtime, session.items, self.runtime.settings.plan)
        if session.config.option.collectonly:
            return
        self._items = session.items
        self._places = {
            (item.suite.key, item.case.id): index
            for index, item in enumerate(session.items)
            if isinstance(item, CaseItem)
        }
        listed = self.selections()
        self._unsent_selections = selections_to_json(listed) if listed else None

    def selections(self) -> list[Selection]:
        """What this process collected, and what of it is selected to run."""
        suites = sorted(self.runtime.suites, key=lambda suite: suite.key)
        chosen = [selection_of(suite, self._places.keys()) for suite in suites]
        return [*chosen, *python_selections(self._items)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Remember what comes next, for calls ahead."""
        self._next = nextitem

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Make the target of a case ready, unless pytest only shows what it would set up."""
        if isinstance(item, CaseItem) and not item.config.getoption("setupplan", False):
            item.prepare()

    def _upcoming(self, suite: Suite[Any], case: Case[Any], count: int) -> Iterable[Case[Any]]:
        if not self._whole_files:
            found = self._next
            return [found.case] if isinstance(found, CaseItem) and found.suite is suite and count else []
        start = self._places[suite.key, case.id] + 1
        following = islice(self._items, start, start + count)
        return [item.case for item in following if isinstance(item, CaseItem) and item.suite is suite]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the sample of a case on its report, as one JSON string."""
        report = yield
        sample = _sample_of(item, call, report)
        if sample is not None:
            sample = _as_reported(sample, report)
            item.stash[sent_key] = sample
            setattr(report, SAMPLE_ATTRIBUTE, sample.to_json())
            if call.when != "teardown":
                _mark(item, report, sample, self.runtime.settings.inconclusive)
        if self._unsent_selections is not None:
            setattr(report, SELECTIONS_ATTRIBUTE, self._unsent_selections)
            self._unsent_selections = None
        return report

    def pytest_sessionfinish(self) -> None:
        """Close every connection."""
        self.runtime.close()


def _sample_of(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Sample | None:
    """The sample of an item, when this is the report that ends its case: a call, or a set-up that failed."""
    if call.when == "teardown":
        return _of_failed_teardown(item, report)
    if call.when == "setup" and report.passed:
        return None
    if not isinstance(item, CaseItem):
        return python_sample(item, call, report)
    judged = item.stash.get(sample_key, None)
    as_judged = (CaseFailed, pytest.skip.Exception)
    if judged is not None and (call.excinfo is None or isinstance(call.excinfo.value, as_judged)):
        return judged
    return Sample(
        suite=item.suite.key,
        kind=item.suite.kind,
        id=item.case.id,
        outcome="skipped" if report.skipped and not hasattr(report, "wasxfail") else "error",
        message=_first_line(call),
        traits=dict(item.case.traits),
    )


def _of_failed_teardown(item: pytest.Item, report: pytest.TestReport) -> Sample | None:
    """A case whose tear-down failed did not pass: its sample, once more, as an error."""
    sent = item.stash.get(sent_key, None)
    if sent is None or not report.failed:
        return None
    lines = report.longreprtext.strip().splitlines() or ["no reason given"]
    return replace(sent, outcome="error", message=f"tear-down failed: {lines[-1]}")


def _first_line(call: pytest.CallInfo[None]) -> str:
    lines = str(call.excinfo.value).splitlines() if call.excinfo is not None else []
    return lines[0] if lines else ""


def _as_reported(sample: Sample, report: pytest.TestReport) -> Sample:
    """The sample, with what marks made of its outcome."""
    if hasattr(report, "wasxfail") and report.skipped and sample.outcome != "skipped":
        return replace(sample, outcome="xfailed", message=_expected_words(sample, report))
    if report.failed and sample.outcome == "passed":
        # A strict mark expected a failure, and there was none.
        return replace(sample, outcome="failed", message=report.longreprtext.partition("\n")[0])
    return sample


def _expected_words(sample: Sample, report: pytest.TestReport) -> str:
    reason = getattr(report, "wasxfail", "")
    return "; ".join(
        part for part in (f"expected to fail: {reason}" if reason else "", sample.message) if part
    )


def _mark(item: pytest.Item, report: pytest.TestReport, sample: Sample, inconclusive: Inconclusive) -> None:
    setattr(report, OUTCOME_ATTRIBUTE, sample.outcome)
    setattr(report, LABEL_ATTRIBUTE, sample.label)
    item.user_properties.extend((name, str(value)) for name, value in _properties(sample))
    report.user_properties = list(item.user_properties)
    if sample.outcome == "tolerated":
        # Like an expected failure: no report of a third party may count a wrong answer as passed.
        report.outcome = "skipped"
        report.wasxfail = f"tolerated: {sample.message}"
    elif sample.outcome == "inconclusive" and inconclusive == "skip" and report.failed:
        path, line, _ = item.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, report.longreprtext)


def _properties(sample: Sample) -> Iterable[tuple[str, object]]:
    yield "mcpeval_kind", sample.kind
    yield "mcpeval_outcome", sample.outcome
    for name in ("difficulty", "project", "tool"):
        if name in sample.traits:
            value = sample.traits[name]
            yield f"mcpeval_{name}", value if isinstance(value, str) else ", ".join(value)
    if sample.checks:
        yield "mcpeval_checks", f"{sum(check.passed for check in sample.checks)}/{len(sample.checks)} passed"
    if sample.run.get("processingTimeMs"):
        yield "mcpeval_latency_ms", round(sample.run["processingTimeMs"], 1)
    if sample.measured.get("confidence"):
        yield "mcpeval_confidence", sample.measured["confidence"]


def runs_whole_files(config: pytest.Config) -> bool:
    """Whether the items of a file all run in this process."""
    worker = getattr(config, "workerinput", None)
    return worker is None or worker.get("mcpeval_distribution") in ("loadfile", "loadscope")
