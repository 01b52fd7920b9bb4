"""Additional terminal output of a session: headers, outcomes, the summary, the verdict."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import pytest

from pytest_mcpeval.core.error_gates import raised_where
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.plugin.gate_reports import GATE_ATTRIBUTE
from pytest_mcpeval.plugin.item_reports import LABEL_ATTRIBUTE, OUTCOME_ATTRIBUTE
from pytest_mcpeval.plugin.items import CaseItem
from pytest_mcpeval.plugin.repeated_errors import NOT_ASKED
from pytest_mcpeval.plugin.session_end import Reporter
from pytest_mcpeval.reports import github, terminal
from pytest_mcpeval.text.visible import visible

NOT_EVALUATED_HINT = "exit status 1 by the ini key mcpeval_not_evaluated"


class TerminalOutput:
    """Shows what a `Reporter` knows."""

    def __init__(self, reporter: Reporter, config: pytest.Config) -> None:
        self._reporter = reporter
        self._runtime = reporter.runtime
        self._config = config
        self._has_headers = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.CollectReport | pytest.TestReport) -> Any:
        """Return words for outcomes that pytest does not know: wrong cases, cases in error, gates."""
        if hasattr(report, GATE_ATTRIBUTE):
            if report.when != "call":
                return "", "", ""
            # While gates are logged, an empty letter and word, since the progress counts items and a gate is
            # not one.
            word = "" if self._reporter.is_logging_gates else report.outcome.upper()
            return report.outcome, word[:1], word
        outcome = getattr(report, OUTCOME_ATTRIBUTE, None)
        if outcome == "wrong":
            word = getattr(report, LABEL_ATTRIBUTE) or "WRONG"
            return word.lower(), word[0].lower(), (word, {"yellow": True})
        if outcome == "inconclusive":
            return "inconclusive", "?", ("INCONCLUSIVE", {"yellow": True})
        label = getattr(report, LABEL_ATTRIBUTE, "")
        if outcome == "skipped" and label:
            return label.lower(), label[0].lower(), (label, {"yellow": True})
        if outcome == NOT_ASKED and report.failed:
            return "not asked", "n", ("NOT ASKED", {"red": True})
        if outcome == "error" and report.failed:
            return "error", "E", ("ERROR", {"red": True})
        return None

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """How the collected suites will be run, where their kinds have something to say."""
        suites = {item.suite.key: item.suite for item in items if isinstance(item, CaseItem)}
        return self._headers(suites.values())

    def _headers(self, suites: Iterable[Suite[Any]]) -> list[str]:
        by_kind: dict[str, list[Suite[Any]]] = {}
        for suite in suites:
            by_kind.setdefault(suite.kind, []).append(suite)
        lines = []
        for name, found in by_kind.items():
            try:
                lines.append(self._runtime.kinds[name].session_header(found))
            except Exception as error:
                lines.append(f"{name}: no header: {raised_where(error)}")
        return [visible(line) for line in lines if line]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        """The same with workers: nothing is collected here, and pytest asks for no lines."""
        terminal_reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if self._has_headers or terminal_reporter is None or self._config.get_verbosity() < 0:
            return
        self._has_headers = True
        selected = {selection.suite for selection in self._runtime.selections_of(ids)}
        for line in self._headers(suite for suite in self._runtime.suites if suite.key in selected):
            terminal_reporter.ensure_newline()
            terminal_reporter.write_line(line)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what no gate decided on, the tables, the gates, and where the reports are."""
        if (evaluation := self._reporter.evaluation) is None:
            return
        undecided = self._reporter.undecided(evaluation)
        terminal.count_tolerated(terminalreporter, undecided)
        terminal.print_undecided(terminalreporter, undecided)
        writer = self._reporter.writer
        reports = writer.line(self._runtime.settings.report_directory)
        terminal.print_summary(terminalreporter, evaluation, reports, writer.problems)
        if self._runtime.settings.github:
            for line in github.annotation_lines(evaluation, self._runtime.rootdir):
                terminalreporter.ensure_newline()
                terminalreporter.write_line(line)


class VerdictLine:
    """Prints the verdict below everything else that is said of a run."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, object, object]:
        """After the other sections, print the verdict and its reason."""
        result = yield
        if (found := self._reporter.evaluation) is not None:
            is_why = self._reporter.lacks_verdict and found.verdict == "not_evaluated"
            hint = NOT_EVALUATED_HINT if is_why else ""
            terminal.print_verdict(terminalreporter, found, hint)
        return result
