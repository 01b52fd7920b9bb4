"""Run an evaluation: write discovery and scope, carry out scenarios in order, with all state on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.session.execution import execute
from pytest_mcpeval.kinds.session.folder import Folder
from pytest_mcpeval.kinds.session.guard import Guard
from pytest_mcpeval.kinds.session.options import SessionOptions
from pytest_mcpeval.kinds.session.records import Budget, Scenario, TranscriptEntry
from pytest_mcpeval.kinds.session.redaction import redacted, redacted_data
from pytest_mcpeval.kinds.session.scoping import initial_state, limited, scoped
from pytest_mcpeval.kinds.session.spec import SessionSuite
from pytest_mcpeval.kinds.session.state import (
    BEFORE_EXECUTION,
    Execution,
    Outcome,
    State,
    StateFile,
    now,
    seconds_between,
)
from pytest_mcpeval.kinds.session.toolbox import Toolbox
from pytest_mcpeval.kinds.session.transcript import Transcript, call_count, read_entries
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.servers.errors import ServerConfigError, ServerStartError

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext


Opening = Literal["begin", "begin_anew", "go_on", "resume", "read"]
"""``go_on``: this run has begun it. ``resume``: an earlier run has. ``read``: it is complete and stays so."""


def opening(state: State | None, options: SessionOptions, scenarios_file: str) -> Opening:
    """Return what to do with the state on disk (None if there is none).

    Raises:
        TargetError: The state is not of this run, and the command line does not say what to do with it.
    """
    if state is None:
        return "begin"
    if state.config.scenarios_file not in (None, scenarios_file):
        raise TargetError(
            f"the evaluation {state.eval_name!r} belongs to {state.config.scenarios_file}: "
            "give this one another name with --mcpeval-name"
        )
    if state.run_id == options.run_id:
        return "go_on"
    if options.restart:
        return "begin_anew"
    if state.status == "complete":
        if options.resume:
            return "read"
        raise TargetError(
            f"the evaluation {state.eval_name!r} is complete and will not be overwritten: give this one "
            "another "
            "name with --mcpeval-name, show its results again with --mcpeval-resume, or start over with "
            "--mcpeval-restart, which keeps its files"
        )
    if options.resume:
        return "begin" if state.status in BEFORE_EXECUTION else "resume"
    if state.status == "scoped":
        return "begin"
    raise TargetError(
        f"the evaluation {state.eval_name!r} is unfinished, its status is {state.status!r}: go on with "
        f"--mcpeval-resume --mcpeval-name {state.eval_name}, or start over with --mcpeval-restart instead"
    )


class EvaluationRun:
    """One evaluation in one process. If several processes have the same evaluation, the first one works."""

    def __init__(self, suite: SessionSuite, folder: Folder, options: SessionOptions) -> None:
        self.suite = suite
        self.folder = folder
        self.options = options
        self._guard: Guard | None = None
        self._file: StateFile | None = None

    def entries(self) -> tuple[TranscriptEntry, ...]:
        """The transcript on disk."""
        return read_entries(self.folder.transcript)

    @contextmanager
    def opened(self, context: RunContext) -> Iterator[StateFile]:
        """The state, made ready to execute, with other processes kept out.

        Raises:
            TargetError: There is an evaluation of that name, and no option says what to do with it.
        """
        with self.folder.locked():
            self._file = self._open(context)
            yield self._file

    def _open(self, context: RunContext) -> StateFile:
        file = self._read()
        if self._file is not None and file is not None:
            if any(entry.status == "running" for entry in file.state.execution):
                # The process that began it held the lock, and has died since this process last looked.
                self._take_over(file, context, again=False)
            return file
        if file is None:
            self._refuse_leftovers()
        decision = opening(None if file is None else file.state, self.options, self.suite.key)
        if decision == "begin_anew":
            self.folder.set_aside()
        if file is None or decision in ("begin", "begin_anew"):
            return self._begin(context, file if decision == "begin" else None)
        if decision == "read":
            self._require_same_scenarios(file.state)
            self._require_no_other_budgets(file.state)
        else:
            self._take_over(file, context, again=decision == "resume")
        return file

    def _read(self) -> StateFile | None:
        """Return the state on disk; None without one, or if an unreadable one is to be started over."""
        if not self.folder.state.is_file():
            return None
        try:
            return StateFile.read(self.folder.state)
        except DataFileError:
            if self.options.restart and self._file is None:
                self.folder.set_aside()
                return None
            raise

    def _refuse_leftovers(self) -> None:
        left = [path.name for path in self.folder.of_evaluation if path.is_file() and path.stat().st_size]
        if left and self.options.restart:
            self.folder.set_aside()
        elif left:
            raise TargetError(
                f"{self.folder.relative(self.folder.path)} holds {' and '.join(left)} of an evaluation whose "
                "state.json is gone: name another evaluation with --mcpeval-name, keep the files and begin "
                "anew with --mcpeval-restart, or remove the folder"
            )

    def _begin(self, context: RunContext, earlier: StateFile | None) -> StateFile:
        """Phases 1 to 3, with the answers from the file instead of questions; each is saved."""
        state = initial_state(self.suite, self.folder.name, self.options)
        if earlier is not None:
            state = state.model_copy(update={"started": earlier.state.started})
        return scoped(StateFile.create(self.folder.state, state), self.suite, context.connection)

    def _take_over(self, file: StateFile, context: RunContext, *, again: bool) -> None:
        """Continue what a process that has ended began."""
        if file.state.status in BEFORE_EXECUTION:
            scoped(file, self.suite, context.connection)
            return
        self._require_same_scenarios(file.state)
        if file.state.status == "executing":
            idle = seconds_between(file.state.last_updated, now())
            file.update(
                interrupted_seconds=file.state.interrupted_seconds + idle,
                execution=tuple(_settled(file.state, self.entries(), again=again)),
                config=limited(file.state.config, self.suite.given_budgets),
                **({"resumed": (*file.state.resumed, now())} if again else {}),
            )
        else:
            self._require_no_other_budgets(file.state)
        if again:
            file.update(run_id=self.options.run_id)

    def _require_same_scenarios(self, state: State) -> None:
        if state.config.scenarios_digest != self.suite.digest:
            raise TargetError(
                f"{self.suite.key} has other scenarios or dispositions than the evaluation "
                f"{state.eval_name!r} began with: {_way_out(state)}"
            )

    def _require_no_other_budgets(self, state: State) -> None:
        """Refuse budgets on the command line if all scenarios are over, since they would have no effect."""
        if limited(state.config, self.suite.given_budgets) != state.config:
            raise TargetError(
                f"the scenarios of the evaluation {state.eval_name!r} are over, so another budget has no "
                f"effect on them: leave --mcpeval-call-budget and --mcpeval-wallclock-budget out, "
                f"or {_way_out(state)}"
            )

    def execute(self, wanted: Sequence[str], context: RunContext) -> State:
        """Carry out those of the wanted scenarios that are not over, in the order of the file."""
        with self.opened(context) as file:
            if not self.suite.attached or file.state.status not in ("scoped", "executing"):
                return file.state
            if file.state.status == "scoped":
                file.update(status="executing", session_started=now())
            for scenario in self.suite.scenarios:
                if scenario.id in wanted and not _is_over(file.state, scenario.id):
                    self._carry_out(scenario, file, context)
            if all(_is_over(file.state, scenario.id) for scenario in self.suite.scenarios):
                file.update(status="critiquing", session_ended=now())
            return file.state

    def _carry_out(self, scenario: Scenario, file: StateFile, context: RunContext) -> None:
        guard = self._guard_on(file.state, context)
        count = call_count(self.entries(), scenario.id)
        file.set_execution(
            Execution(scenario_id=scenario.id, status="running", call_count=count, started=now())
        )
        try:
            if not guard.wallclock_exceeded():
                # A target server of the scenario does not start, so nothing could be asked.
                for name in scenario.targets_mcps:
                    context.connection(self.suite.attached[name].definition)
            outcome = execute(scenario, Toolbox(guard, scenario.id), fixtures=context.fixtures)
        except (TargetError, ServerStartError, ServerConfigError) as error:
            file.set_execution(_failed(file.state, scenario.id, redacted(str(error))))
            return
        file.set_execution(
            Execution(
                scenario_id=scenario.id,
                status=outcome.status,
                call_count=outcome.call_count,
                abort_reason=outcome.abort_reason,
                started=outcome.started,
                ended=outcome.ended,
                outcome=Outcome(
                    answer=outcome.answer,
                    checks=tuple(redacted_data(vars(check)) for check in outcome.checks),
                ),
            )
        )

    def _guard_on(self, state: State, context: RunContext) -> Guard:
        if self._guard is None:
            assert state.session_started is not None, "execution comes first"
            # Time in which no process worked on the evaluation does not count.
            idle = timedelta(seconds=state.interrupted_seconds)
            self._guard = Guard(
                servers={name: found.definition for name, found in self.suite.attached.items()},
                scopes=self.suite.scopes.values(),
                transcript=Transcript(self.folder.transcript),
                budget=Budget(
                    session_started=datetime.fromisoformat(state.session_started) + idle,
                    calls_per_scenario=state.config.call_budget_per_scenario,
                    wallclock_minutes=state.config.wallclock_budget_minutes,
                ),
                connect=context.connection,
                on_count=self._count,
            )
        return self._guard

    def _count(self, scenario: str, count: int) -> None:
        assert self._file is not None, "calls are made while the state is open"
        entry = self._file.state.execution_of(scenario)
        if entry is not None:
            self._file.set_execution(entry.model_copy(update={"call_count": count}))


def _way_out(state: State) -> str:
    if state.status == "complete":
        return "begin another one with --mcpeval-name, or start this one over with --mcpeval-restart"
    return "start it over with --mcpeval-restart"


def _is_over(state: State, scenario: str) -> bool:
    entry = state.execution_of(scenario)
    return entry is not None and entry.status != "running"


def _failed(state: State, scenario: str, error: str) -> Execution:
    entry = state.execution_of(scenario)
    assert entry is not None, "it was begun"
    changes = {"status": "aborted", "ended": now(), "outcome": Outcome(error=error)}
    return entry.model_copy(update=changes)


def _settled(state: State, entries: Sequence[TranscriptEntry], *, again: bool) -> Iterator[Execution]:
    """The entries of scenarios, after the process that wrote them has died.

    With ``again``, a later run carries out once more what was interrupted, or could not be carried out.
    Otherwise the interrupted one is what killed the process, and is not tried again.
    """
    for entry in state.execution:
        count = call_count(entries, entry.scenario_id)
        if entry.status == "running":
            if not again:
                error = "the process that carried it out died"
                yield _failed(state, entry.scenario_id, error).model_copy(update={"call_count": count})
        elif not (again and entry.outcome is not None and entry.outcome.error):
            yield entry
