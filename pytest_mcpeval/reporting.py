"""The side of a session that gathers, judges and reports: a serial run, or the controller of xdist workers."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from pytest_mcpeval.executing import (
    LABEL_ATTRIBUTE,
    OUTCOME_ATTRIBUTE,
    SAMPLE_ATTRIBUTE,
    SELECTIONS_ATTRIBUTE,
)
from pytest_mcpeval.gates import GateResult
from pytest_mcpeval.judging import Evaluation, SessionState, evaluate
from pytest_mcpeval.ledger import Ledger
from pytest_mcpeval.reports import json_report, markdown, terminal
from pytest_mcpeval.reports.failure import FailureText
from pytest_mcpeval.runtime import Runtime

GATE_ATTRIBUTE = "mcpeval_gate"

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class RunFacts:
    """What differs between runs of the same thing."""

    started: str
    seconds: float


class Reporter:
    """Fills the ledger while the session runs; judges it, logs the gates and writes reports when it ends."""

    def __init__(self, runtime: Runtime, config: pytest.Config) -> None:
        self.runtime = runtime
        self.config = config
        self.ledger = Ledger()
        self.evaluation: Evaluation | None = None
        self._started = time.time()
        self._worker_died = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the sample off a report, and colour its text."""
        selections = getattr(report, SELECTIONS_ATTRIBUTE, None)
        if selections is not None:
            self.ledger.add_selections(selections)
        sample = getattr(report, SAMPLE_ATTRIBUTE, None)
        if sample is not None:
            self.ledger.add_sample(sample)
            if isinstance(report.longrepr, str):
                report.longrepr = FailureText(report.longrepr)  # type: ignore[assignment]

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.CollectReport | pytest.TestReport) -> Any:
        """Words for outcomes pytest has none for: tolerated cases, cases in error, gates."""
        gate: GateResult | None = getattr(report, GATE_ATTRIBUTE, None)
        if gate is not None:
            # An empty letter and word: the progress counts items, and a gate is none.
            return report.outcome, "", ""
        outcome = getattr(report, OUTCOME_ATTRIBUTE, None)
        if outcome == "tolerated":
            word = getattr(report, LABEL_ATTRIBUTE) or "TOLERATED"
            return word.lower(), word[0].lower(), (word, {"yellow": True})
        if outcome == "error" and report.failed:
            return "error", "E", ("ERROR", {"red": True})
        return None

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object | None) -> None:
        """Note that a worker died: what it left undone is missing, not left out on purpose."""
        self._worker_died = self._worker_died or error is not None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last item, log one report for each gate, so that every consumer of reports sees them."""
        result = yield
        if not session.config.option.collectonly:
            self._finish(session, stopped=False)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge a session that ended early (``-x``, Ctrl-C); write the reports."""
        if session.config.option.collectonly:
            return
        if self.evaluation is None:
            self._finish(session, stopped=not self._worker_died)
        self._write_reports()

    def _finish(self, session: pytest.Session, *, stopped: bool) -> None:
        state = SessionState(stopped=stopped, failures=session.testsfailed)
        self.evaluation = evaluate(self.runtime, self.ledger, state)
        for gate in self.evaluation.gates:
            self._log(gate)

    def _log(self, gate: GateResult) -> None:
        hook = self.config.hook
        nodeid = f"{gate.suite}::gates::{gate.name}"
        location = (gate.suite, None, f"gates::{gate.name}")
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for when in ("setup", "call", "teardown"):
            hook.pytest_runtest_logreport(report=_gate_report(gate, nodeid, location, when))
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)

    def _write_reports(self) -> None:
        directory = self.runtime.settings.report_directory
        if directory is None or self.evaluation is None:
            return
        facts = RunFacts(_timestamp(self._started), time.time() - self._started)
        json_report.write(directory / "report.json", self.evaluation, facts.started, facts.seconds)
        markdown.write(directory / "report.md", self.evaluation, facts.started, facts.seconds)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the tables, the gates, and where the reports are."""
        if self.evaluation is not None:
            terminal.print_summary(terminalreporter, self.evaluation, self.runtime.settings.report_directory)


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _gate_report(
    gate: GateResult, nodeid: str, location: tuple[str, None, str], when: Literal["setup", "call", "teardown"]
) -> pytest.TestReport:
    outcome: Outcome = "passed"
    longrepr: Any = None
    if when == "call":
        outcome = {"passed": "passed", "not_evaluated": "skipped"}.get(gate.verdict, "failed")  # type: ignore[assignment]
        if outcome == "skipped":
            longrepr = (gate.suite, 0, gate.message)
        elif outcome == "failed":
            longrepr = FailureText(f"gate {gate.name} of {gate.suite} {gate.verdict}: {gate.message}")
    report = pytest.TestReport(
        nodeid=nodeid,
        location=location,
        keywords={},
        outcome=outcome,
        longrepr=longrepr,
        when=when,
        user_properties=[("mcpeval_gate", gate.name), ("mcpeval_verdict", gate.verdict)],
    )
    setattr(report, GATE_ATTRIBUTE, gate)
    return report
