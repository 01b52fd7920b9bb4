"""Document → session suite: returns its scenarios and servers, or raises all problems of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.fields import located
from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.core.suite import Place
from pytest_mcpeval.kinds.loader import SuiteLoader, suite_or_rows
from pytest_mcpeval.kinds.scenario.checks import CheckRegistry, CheckSpecError
from pytest_mcpeval.kinds.session.critic.asking import CODEC as CRITIC
from pytest_mcpeval.kinds.session.critic.findings import CROSS_MCP, UNATTRIBUTED
from pytest_mcpeval.kinds.session.critic.settings import CriticModel
from pytest_mcpeval.kinds.session.discovery import attached_servers
from pytest_mcpeval.kinds.session.execution.agents import CODEC as AGENT
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.execution.spec import Step, steps_of
from pytest_mcpeval.kinds.session.intake import read_scenarios, target_problem
from pytest_mcpeval.kinds.session.language_model import PYTHON
from pytest_mcpeval.kinds.session.records import Scenario, ServerScope
from pytest_mcpeval.kinds.session.schema import (
    BUDGETS,
    MOST_SCENARIOS,
    ScenarioModel,
    SessionModel,
    SessionSettings,
)
from pytest_mcpeval.kinds.session.spec import REPORT_ID, SessionSpec, SessionSuite
from pytest_mcpeval.loading import Document, Problem
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.parsed import Key
from pytest_mcpeval.servers.modules import ImportProblem
from pytest_mcpeval.targets.base import Codec, TargetStartError
from pytest_mcpeval.targets.functions import function_of, imported_in_time
from pytest_mcpeval.targets.threads import DaemonThreads

_RESERVED = (CROSS_MCP, UNATTRIBUTED)


def load_suite(document: Document, place: Place, checks: CheckRegistry) -> SessionSuite:
    """The session in a document; a list at its top is its ``scenarios``.

    Raises:
        DataFileError: With every problem of the file, or of the files that define servers and scenarios.
    """
    return _Loader(document, place, checks).suite()


class _Loader(SuiteLoader[SessionModel, SessionSettings]):
    """Turns a validated session file into a suite, gathering what the schema alone cannot see."""

    def __init__(self, document: Document, place: Place, checks: CheckRegistry) -> None:
        model = suite_or_rows(SessionModel, document, "scenarios")
        super().__init__(document, place, model, SessionSettings, "scenarios")
        self.checks = checks

    def suite(self) -> SessionSuite:
        root = _root(self.document.path, self.place.key)
        servers = attached_servers(self.place.servers, root, self.settings)
        self._check_servers(servers.attached, {**servers.attached, **servers.filtered})
        models = self._models()
        self._check_scenarios(models, servers.attached)
        scenarios = [self._scenario(index, model) for index, model in enumerate(models)]
        all_approved = self.settings.approval == "approve"
        chosen = [(i, one) for i, one in enumerate(scenarios) if all_approved or one.source == "user"]
        with self.all_problems():
            return SessionSuite(
                key=self.place.key,
                kind="session",
                document=self.document,
                cases=tuple(self._cases(chosen)),
                settings=self.settings,
                servers=self.place.servers,
                root=root,
                attached=servers.attached,
                filtered=servers.filtered,
                scopes={
                    name: ServerScope(name, found.disposition, tuple(found.test_resources), found.notes)
                    for name in servers.attached
                    if (found := self.settings.dispositions.get(name))
                },
                scenarios=tuple(one for _, one in chosen),
                digest=self._digest([models[index] for index, _ in chosen], root),
                given_budgets={name: one for name, one in self.place.overrides.items() if name in BUDGETS},
            )

    def _digest(self, models: list[ScenarioModel], root: Path) -> str:
        """Return a digest of everything that determines what the scenarios do.

        Critic and gates may change.
        """
        content = {
            "scenarios": [model.model_dump(mode="json") for model in models],
            "agent": None if self.settings.agent is None else self.settings.agent.model_dump(mode="json"),
            "dispositions": {
                name: model.model_dump(mode="json") for name, model in self.settings.dispositions.items()
            },
        }
        # A directory of the settings is absolute, and the project may lie elsewhere another time.
        text = to_json(content).replace(to_json(str(root))[1:-1], "")
        return digest_of(text)

    def _check_servers(self, attached: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        for name in attached:
            if name not in self.settings.dispositions:
                message = (
                    f"the server {shown(name)} has no disposition: set read_only, sandboxed or skip "
                    "for it in `dispositions`, or leave it out of `servers`"
                )
                self.problem("dispositions", message=message)
            if name in _RESERVED:
                self.problem("dispositions", message=f"no server may be called {shown(name)}: rename it")
        for name, scope in self.settings.dispositions.items():
            at = ("dispositions", name)
            if name not in known:
                listed = ", ".join(sorted(known)) or "none"
                message = f"unknown server {shown(name)}{suggestion(name, known)} (defined: {listed})"
                self.problem(*at, message=message + self.origin("dispositions"))
            if scope.test_resources and scope.disposition != "sandboxed":
                message = (
                    f"`test_resources` are for a sandboxed server, but {shown(name)} is {scope.disposition}"
                )
                self.problem(*at, "test_resources", message=message + self.origin("dispositions"))
        for index, name in enumerate(self.settings.servers or ()):
            if name not in known:
                self.problem(
                    "servers", index, message=f"unknown server {shown(name)}{suggestion(name, known)}"
                )

    def _models(self) -> list[ScenarioModel]:
        if not isinstance(self.model.scenarios, str):
            return self.model.scenarios
        path = self.document.path.parent / self.model.scenarios
        if not path.is_file():
            self.problem("scenarios", message=f"scenarios: there is no file {path}")
            return []
        return [
            ScenarioModel(description=row.description, targets_mcps=row.targets_mcps)
            for row in read_scenarios(path)
        ]

    def _check_scenarios(self, models: list[ScenarioModel], attached: Mapping[str, Any]) -> None:
        if self.settings.approval is None:
            message = (
                "the scenarios are not approved: read them, then add `approval: approve`, or "
                "`approval: user-only` to drop the derived ones"
            )
            self.problem("approval", message=message)
        if len(models) > MOST_SCENARIOS:
            message = f"expected 1 to {MOST_SCENARIOS} scenarios, found {len(models)}: drop some"
            self.problem(*self.at, message=message)
        dispositions = {
            name: found.disposition
            for name in attached
            if (found := self.settings.dispositions.get(name)) is not None
        }
        for index, model in enumerate(models):
            self._check_scenario(index, model, {**dict.fromkeys(attached), **dispositions})
        if self.settings.approval == "user-only" and models and all(m.source == "derived" for m in models):
            self.problem("approval", message="user-only drops all scenarios: nothing is left to evaluate")

    def _check_scenario(self, index: int, model: ScenarioModel, dispositions: Mapping[str, Any]) -> None:
        for number, target in enumerate(model.targets_mcps):
            problem = target_problem(target, dispositions) if dispositions else ""
            if problem:
                self.problem(*self.at, index, "targets_mcps", number, message=f"targets_mcps: {problem}")
        if model.steps is not None and model.agent is not None:
            message = "has both `steps` and `agent`: remove one of them"
            self.problem(*self.at, index, "agent", message=message)
        if model.steps is None and model.agent is None and self.settings.agent is None:
            message = (
                "nothing carries this scenario out: add `steps:` or `agent:` here, or `agent:` for the whole "
                "file or in its entry of mcpeval.yaml"
            )
            self.problem(*self.at, index, message=message)

    def _scenario(self, index: int, model: ScenarioModel) -> Scenario:
        steps: tuple[Step, ...] = ()
        if model.steps is not None:
            try:
                steps = steps_of(
                    model.steps,
                    self.checks,
                    self.document.path.parent.absolute(),
                    lambda *keys: f"{self.place.key}:{self.document.line(*self.at, index, 'steps', *keys)}",
                )
            except CheckSpecError as error:
                for path, message in error.problems:
                    self.problem(*self.at, index, "steps", *path, message=message)
        own_agent = model.agent and located(model.agent, self.document.path.parent)
        return Scenario(
            id=model.id or f"S{index + 1}",
            description=model.description,
            source=model.source,
            targets_mcps=tuple(model.targets_mcps),
            steps=steps,
            agent=None if model.steps is not None else own_agent or self.settings.agent,
            note=model.note,
            expect_abort=model.expect_abort,
        )

    def _cases(self, scenarios: Iterable[tuple[int, Scenario]]) -> Iterator[Case[SessionSpec]]:
        for index, scenario in scenarios:
            at: tuple[str | int, ...] = (
                (*self.at, index) if isinstance(self.model.scenarios, list) else self.at
            )
            traits = {"server": scenario.targets_mcps, "tags": (scenario.source,)}
            yield self._case(scenario.id, at, scenario, {name: one for name, one in traits.items() if one})
        yield self._case(REPORT_ID, (), None, {})

    def _case(
        self, case_id: str, at: tuple[str | int, ...], spec: SessionSpec, traits: dict[str, Any]
    ) -> Case[SessionSpec]:
        line, fixtures = self.document.line(*at), self._fixtures()
        return Case(case_id, line, at, lambda: spec, traits=traits, fixtures=fixtures)

    def _fixtures(self) -> tuple[str, ...]:
        """Return the fixtures, equal for all cases: the first case carries out other scenarios too."""
        models = self.model.scenarios if isinstance(self.model.scenarios, list) else []
        agents = [self.settings.agent, *(model.agent for model in models)]
        names = [agent.fixture for agent in agents if agent is not None]
        return tuple(dict.fromkeys(name for name in (*names, self.settings.critic.fixture) if name))


def _root(path: Path, key: str) -> Path:
    """The root directory that a key is relative to."""
    ups = len(PurePosixPath(key).parts)
    return (
        path.absolute().parents[ups - 1] if ".." not in PurePosixPath(key).parts else path.absolute().parent
    )


def import_problems(suite: SessionSuite) -> Iterator[Problem]:
    """Yield problems of functions of critic, agents, models and steps that cannot be imported or called."""
    settings = suite.settings
    wanted: dict[tuple[Key, ...], tuple[AgentModel | CriticModel, Codec]] = {
        ("critic",): (settings.critic, CRITIC)
    }
    keys = {case.id: case.keys for case in suite.cases}
    for scenario in suite.scenarios:
        agent, at = scenario.agent, keys[scenario.id]
        if agent is not None:
            wanted[("agent",) if agent is settings.agent else (*at, "agent")] = agent, AGENT
        for index, step in enumerate(scenario.steps):
            python = step.written.python
            seconds = step.written.timeout
            if python is not None and (words := _problem("step", python, step.directory, seconds)):
                yield suite.document.problem(*at, "steps", index, "python", message=words)
    for at, (model, codec) in wanted.items():
        directory, name, words = Path(model.directory), model.model or "", ""
        if model.python is not None:
            words = _problem(codec.role, model.python, directory, model.start_timeout, codec)
        elif name.startswith(PYTHON):
            target = name.removeprefix(PYTHON)
            words = _problem(f"{codec.role} model", target, directory, model.start_timeout)
        if words:
            yield suite.document.problem(*at, message=words)


def _problem(role: str, target: str, directory: Path, seconds: float, codec: Codec | None = None) -> str:
    """Return why the target cannot be used, or an empty text. Without a codec, it only has to exist."""
    name = f"python:{target}"
    threads = DaemonThreads("mcpeval-import")
    try:
        found = imported_in_time(target, directory, seconds, threads)
        if codec is not None:
            function_of(codec, name, found)
    except ImportProblem as error:
        return f"{role} {name} cannot be imported: {error}"
    except TargetStartError as error:
        return str(error)
    finally:
        threads.close()
    return ""
