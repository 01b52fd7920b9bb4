"""Document → suite: every problem of a scenario file, or its cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from pytest_mcpeval.kinds.base import Case, CaseMarks, Place, SkipIfEnv, Suite
from pytest_mcpeval.kinds.scenario.checks import (
    CheckRegistry,
    CheckSpecError,
    ParsedCheck,
    expectation_checks,
)
from pytest_mcpeval.kinds.scenario.schema import (
    CaseModel,
    ExpectedModel,
    MarksModel,
    ScenarioSettings,
    StepModel,
    SuiteModel,
    XfailModel,
)
from pytest_mcpeval.kinds.scenario.spec import ScenarioSpec, Step, placeholders
from pytest_mcpeval.loading import DataFileError, Document, Problem
from pytest_mcpeval.loading.schema import validate
from pytest_mcpeval.loading.wording import suggestion
from pytest_mcpeval.project_file import merge
from pytest_mcpeval.servers.definitions import ServerDefinition

Keys = tuple[str | int, ...]

_ROWS = TypeAdapter(list[CaseModel])


def load_suite(document: Document, place: Place, registry: CheckRegistry) -> Suite[ScenarioSpec]:
    """The suite in a document; a JSON Lines file is a list of cases.

    Raises:
        DataFileError: With every problem of the file.
    """
    if isinstance(document.data, list):
        model = SuiteModel.model_construct(tests=validate(_ROWS, document))
        return _Loader(document, place, registry, model, ()).suite()
    return _Loader(document, place, registry, validate(SuiteModel, document), ("tests",)).suite()


class _Loader:
    """Turns one validated file into cases, gathering what the schema alone cannot see."""

    def __init__(
        self, document: Document, place: Place, registry: CheckRegistry, model: SuiteModel, at: Keys
    ) -> None:
        self.document = document
        self.place = place
        self.registry = registry
        self.model = model
        self.at = at
        self.problems: list[Problem] = []
        self.settings = self._effective_settings()

    def _effective_settings(self) -> ScenarioSettings:
        own = self.model.model_dump(include=set(ScenarioSettings.model_fields), exclude_unset=True)
        if isinstance(own.get("baseline"), str):
            own["baseline"] = str((self.document.path.parent / own["baseline"]).resolve())
        return ScenarioSettings(**merge(self.place.settings, own))

    def suite(self) -> Suite[ScenarioSpec]:
        self._find_duplicate_ids()
        self._check_gates()
        cases = tuple(self._case(index, case) for index, case in enumerate(self.model.tests))
        if self.problems:
            raise DataFileError(self.problems)
        return Suite(
            key=self.place.key,
            kind="scenario",
            document=self.document,
            cases=cases,
            settings=self.settings,
            servers=self.place.servers,
            concurrency=self.settings.concurrency,
        )

    def _problem(self, *keys: str | int, message: str) -> None:
        self.problems.append(self.document.problem(*keys, message=message))

    def _find_duplicate_ids(self) -> None:
        seen: dict[str, int] = {}
        for index, case in enumerate(self.model.tests):
            first = seen.setdefault(case.id, index)
            if first != index:
                line = self.document.line(*self.at, first)
                self._problem(
                    *self.at, index, "id", message=f"duplicate id {case.id!r}: first used on line {line}"
                )

    def _check_gates(self) -> None:
        gates = self.settings.gates
        if gates.no_new_failures and self.settings.baseline is None:
            message = (
                "gates.no_new_failures compares with a committed baseline: say which file with `baseline:`, "
                "and write it with pytest --mcpeval --mcpeval-bless"
            )
            self._problem("gates", "no_new_failures", message=message)

    def _case(self, index: int, model: CaseModel) -> Case[ScenarioSpec]:
        at = (*self.at, index)
        fresh = self.settings.fresh if model.fresh is None else model.fresh
        stateful = self.settings.stateful if model.stateful is None else model.stateful
        spec = ScenarioSpec(
            name=model.name or model.id,
            description=model.description,
            steps=tuple(self._steps(at, model)),
            server=self._server(at, model),
            fresh=fresh,
            tolerated=self.settings.gates.pass_rate is not None or self.settings.gates.no_new_failures,
        )
        return Case(
            id=model.id,
            line=self.document.line(*at),
            keys=at,
            spec=spec,
            traits=self._traits(model),
            marks=_marks(model.marks, self.model.marks),
            fixtures=tuple(model.fixtures),
            may_run_ahead=not (fresh or stateful or model.fixtures),
        )

    def _traits(self, model: CaseModel) -> dict[str, Any]:
        tools = [model.tool] if model.tool else [step.tool for step in model.steps or () if step.tool]
        traits = {
            "difficulty": model.difficulty,
            "tool": tools[0] if len(set(tools)) == 1 else tuple(dict.fromkeys(tools)),
            "project": model.project or self.model.project,
            "tags": tuple(model.tags),
        }
        return {name: value for name, value in traits.items() if value}

    def _steps(self, at: Keys, model: CaseModel) -> Iterator[Step]:
        captured: set[str] = set()
        single = model.steps is None
        for number, step in enumerate(model.steps or [_only_step(model)]):
            place = at if single else (*at, "steps", number)
            if not single:
                self._check_placeholders(place, step, captured)
            captured.update(step.capture)
            yield self._step(place, step, model)

    def _step(self, at: Keys, step: StepModel, model: CaseModel) -> Step:
        for name, path in step.capture.items():
            self._check_json_path((*at, "capture", name), path)
        timeout = step.timeout or model.timeout or self.settings.timeout
        checks = self._checks((*at, "expected"), step.expected) if step.expected else ()
        if step.tool is not None:
            name = self._tool_name((*at, "tool"), step.tool)
            return Step("tool", name, self._arguments(step, model), checks, timeout, step.capture)
        if step.resource is not None:
            return Step("resource", step.resource, {}, checks, timeout, step.capture)
        return Step("prompt", step.prompt or "", step.input, checks, timeout, step.capture)

    def _arguments(self, step: StepModel, model: CaseModel) -> Mapping[str, Any]:
        send = self.settings.send_project if model.send_project is None else model.send_project
        project = model.project or self.model.project
        return {**step.input, "project": project} if send and project else step.input

    def _tool_name(self, at: Keys, alias: str) -> str:
        tools, prefix = self.settings.tools, self.settings.tool_prefix
        if alias in tools:
            return tools[alias]
        if prefix:
            return alias if alias.startswith(prefix) else prefix + alias
        if tools and alias not in tools.values():
            known = [*tools, *tools.values()]
            message = f"unknown tool alias {alias!r}{suggestion(alias, known)}; `tools:` knows {', '.join(sorted(tools))}"
            self._problem(*at, message=message)
        return alias

    def _check_placeholders(self, at: Keys, step: StepModel, captured: set[str]) -> None:
        used = [*placeholders(step.input), *placeholders(step.resource)]
        for name in dict.fromkeys(used):
            if name not in captured:
                earlier = ", ".join(sorted(captured)) or "nothing"
                message = f"${{{name}}} is not captured by an earlier step{suggestion(name, captured)} (captured: {earlier})"
                self._problem(*at, message=message)

    def _check_json_path(self, at: Keys, path: str) -> None:
        from pytest_mcpeval.kinds.scenario.capture import json_path_problem

        problem = json_path_problem(path)
        if problem:
            self._problem(*at, message=problem)

    def _checks(self, at: Keys, expected: ExpectedModel) -> tuple[ParsedCheck, ...]:
        parsed = []
        for index, rule in enumerate(expected.validations):
            try:
                parsed.append(self.registry.parse(rule))
            except CheckSpecError as error:
                for path, message in error.problems:
                    self._problem(*at, "validations", index, *path, message=message)
        return (
            *parsed,
            *expectation_checks(
                expected.expected_keywords, expected.forbidden_keywords, expected.expected_imports
            ),
        )

    def _server(self, at: Keys, model: CaseModel) -> ServerDefinition:
        servers = self.place.servers
        name = model.server or self.settings.server
        if name is None and len(servers) == 1:
            return next(iter(servers.values()))
        if name is not None and name in servers:
            return servers[name]
        known = ", ".join(sorted(servers)) or "none"
        if name is None:
            message = f"no server is named: say `server:` here or in mcpeval.yaml (defined: {known})"
        else:
            message = f"unknown server {name!r}{suggestion(name, servers)} (defined: {known})"
        keys = (*at, "server") if model.server else ("server",)
        if not any(problem.message == message for problem in self.problems):
            self._problem(*keys, message=message)
        return _NO_SERVER


_NO_SERVER = ServerDefinition("", "stdio")


def _only_step(model: CaseModel) -> StepModel:
    return StepModel.model_construct(
        tool=model.tool,
        resource=None,
        prompt=None,
        input=model.input,
        expected=model.expected,
        capture={},
        timeout=None,
    )


def _marks(case: MarksModel, suite: MarksModel) -> CaseMarks:
    xfail = case.xfail or suite.xfail
    conditions = case.skipif_env or suite.skipif_env or []
    listed = conditions if isinstance(conditions, list) else [conditions]
    return CaseMarks(
        skip=case.skip or suite.skip,
        xfail=xfail.reason if isinstance(xfail, XfailModel) else xfail,
        xfail_strict=xfail.strict if isinstance(xfail, XfailModel) else True,
        skipif_env=tuple(SkipIfEnv(found.name, found.reason, found.when) for found in listed),
    )
