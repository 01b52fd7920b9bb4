"""The ``session`` kind: how much friction does a set of MCP servers cause an agent?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.headline import Headline, pass_rate
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.suite import Place, Suite
from pytest_mcpeval.kinds.session import baseline as baselines
from pytest_mcpeval.kinds.session import explain, gates, metrics, sampling, tables
from pytest_mcpeval.kinds.session.critic.findings import SEVERITIES
from pytest_mcpeval.kinds.session.critic.parsing import may_be_finding
from pytest_mcpeval.kinds.session.declaration import SessionDeclaration
from pytest_mcpeval.kinds.session.finalize import finalize
from pytest_mcpeval.kinds.session.folder import Claim, Folder, folder_names
from pytest_mcpeval.kinds.session.load import import_problems, load_suite
from pytest_mcpeval.kinds.session.run import EvaluationRun
from pytest_mcpeval.kinds.session.schema import SessionModel, SessionSettings
from pytest_mcpeval.kinds.session.spec import REPORT_ID, SessionSpec, SessionSuite
from pytest_mcpeval.loading import DataFileError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.scenario.checks import CheckRegistry
    from pytest_mcpeval.kinds.session.state import State
    from pytest_mcpeval.loading import Document

Session = Suite[SessionSpec]
SessionCase = Case[SessionSpec]


class SessionKind(SessionDeclaration, Kind[SessionSpec]):
    """Evaluations: scenarios that an agent carries out with the attached servers, and a critic's report."""

    settings_model = SessionSettings
    asks_once = True
    file_models: ClassVar[Mapping[str, type[BaseModel]]] = {"session": SessionModel}

    def __init__(self, checks: CheckRegistry) -> None:
        self.checks = checks
        self._runs: dict[str, EvaluationRun | TargetError] = {}

    measure = staticmethod(metrics.measure)
    measure_run = staticmethod(metrics.measure_run)
    tables = staticmethod(tables.tables)

    def is_divisible(self, suite: Session) -> bool:
        """Return False: an evaluation cannot be divided, since the critic reads all scenarios."""
        return False

    def load(self, document: Document, place: Place) -> SessionSuite:
        """The session in a document."""
        return load_suite(document, place, self.checks)

    def collected(self, suite: Session) -> None:
        """Import the functions that are to carry scenarios out, or to criticise them."""
        if problems := list(import_problems(_session(suite))):
            raise DataFileError(problems)

    def prepare(self, suite: Session, case: SessionCase, context: RunContext) -> None:
        """Open the evaluation; the state on disk may forbid it."""
        try:
            with self._run(_session(suite), context).opened(context):
                pass
        except TargetError as error:
            error.cause = error.cause or f"evaluation of {suite.key}"
            raise

    def _run(self, suite: SessionSuite, context: RunContext) -> EvaluationRun:
        """Return the evaluation of a file; a refusal is remembered for this run."""
        if suite.key not in self._runs:
            try:
                self._runs[suite.key] = self._claimed(suite, context)
            except TargetError as error:
                self._runs[suite.key] = error
        found = self._runs[suite.key]
        if isinstance(found, TargetError):
            raise found
        return found

    def _claimed(self, suite: SessionSuite, context: RunContext) -> EvaluationRun:
        options = context.options(self.name)
        keys = [other.key for other in context.suites if other.kind == self.name]
        try:
            earlier = options.earlier_of(suite.key)
            run_name = earlier.run_name if earlier else options.run_name(keys)
        except ValueError as error:
            raise TargetError(str(error)) from None
        name = folder_names(run_name, keys)[suite.key] if len(keys) > 1 else run_name
        folder = Folder(context.rootdir, earlier.name if earlier else name)
        context.target(("evaluation", folder), lambda: Claim(folder, options.run_id, options.pid))
        return EvaluationRun(suite, folder, replace(options, name=run_name))

    def ask(self, suite: Session, case: SessionCase, context: RunContext) -> State:
        """Carry out the scenarios up to this one, in order, and for the report ask the critic.

        Where items of one file go to several processes, the first of them carries out all that were
        selected, so that one process talks to the servers.
        """
        session = _session(suite)
        chosen = context.selected.get(suite.key)
        # Those that were not selected are never carried out.
        wanted = [scenario.id for scenario in session.scenarios if chosen is None or scenario.id in chosen]
        if context.has_whole_files and case.id in wanted:
            wanted = wanted[: wanted.index(case.id) + 1]
        run = self._run(session, context)
        state = run.execute(wanted, context)
        return finalize(run, context) if case.id == REPORT_ID else state

    def judge(self, suite: Session, case: SessionCase, answers: State, context: RunContext) -> Sample:
        """Return the sample of the scenario or the report, from the files on disk."""
        session = _session(suite)
        run = self._run(session, context)
        if case.id == REPORT_ID:
            return sampling.report_sample(session, case, answers, run.entries(), str(run.folder.report))
        execution = answers.execution_of(case.id)
        if execution is not None and execution.outcome is not None and execution.outcome.error:
            reason = execution.outcome.error
            raise TargetError(reason, cause=f"{suite.key}: {reason}")
        return sampling.scenario_sample(session, case, answers, run.entries())

    def headlines(
        self,
        suite: Suite[Any] | None,
        samples: Sequence[Sample],
        metrics: Mapping[str, Any],
        compared: Mapping[str, Any],
    ) -> list[Headline]:
        """The share of scenarios that passed, beside the findings that weigh most."""
        counts = metrics.get("findings") or {}
        grave = [f"{counts[name]} {name}" for name in SEVERITIES[:2] if counts.get(name)]
        return pass_rate(samples, beside=", ".join(grave))

    def explain(self, suite: Session, case: SessionCase, sample: Sample) -> str:
        """The calls of a scenario that did not pass."""
        return explain.explain(_session(suite), case, sample)

    def check_baseline(self, suite: Session) -> None:
        """The committed findings."""
        baselines.read(_session(suite))

    def gate_names(self, suite: Session) -> list[str]:
        """The gates over findings."""
        session = _session(suite)
        return gates.gate_names(session.settings.gates, has_baseline=baselines.read(session) is not None)

    def gates(self, suite: Session, samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Every gate, judged on the findings of the critic."""
        session = _session(suite)
        if not session.attached:
            reason = "not evaluated: no server is attached"
            return [GateResult(suite.key, name, "not_evaluated", reason) for name in self.gate_names(suite)]
        committed = None if blessing else baselines.read(session)
        dropped = [heading for heading in metrics.dropped_of(samples) if may_be_finding(heading)]
        findings = metrics.findings_of(samples)
        found = gates.judge_gates(session.key, session.settings.gates, findings, committed, dropped)
        found = gates.held_to_calls(found, samples)
        if blessing and dropped and session.settings.baseline is not None:
            found.append(gates.unfit_for_baseline(session.key, dropped))
        return found

    def baseline(self, suite: Session, samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """The findings, without their evidence."""
        session = _session(suite)
        if session.settings.baseline is None:
            return None
        content = baselines.content(session, samples, metrics.findings_of(samples) or [])
        return Path(session.settings.baseline), content

    def finalize(
        self, suite: Session, samples: Sequence[Sample], *, others_failed: Sequence[str] = ()
    ) -> list[str]:
        """What the evaluation found, how its scenarios ended, and in the last line where its report is."""
        return metrics.conclusion(samples)


def _session(suite: Session) -> SessionSuite:
    assert isinstance(suite, SessionSuite)
    return suite
