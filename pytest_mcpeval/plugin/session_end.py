"""Collect samples, judge and report: in a serial run, or in the controller of workers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest

from pytest_mcpeval.config.settings import ONLY_SHOWING
from pytest_mcpeval.core.declaration import ReportFile
from pytest_mcpeval.core.evaluation import Evaluation
from pytest_mcpeval.core.judging_input import SessionState
from pytest_mcpeval.core.sample import SAMPLES_ATTRIBUTE, Sample
from pytest_mcpeval.core.sample_store import SampleStore, selections_to_json
from pytest_mcpeval.core.verdict import exit_status_words
from pytest_mcpeval.plugin.executing import SELECTIONS_ATTRIBUTE
from pytest_mcpeval.plugin.gate_reports import GATE_ATTRIBUTE, PHASES, reports_of
from pytest_mcpeval.plugin.item_reports import OUTCOME_ATTRIBUTE
from pytest_mcpeval.plugin.left_out import look_alikes, where_data_files_are
from pytest_mcpeval.plugin.progress import Progress
from pytest_mcpeval.plugin.repeated_errors import RepeatedErrors
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.reports import github, shard
from pytest_mcpeval.reports.failure import FailureText
from pytest_mcpeval.reports.files import ReportWriter
from pytest_mcpeval.reports.redacted import redact

UNDECIDED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
"""The exit statuses that a red verdict changes."""


class Reporter:
    """Fills the store while the session runs; judges it, logs the gates and writes reports when it ends.

    Raises:
        pytest.UsageError: No report can be written where it is wanted; said now, not after the run.
    """

    def __init__(self, runtime: Runtime, config: pytest.Config) -> None:
        self.runtime = runtime
        self.config = config
        self.store = SampleStore()
        self._evaluation: Evaluation | None = None
        self._finishing: pytest.Session | None = None
        self._started = time.time()
        self._worker_died = False
        self._crashed: set[str] = set()
        self._uncollected: set[str] = set()
        self._ids_of_workers: Sequence[str] = ()
        self.is_logging_gates = False
        self._repeated_errors = RepeatedErrors()
        step_summary = github.step_summary() if runtime.settings.github else None
        self.writer = ReportWriter(config.invocation_params.dir, step_summary)
        self._left_to_gates: dict[str, tuple[pytest.TestReport, Sequence[Sample]]] = {}
        self._others_failed: set[str] = set()
        self._state = SessionState()
        if (directory := runtime.settings.report_directory) is not None:
            _make_writable(directory, "--mcpeval-report")
            if not _only_shows(config):
                _remove_shard(directory / shard.SHARD_FILE)
        if (history := runtime.settings.history_file) is not None:
            _make_writable(history.parent, "--mcpeval-history")
        for file in self._files_of_kinds():
            _make_writable(file.path.parent, file.option)

    def pytest_sessionstart(self) -> None:
        """Show how far the session is, where there is a terminal."""
        terminal_reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal_reporter is not None and self.config.get_verbosity() <= 0:
            self.config.pluginmanager.register(Progress(self.runtime, terminal_reporter), "mcpeval-progress")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the samples off a report, and colour its text."""
        redact(report)
        selections = getattr(report, SELECTIONS_ATTRIBUTE, None)
        if selections is not None:
            self.store.add_selections(selections)
        samples = getattr(report, SAMPLES_ATTRIBUTE, None)
        if samples is not None:
            found = self.store.add_samples(samples)
            if getattr(report, OUTCOME_ATTRIBUTE, None) == "wrong":
                self._left_to_gates[report.nodeid] = report, found
                if (
                    terminal_reporter := self.config.pluginmanager.get_plugin("terminalreporter")
                ) is not None:
                    # pytest counts what it knows of when a category is new: "wrong" is, a moment from now.
                    terminal_reporter.stats.setdefault("tolerated", [])
            self._repeated_errors.shorten(report, found)
            if isinstance(report.longrepr, str):
                path, line, _ = report.location
                place = (path, 0 if line is None else line + 1)
                report.longrepr = FailureText(report.longrepr, *place)  # type: ignore[assignment]
        elif report.when not in PHASES and not _was_interrupted(getattr(report, "node", None)):
            # What xdist reports of an item whose worker died has no phase.
            self._crashed.add(report.nodeid)
        elif report.failed and not hasattr(report, GATE_ATTRIBUTE):
            # A case that passed may fail once more, when it is torn down.
            step = f" ({report.when})" if report.when in ("setup", "teardown") else ""
            self._others_failed.add(f"{report.nodeid}{step}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected: such a run has no verdict on quality."""
        redact(report)
        if report.failed:
            self._uncollected.add(report.nodeid or ".")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        """Note what the workers will run, for a session that ends before their first report."""
        self._ids_of_workers = ids

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object | None) -> None:
        """Note that a worker died: what it left undone is missing, not left out on purpose.

        One that was interrupted ended as a serial run does, though xdist calls that an error.
        """
        if not _was_interrupted(node):
            self._worker_died = self._worker_died or error is not None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last item, log one report for each gate, so that every consumer of reports sees them."""
        result = yield
        if not _only_shows(session.config):
            self._finish(session, is_complete=True)
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge a session that ended early (``-x``, Ctrl-C); write reports when all others have finished."""
        if _only_shows(session.config):
            return (yield)
        if self._evaluation is None:
            self._finish(session, is_complete=False)
        if self._is_red and session.exitstatus in UNDECIDED:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.runtime.settings.shard:
            # There are more shards than tests.
            session.exitstatus = pytest.ExitCode.OK
        self._finishing = session
        try:
            return (yield)
        except pytest.exit.Exception as error:
            session.exitstatus = session.exitstatus if error.returncode is None else error.returncode
            raise
        except BaseException:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            raise
        finally:
            self._end(session)

    def _end(self, session: pytest.Session) -> None:
        """Write the reports, with the exit status that the others left."""
        self._state = replace(self._state, exit_status=self._unexplained_exit_status(session))
        self._evaluation, self._finishing = self.evaluation, None
        self._write_reports()
        if self.writer.problems and session.exitstatus in UNDECIDED:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def evaluation(self) -> Evaluation | None:
        """The session, judged, and held to its exit status while others finish it; None before its end."""
        found = self._evaluation
        status = 0 if self._finishing is None else self._unexplained_exit_status(self._finishing)
        if found is None or not status or found.verdict != "passed":
            return found
        return replace(found, verdict="error", reason=f"{exit_status_words(status)}, {found.reason}")

    def _unexplained_exit_status(self, session: pytest.Session) -> int:
        """The exit status, if it is that of a failure for which no test or gate is the reason; else 0."""
        status = session.exitstatus
        is_explained = self._is_red and status == pytest.ExitCode.TESTS_FAILED
        return 0 if is_explained or status in (*UNDECIDED, pytest.ExitCode.INTERRUPTED) else int(status)

    @property
    def _is_red(self) -> bool:
        found = self._evaluation
        return found is not None and (found.verdict in ("failed", "error") or self.lacks_verdict)

    @property
    def lacks_verdict(self) -> bool:
        """Whether the run fails because it is partial."""
        found = self._evaluation
        return found is not None and found.is_partial and self.runtime.settings.fails_without_verdict

    def _finish(self, session: pytest.Session, *, is_complete: bool) -> None:
        """Judge what came back, and log a report for each gate."""
        if not self.store.selections:
            # No report contained the selected cases: the session ended before the first one.
            executor = self.config.pluginmanager.get_plugin("mcpeval-executor")
            ids = self._ids_of_workers
            found = executor.selections() if executor else self.runtime.selections_of(ids)
            self.store.add_selections(selections_to_json(found))
        self._repeated_errors.count_others()
        maxfail: int = session.config.getvalue("maxfail")
        has_reached_maxfail = bool(maxfail) and session.testsfailed >= maxfail
        self._state = SessionState(
            stopped=not is_complete and (not self._worker_died or has_reached_maxfail),
            failures=session.testsfailed,
            others=tuple(sorted(self._others_failed)),
            crashed=frozenset(self._crashed),
            uncollected=tuple(sorted(self._uncollected)),
            lost_worker=self._worker_died and self._lacks_cases(),
        )
        evaluation = self.runtime.evaluate(self.store, self._state)
        notes = [*evaluation.notes, *self._left_out_notes(evaluation, is_complete)]
        self._evaluation = replace(evaluation, notes=notes).redacted()
        self.is_logging_gates = True
        for report in chain.from_iterable(map(reports_of, self._evaluation.gates)):
            self.config.hook.pytest_runtest_logreport(report=report)
        self.is_logging_gates = False

    def undecided(self, evaluation: Evaluation) -> list[pytest.TestReport]:
        """The reports of wrong cases on which no gate decided."""
        cases = {
            (suite.key, case)
            for suite in evaluation.suites
            for case in (*suite.undecided, *suite.for_information)
        }
        return [
            report
            for report, samples in self._left_to_gates.values()
            if any((sample.suite, sample.id) in cases for sample in samples)
        ]

    def _left_out_notes(self, evaluation: Evaluation, is_complete: bool) -> Iterator[str]:
        """What looks like data files and was not run; of a run without any case, where it looked for them."""
        # Workers in which nothing runs do not report what they collected.
        has_selections = bool(self.store.selections) or self.config.pluginmanager.has_plugin(
            "mcpeval-executor"
        )
        is_known = is_complete and has_selections and not self._uncollected
        if line := look_alikes(self.runtime, self.config, self.store.selections if is_known else None):
            yield line
        if not evaluation.suites and not self._uncollected:
            yield where_data_files_are(self.runtime)

    def _lacks_cases(self) -> bool:
        """Return whether cases are missing: another worker may have run the cases of a dead one."""
        found = self.store.selections.values()
        if not found and not self._ids_of_workers:
            # No worker lived long enough to report what there is.
            return True
        return bool(self._crashed) or any(
            set(selection.selected) - {sample.id for sample in self.store.samples_of(selection)}
            for selection in found
        )

    def _write_reports(self) -> None:
        """Write each report that can be written: what a disk refuses must not cost the summary."""
        evaluation, directory = self._evaluation, self.runtime.settings.report_directory
        if evaluation is None:
            return
        started = datetime.fromtimestamp(self._started, UTC).isoformat(timespec="seconds")
        seconds = time.time() - self._started
        for file in self._files_of_kinds():
            self.writer.write(file.path, file.text(evaluation))
        hook, settings = self.config.hook.pytest_mcpeval_report, self.runtime.settings
        suites = self.runtime.suite_runs(self.store)
        points = self.writer.add_to_history(
            settings.history_file,
            evaluation,
            suites,
            self.runtime.kinds.declarations,
            settings.rootdir,
            started,
        )
        self.writer.write_report(evaluation, hook, directory, started, seconds, points)
        if directory is not None and settings.shard:
            text = shard.text(suites, self._state, settings, started, seconds)
            self.writer.write(directory / shard.SHARD_FILE, text)

    def _files_of_kinds(self) -> list[ReportFile]:
        shapes = self.runtime.kinds.declarations.values()
        return [file for one in shapes for file in one.report_files(self.runtime.options(one.name))]


def _only_shows(config: pytest.Config) -> bool:
    """Whether no case runs: pytest lists items, or what it sets up for them."""
    return any(config.getoption(name, False) for name in ONLY_SHOWING)


def _was_interrupted(worker: object) -> bool:
    status = getattr(worker, "workeroutput", {}).get("exitstatus")
    return bool(status == pytest.ExitCode.INTERRUPTED)


def _make_writable(directory: Path, option: str) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise pytest.UsageError(
            f"{option}: cannot write into {directory}: {error.strerror or error}. "
            "Name a directory that you can write"
        ) from None


def _remove_shard(path: Path) -> None:
    """Remove what an earlier shard left: a run that is killed must not be taken for it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise pytest.UsageError(
            f"--mcpeval-report: cannot remove {path}: {error.strerror or error}"
        ) from None
