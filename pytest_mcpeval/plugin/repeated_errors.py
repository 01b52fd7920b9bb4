"""Show an error that keeps several cases from being asked only once in full."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.plugin.item_reports import OUTCOME_ATTRIBUTE
from pytest_mcpeval.reports.failure import FailureText

NOT_ASKED = "not_asked"
"""The outcome of a report in error whose cause another report shows."""


class RepeatedErrors:
    """Shortens all reports of an error but the first.

    In the process that shows them, and not where an error arises: not every report is shown, such as that of
    an expected failure, and what arises in each of several workers is shown once.
    """

    def __init__(self) -> None:
        self._reports: dict[str, list[pytest.TestReport]] = {}

    def shorten(self, report: pytest.TestReport, samples: Sequence[Sample]) -> None:
        """Shorten an error whose cause another report shows in full: this case was not asked."""
        causes = {sample.cause for sample in samples}
        if len(causes) > 1 or not (cause := causes.pop()) or not report.failed:
            return
        reports = self._reports.setdefault(cause, [])
        reports.append(report)
        if len(reports) > 1:
            setattr(report, OUTCOME_ATTRIBUTE, NOT_ASKED)
            report.longrepr = f"{samples[0].message}\nnot asked: {reports[0].nodeid} has the whole error"

    def count_others(self) -> None:
        """Say below each error how many more cases it kept from being asked."""
        for first, *others in self._reports.values():
            if not others:
                continue
            were = "was" if len(others) == 1 else "were"
            line = f"{counted(len(others), 'more case')} {were} not asked because of this error"
            if isinstance(first.longrepr, FailureText):
                crash = first.longrepr.reprcrash
                text = f"{first.longrepr}\n\n{line}"
                first.longrepr = FailureText(text, crash.path, crash.lineno)
            elif (add_section := getattr(first.longrepr, "addsection", None)) is not None:
                add_section("mcpeval", line)
