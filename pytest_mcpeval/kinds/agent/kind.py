"""The ``agent`` kind: does the deployed web agent do its job?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.browser.directive import BrowserError, Driver
from pytest_mcpeval.browser.finding import header
from pytest_mcpeval.browser.pool_driver import make_driver
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.headline import Headline, change_in_words, pass_rate
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.sample import TEARDOWN_FAILED, Sample
from pytest_mcpeval.core.suite import Place, Suite
from pytest_mcpeval.kinds.agent import gates, metrics
from pytest_mcpeval.kinds.agent.declaration import AgentDeclaration
from pytest_mcpeval.kinds.agent.explain import explain
from pytest_mcpeval.kinds.agent.finalize import write_agent_files
from pytest_mcpeval.kinds.agent.folders import baseline_folder, captured_folder, left_unscored, run_folder
from pytest_mcpeval.kinds.agent.load import AgentSuite, load_suite, taken_name
from pytest_mcpeval.kinds.agent.preparing import learn, places_of, require_credentials
from pytest_mcpeval.kinds.agent.run import Visit, drive, revisit, score
from pytest_mcpeval.kinds.agent.sampling import captured_sample, sample_of
from pytest_mcpeval.kinds.agent.schema import AgentCase, Manifest
from pytest_mcpeval.kinds.agent.scoring import AgentScore, ScoreFileError, read_score, write_score
from pytest_mcpeval.kinds.agent.settings import AgentSettings
from pytest_mcpeval.kinds.agent.tables import comparison_tables, tables
from pytest_mcpeval.kinds.agent.transitions import transitions
from pytest_mcpeval.loading import DataFileError, Problem
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.loading import Document

Agent = Suite[AgentCase]
AgentItem = Case[AgentCase]


class AgentKind(AgentDeclaration, Kind[AgentCase]):
    """Manifests: a deployed web agent, and what must hold when it is asked something."""

    settings_model = AgentSettings
    file_models: ClassVar[Mapping[str, type[BaseModel]]] = {"agent": Manifest}
    asks_once = True
    uses_servers = False
    measure = staticmethod(metrics.measure)
    measure_run = staticmethod(metrics.measure_run)
    tables = staticmethod(tables)
    comparison_tables = staticmethod(comparison_tables)

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}

    def load(self, document: Document, place: Place) -> AgentSuite:
        """The manifest in a document."""
        suite = load_suite(document, place)
        first = self._files.setdefault(suite.manifest.name, document.path)
        if first != document.path:
            raise DataFileError([taken_name(document, suite.manifest.name, first)])
        return suite

    def described(self, suite: Agent) -> str:
        """Its agent, and how many cases, tools and sub-agents the manifest declares."""
        manifest = _agent(suite).manifest
        tools = counted(len(manifest.tools_catalog), "declared tool")
        agents = counted(len(manifest.agents_catalog), "declared sub-agent")
        return f"{super().described(suite)}, agent {manifest.name}, {tools}, {agents}"

    def prepare(self, suite: Agent, case: AgentItem, context: RunContext) -> None:
        """Find the captured case, or see that the agent can be driven."""
        agent = _agent(suite)
        if agent.options.mode == "score_only":
            captured_folder(agent, case.id)
            return
        require_credentials(agent)
        places_of(agent, context.fixtures)
        self._driver(agent, context)

    def _driver(self, suite: AgentSuite, context: RunContext) -> Driver:
        name = suite.settings.driver
        try:
            return context.target((self.name, name), lambda: make_driver(name, suite.options.driver))
        except BrowserError as error:
            raise TargetError(str(error), cause=f"driver {name}: {error}") from None

    def ask(self, suite: Agent, case: AgentItem, context: RunContext) -> Visit:
        """Visit the page for the case, or use its earlier capture."""
        agent = _agent(suite)
        if agent.options.mode == "score_only":
            return revisit(agent, case.spec)
        driver = self._driver(agent, context)
        try:
            return drive(agent, case.spec, driver, places_of(agent, context.fixtures))
        except BrowserError as error:
            raise TargetError(str(error), cause=f"driver {agent.settings.driver}: {error}") from None
        except OSError as error:
            message = f"what was captured cannot be written: {error}: name another directory with `runs: DIR`"
            raise TargetError(message, cause=f"runs of {suite.key}") from None

    def judge(self, suite: Agent, case: AgentItem, answers: Visit, context: RunContext) -> Sample:
        """Score the captured evidence, and write the score next to it."""
        agent = _agent(suite)
        learn(agent.manifest)
        if agent.options.mode == "capture_only":
            return captured_sample(agent, case.id, answers)
        found = score(agent, case.spec, answers)
        try:
            write_score(answers.folder.score, found.as_data())
        except OSError as error:
            raise TargetError(f"the score cannot be written: {error}") from None
        return sample_of(agent, found, answers)

    def explain(self, suite: Agent, case: AgentItem, sample: Sample) -> str:
        """Every assertion with its evidence, or with what to do about evidence that is missing."""
        return explain(_agent(suite), case, sample)

    def gate_names(self, suite: Agent) -> list[str]:
        """The gates in the suite's settings, and the comparison with an earlier run."""
        agent = _agent(suite)
        has_baseline = bool(agent.options.baseline_runs or agent.settings.baseline_run)
        return gates.gate_names(agent.settings.gates, has_baseline=has_baseline)

    def gates(self, suite: Agent, samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Every gate of the suite, judged; none of cases that were only captured."""
        agent = _agent(suite)
        if agent.options.mode == "capture_only":
            reason = "not set: cases were captured but not scored"
            return [GateResult(suite.key, name, "not_set", reason) for name in self.gate_names(suite)]
        compared = None if blessing else self.compare(suite, samples)
        return gates.judge_gates(suite.key, agent.settings.gates, samples, compared or None)

    def compare(self, suite: Agent, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return the change of every assertion since an earlier run; empty without one."""
        try:
            folder = baseline_folder(_agent(suite))
            if folder is None:
                return {}
            old = read_score(folder.score)
        except (ScoreFileError, TargetError) as error:
            raise DataFileError([Problem(suite.path, 0, str(error))]) from None
        if not isinstance(old, AgentScore):
            message = f"{folder.score} is the score of a case: expected that of a whole run"
            raise DataFileError([Problem(suite.path, 0, message)])
        return transitions(samples, old.cases)

    def headlines(
        self,
        suite: Suite[Any] | None,
        samples: Sequence[Sample],
        metrics: Mapping[str, Any],
        compared: Mapping[str, Any],
    ) -> list[Headline]:
        """The share of cases that passed, and how many assertions changed since an earlier run."""
        found = pass_rate(samples)
        if not found or not compared:
            return found
        counts = compared["counts"]
        better = counts["newly_passing"]
        worse = counts["newly_failing"] + counts["turned_out_failing"] + counts["newly_inconclusive"]
        share = (better - worse) / max(sum(counts.values()), 1)
        return [replace(found[0], change=share, change_text=change_in_words(better, worse))]

    def check_baseline(self, suite: Agent) -> None:
        """The score of the earlier run."""
        self.compare(suite, [])

    def session_header(self, suites: Sequence[Agent]) -> str:
        """Which browser drives them, and whether it is shown."""
        options = _agent(suites[0]).options
        once = "; each case is captured once, whatever --mcpeval-runs says" if options.runs else ""
        if options.mode == "score_only":
            return f"agents: scored as captured in {', '.join(map(str, options.score_only))}{once}"
        return f"{header(options.driver)}{once}"

    def finalize(
        self, suite: Agent, samples: Sequence[Sample], *, others_failed: Sequence[str] = ()
    ) -> list[str]:
        """Write the score and the report of the agent into the folder of its run."""
        agent = _agent(suite)
        captured = [sample for sample in samples if "case_dir" in sample.run]
        if not captured:
            # Captures of which no process could tell before the session was ended.
            if agent.options.mode == "score_only" or not run_folder(agent).path.is_dir():
                return []
            return [left_unscored(agent, run_folder(agent))]
        folder = run_folder(agent)
        if agent.options.mode == "capture_only":
            return [f"captured {len(captured)} cases of {agent.manifest.name} into {folder.path}"]
        learn(agent.manifest)
        torn_down = [
            redactor.text(f"{suite.key}::{one.id} ({one.message})")
            for one in captured
            if one.message.startswith(TEARDOWN_FAILED)
        ]
        return write_agent_files(
            agent,
            folder,
            tried={one.id: redactor.text(one.message) for one in samples if one.outcome != "skipped"},
            scored={sample.id for sample in captured},
            others_failed=[*torn_down, *others_failed],
        )


def _agent(suite: Agent) -> AgentSuite:
    assert isinstance(suite, AgentSuite)
    return suite
