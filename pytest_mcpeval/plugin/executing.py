"""The side of a session that collects and runs items: a serial run, or one xdist worker."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress

import pytest

from pytest_mcpeval.core.error_gates import raised_where
from pytest_mcpeval.core.sample import SAMPLES_ATTRIBUTE, Sample, samples_to_json
from pytest_mcpeval.core.sample_store import Selection, selection_of, selections_to_json
from pytest_mcpeval.plugin.item_reports import as_reported, mark_report, put_into_words, samples_of, sent_key
from pytest_mcpeval.plugin.items import CaseItem
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.python_tests.cases import is_python_case, python_selections
from pytest_mcpeval.reports.redacted import disarm, redact
from pytest_mcpeval.text.visible import visible

SELECTIONS_ATTRIBUTE = "mcpeval_selections"


class Executor:
    """Notes which cases are selected, and sends their samples along with the report of each item."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._items: list[pytest.Item] = []
        self._unsent_selections: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Refuse several cases with the same node id: the answer of one would count for all."""
        counts = Counter(item.nodeid for item in items if isinstance(item, CaseItem) or is_python_case(item))
        for name, count in counts.items():
            if count > 1:
                message = f"{visible(name)} is the node id of {count} cases: give each a different id"
                report = pytest.CollectReport(name, "failed", message, [])
                session.config.hook.pytest_collectreport(report=report)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which cases were selected, to travel with the first report."""
        self._items = session.items
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
        """Yield suites that cannot be divided and of which a shard has only a part."""
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
        items = [item for item in self._items if isinstance(item, CaseItem)]
        selected = {(item.suite.key, case.id) for item in items for case in item.cases}
        return [*(selection_of(suite, selected) for suite in suites), *python_selections(self._items)]

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Make the target of a case ready, unless pytest only shows what it would set up."""
        if isinstance(item, CaseItem) and not item.config.getoption("setupplan", False):
            item.prepare()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the samples of an item on its report, as one JSON string."""
        report = yield
        if isinstance(item, CaseItem) and call.excinfo is not None:
            put_into_words(item, call, report)
        samples = samples_of(item, call, report)
        if samples:
            samples, text = _as_json(as_reported(samples, report), report)
            item.stash[sent_key] = samples
            setattr(report, SAMPLES_ATTRIBUTE, text)
            if call.when != "teardown":
                mark_report(item, report, samples, self.runtime.settings.inconclusive)
        if self._unsent_selections is not None:
            setattr(report, SELECTIONS_ATTRIBUTE, self._unsent_selections)
            self._unsent_selections = None
        redact(report)
        if isinstance(item, CaseItem) or is_python_case(item):
            disarm(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Redact problems of files."""
        report = yield
        redact(report)
        return report

    def pytest_sessionfinish(self) -> None:
        """Close every connection; a failure must not prevent reports."""
        for error in self.runtime.close():
            with suppress(Warning):  # Where warnings are errors.
                warnings.warn(
                    pytest.PytestWarning(visible(f"while closing: {raised_where(error)}")), stacklevel=1
                )


def _as_json(samples: list[Sample], report: pytest.TestReport) -> tuple[list[Sample], str]:
    """The samples, and their text; what is not JSON is an error of its case, and not of the session."""
    try:
        return samples, samples_to_json([sample.redacted() for sample in samples])
    except TypeError as error:
        message = f"what the kind measured is not JSON: {error}"
    report.outcome, report.longrepr = "failed", message
    bare = [Sample(one.suite, one.kind, one.id, "error", message=message) for one in samples]
    return bare, samples_to_json(bare)
