"""The ``scenario`` kind: do the tools of this MCP server answer well?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_camel

from pytest_mcpeval.core.baseline import digest_of, read_baseline
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.suite import Place, Suite
from pytest_mcpeval.kinds.scenario import gates, metrics
from pytest_mcpeval.kinds.scenario.declaration import ScenarioDeclaration
from pytest_mcpeval.kinds.scenario.explain import explain
from pytest_mcpeval.kinds.scenario.load import load_suite
from pytest_mcpeval.kinds.scenario.placeholders import has_opening, require_environment
from pytest_mcpeval.kinds.scenario.run import Answer, ask, judge
from pytest_mcpeval.kinds.scenario.schema import FOREIGN_KEYS, GatesModel, ScenarioSettings
from pytest_mcpeval.kinds.scenario.spec import ScenarioSpec
from pytest_mcpeval.kinds.scenario.tables import tables
from pytest_mcpeval.loading import DataFileError

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.scenario.checks import CheckRegistry
    from pytest_mcpeval.loading import Document
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.definitions import ServerDefinition

PACING_AND_GATES = frozenset({"gates", "baseline", "concurrency"})

Scenario = Suite[ScenarioSpec]
ScenarioCase = Case[ScenarioSpec]


class ScenarioKind(ScenarioDeclaration, Kind[ScenarioSpec]):
    """Suites of calls to a server, each with checks on the answer."""

    settings_model = ScenarioSettings
    explain = staticmethod(explain)
    measure = totals = staticmethod(metrics.measure)
    measure_run = staticmethod(metrics.measure_run)
    totals_of_run = staticmethod(metrics.times)
    tables = staticmethod(tables)

    def __init__(self, checks: CheckRegistry) -> None:
        self.checks = checks
        self._private: dict[tuple[str, str], Connection] = {}
        self._of_stateful: dict[tuple[str, ServerDefinition], Connection] = {}

    def load(self, document: Document, place: Place) -> Scenario:
        """The suite in a document."""
        return load_suite(document, place, self.checks)

    def prepare(self, suite: Scenario, case: ScenarioCase, context: RunContext) -> None:
        """Open the connection; the private one of a ``fresh`` case is kept until the case is asked."""
        self._require_environment(suite, case)
        if context.has_answers(suite):
            return
        if case.spec.fresh:
            self._private[suite.key, case.id] = context.connection(case.spec.server, fresh=True)
        else:
            self._connection(suite, case, context)

    def _connection(self, suite: Scenario, case: ScenarioCase, context: RunContext) -> Connection:
        """Return the warm connection to a case's server; a stateful suite has a separate one.

        Raises:
            TargetError: The server of a stateful suite ended, so the state that the case builds on is lost.
        """
        server = case.spec.server
        if not suite.stateful:
            return context.connection(server)
        if (suite.key, server) not in self._of_stateful:
            self._of_stateful[suite.key, server] = context.connection(server, fresh=True)
        connection = self._of_stateful[suite.key, server]
        if not connection.alive:
            raise TargetError(
                f"{suite.key} is stateful, and its connection to server {server.name!r} ended in "
                "an earlier case: the state that this case builds on is lost",
                cause=f"{suite.key}: connection to {server.name}",
            )
        return connection

    def start_over(self, suite: Scenario, context: RunContext) -> None:
        """Close the connections of a stateful suite."""
        for key in [key for key in self._of_stateful if key[0] == suite.key]:
            self._of_stateful.pop(key).close()

    def _require_environment(self, suite: Scenario, case: ScenarioCase) -> None:
        row = suite.row_of(case)
        texts = {key: row[key] for key in ("input", "expected", "steps") if key in row}
        if not has_opening(texts):
            return

        def place(*keys: str | int) -> str:
            return f"{suite.key}:{suite.document.line(*case.keys, *keys)}"

        require_environment(_without_foreign(texts), place, os.environ)

    def ask(self, suite: Scenario, case: ScenarioCase, context: RunContext) -> list[Answer]:
        """Make the calls of a case."""
        if not case.spec.fresh:
            answers = ask(case.spec, self._connection(suite, case, context))
            if suite.stateful and context.selected.get(suite.key, ())[-1:] == [case.id]:
                self.start_over(suite, context)
            return answers
        prepared = self._private.pop((suite.key, case.id), None)
        connection = prepared or context.connection(case.spec.server, fresh=True)
        try:
            return ask(case.spec, connection)
        finally:
            connection.close()

    def judge(
        self, suite: Scenario, case: ScenarioCase, answers: list[Answer], context: RunContext
    ) -> Sample:
        """Evaluate the checks of a case."""
        return judge(suite, case, answers, self.checks)

    def must_ask_again(self, answers: list[Answer]) -> bool:
        """Return whether the server died or stopped answering: the call of another case may be the cause."""
        return any(answer.may_be_harmed for answer in answers)

    def varying(self, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
        """The pass rate of the suite."""
        return {"summary": {"passRate": metrics["summary"]["passRate"]}}

    def gate_names(self, suite: Scenario) -> list[str]:
        """The gates in the suite's settings."""
        return gates.gate_names(suite.settings.gates)

    def gates(self, suite: Scenario, samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Every gate of the suite, judged."""
        thresholds: GatesModel = suite.settings.gates
        if blessing or not thresholds.no_new_failures:
            return gates.judge_gates(suite.key, thresholds, samples, None)
        path = Path(suite.settings.baseline)
        try:
            outcomes = read_baseline(path, suite, _digest(suite)).outcomes
        except DataFileError as error:
            broken = GateResult(suite.key, "no_new_failures", "error", str(error))
            return [*gates.judge_gates(suite.key, thresholds, samples, None), broken]
        return gates.judge_gates(suite.key, thresholds, samples, outcomes)

    def decides(self, suite: Scenario, gate: str, sample: Sample) -> bool:
        """Return whether a gate decides about a wrong answer; those on confidences and times do not."""
        return gate in gates.DECIDING

    def baseline(self, suite: Scenario, samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """The outcome of every case that counts."""
        if suite.settings.baseline is None:
            return None
        outcomes = {
            s.id: "passed" if s.outcome == "passed" else "failed" for s in metrics.not_set_aside(samples)
        }
        cases = {case: {"outcome": outcomes[case]} for case in sorted(outcomes)}
        return Path(suite.settings.baseline), {"digest": _digest(suite), "cases": cases}

    def check_baseline(self, suite: Scenario) -> None:
        """The outcomes that ``no_new_failures`` compares with."""
        path = suite.settings.baseline
        if path is not None and Path(path).is_file():
            read_baseline(Path(path), suite, _digest(suite))


def _without_foreign(texts: Mapping[str, Any]) -> Any:
    """Return the texts of a case or step, without keys of other evaluators."""
    expected = texts.get("expected")
    if isinstance(expected, Mapping):
        spelled = {spelling for name in FOREIGN_KEYS for spelling in (name, to_camel(name))}
        texts = {**texts, "expected": {key: expected[key] for key in expected if key not in spelled}}
    if texts.get("steps"):
        texts = {**texts, "steps": [_without_foreign(step) for step in texts["steps"]]}
    return texts


def _digest(suite: Scenario) -> str:
    """Return a digest of everything in the file except settings for speed and gates."""
    data = suite.document.data
    kept = {key: data[key] for key in data if key not in PACING_AND_GATES} if isinstance(data, dict) else data
    return digest_of(kept)
