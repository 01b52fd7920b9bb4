"""The ``session`` kind: how much friction does a set of MCP servers cause an agent?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.kind import Case, Kind, Place, Suite, TargetError
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.kinds.session.declaration import SessionDeclaration
from pytest_mcpeval.kinds.session.load import load_suite
from pytest_mcpeval.kinds.session.schema import SessionModel, SessionSettings
from pytest_mcpeval.kinds.session.spec import REPORT_ID, SessionSpec, SessionSuite
from pytest_mcpeval.loading import DataFileError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.scenario.checks import CheckRegistry
    from pytest_mcpeval.kinds.session.run import EvaluationRun, Surroundings
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

    def is_divisible(self, suite: Session) -> bool:
        """An evaluation is one: the critic reads what all scenarios did."""
        return False

    def load(self, document: Document, place: Place) -> SessionSuite:
        """The session in a document."""
        return load_suite(document, place, self.checks)

    def collected(self, suite: Session) -> None:
        """Import the functions that are to carry scenarios out, or to criticise them."""
        from pytest_mcpeval.kinds.session.load import import_problems

        if problems := list(import_problems(_session(suite))):
            raise DataFileError(problems)

    def prepare(self, suite: Session, case: SessionCase, context: RunContext) -> None:
        """Open the evaluation: what is on disk may forbid it."""
        session = _session(suite)
        try:
            with self._run(session, context).opened(_surroundings(context)):
                pass
        except TargetError as error:
            error.cause = error.cause or f"evaluation of {suite.key}"
            raise

    def _run(self, suite: SessionSuite, context: RunContext) -> EvaluationRun:
        """The evaluation of a file; one that was refused stays so in this run."""
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
        from pytest_mcpeval.kinds.session.folder import Claim, Folder, folder_names
        from pytest_mcpeval.kinds.session.run import EvaluationRun

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
        from pytest_mcpeval.kinds.session.finalize import finalize

        session = _session(suite)
        run, around = self._run(session, context), _surroundings(context)
        state = run.execute(_wanted(session, case, context), around)
        return finalize(run, around) if case.id == REPORT_ID else state

    def judge(self, suite: Session, case: SessionCase, answers: State, context: RunContext) -> Sample:
        """What is on disk of the scenario, or of the report."""
        from pytest_mcpeval.kinds.session.sampling import report_sample, scenario_sample

        session = _session(suite)
        run = self._run(session, context)
        if case.id == REPORT_ID:
            return report_sample(session, case, answers, run.entries(), str(run.folder.report))
        execution = answers.execution_of(case.id)
        if execution is not None and execution.outcome is not None and execution.outcome.error:
            told = execution.outcome.error
            raise TargetError(told, cause=f"{suite.key}: {told}")
        return scenario_sample(session, case, answers, run.entries())

    def explain(self, suite: Session, case: SessionCase, sample: Sample) -> str:
        """The calls of a scenario that did not pass."""
        from pytest_mcpeval.kinds.session.explain import explain

        return explain(_session(suite), case, sample)

    def measure(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Scenarios, calls and findings."""
        from pytest_mcpeval.kinds.session.metrics import measure

        return measure(samples)

    def measure_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """The name of the evaluation, and times."""
        from pytest_mcpeval.kinds.session.metrics import measure_run

        return measure_run(samples)

    def check_baseline(self, suite: Session) -> None:
        """The committed findings."""
        from pytest_mcpeval.kinds.session.baseline import read

        read(_session(suite))

    def gate_names(self, suite: Session) -> list[str]:
        """The gates over findings."""
        from pytest_mcpeval.kinds.session.baseline import read
        from pytest_mcpeval.kinds.session.gates import gate_names

        session = _session(suite)
        return gate_names(session.settings.gates, has_baseline=read(session) is not None)

    def gates(self, suite: Session, samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Every gate, judged on the findings of the critic."""
        from pytest_mcpeval.kinds.session.baseline import read
        from pytest_mcpeval.kinds.session.critic.parsing import may_be_finding
        from pytest_mcpeval.kinds.session.gates import held_to_calls, judge_gates, unfit_for_baseline
        from pytest_mcpeval.kinds.session.metrics import dropped_of, findings_of

        session = _session(suite)
        if not session.attached:
            reason = "not evaluated: no server is attached"
            return [GateResult(suite.key, name, "not_evaluated", reason) for name in self.gate_names(suite)]
        committed = None if blessing else read(session)
        dropped = [heading for heading in dropped_of(samples) if may_be_finding(heading)]
        found = judge_gates(session.key, session.settings.gates, findings_of(samples), committed, dropped)
        found = held_to_calls(found, samples)
        if blessing and dropped and session.settings.baseline is not None:
            found.append(unfit_for_baseline(session.key, dropped))
        return found

    def baseline(self, suite: Session, samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """The findings, without their evidence."""
        from pytest_mcpeval.kinds.session.baseline import content
        from pytest_mcpeval.kinds.session.metrics import findings_of

        session = _session(suite)
        if session.settings.baseline is None:
            return None
        return Path(session.settings.baseline), content(session, samples, findings_of(samples) or [])

    def tables(self, samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
        """Findings by severity, and what servers cost."""
        from pytest_mcpeval.kinds.session.tables import tables

        return tables(samples)

    def finalize(
        self, suite: Session, samples: Sequence[Sample], *, others_failed: Sequence[str] = ()
    ) -> list[str]:
        """What the evaluation found, how its scenarios ended, and in the last line where its report is."""
        from pytest_mcpeval.kinds.session.metrics import conclusion

        return conclusion(samples)


def _session(suite: Session) -> SessionSuite:
    assert isinstance(suite, SessionSuite)
    return suite


def _surroundings(context: RunContext) -> Surroundings:
    from pytest_mcpeval.kinds.session.run import Surroundings

    return Surroundings(context.connection, context.fixtures)


def _wanted(suite: SessionSuite, case: SessionCase, context: RunContext) -> list[str]:
    """The scenarios to carry out before this case is judged; those that were not selected never are."""
    chosen = context.selected.get(suite.key)
    ids = [planned.id for planned in suite.scenarios if chosen is None or planned.id in chosen]
    if not context.has_whole_files or case.id not in ids:
        return ids
    return ids[: ids.index(case.id) + 1]
