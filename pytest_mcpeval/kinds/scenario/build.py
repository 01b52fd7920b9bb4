"""One row of a checked scenario file → what is needed to run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_mcpeval.kinds.scenario.checks import CheckRegistry, ParsedCheck, expectation_checks
from pytest_mcpeval.kinds.scenario.placeholders import later
from pytest_mcpeval.kinds.scenario.schema import CaseModel, ExpectedModel, ScenarioSettings, StepModel
from pytest_mcpeval.kinds.scenario.spec import ScenarioSpec, Step
from pytest_mcpeval.servers.definitions import ServerDefinition


@dataclass(frozen=True)
class SpecBuilder:
    """Makes specs from the rows of a file that was found free of problems; ``project`` is the suite's."""

    rows: Sequence[Any]
    settings: ScenarioSettings
    servers: Mapping[str, ServerDefinition]
    registry: CheckRegistry
    project: str | None

    def spec(self, index: int) -> ScenarioSpec:
        """What is needed to run the case in a row."""
        model = CaseModel.model_validate(self.rows[index])
        gates = self.settings.gates
        return ScenarioSpec(
            name=model.name or model.id,
            description=model.description,
            steps=tuple(self._steps(model)),
            server=self.servers[server_name(model, self.settings, self.servers) or ""],
            fresh=self.settings.fresh if model.fresh is None else model.fresh,
            tolerated=gates.pass_rate is not None or gates.no_new_failures,
        )

    def _steps(self, model: CaseModel) -> Iterator[Step]:
        for step in steps_of(model):
            yield self._step(step, model)

    def _step(self, step: StepModel, model: CaseModel) -> Step:
        make = partial(
            Step,
            checks=tuple(self._checks(step.expected)) if step.expected else (),
            timeout=step.timeout or model.timeout or self.settings.timeout,
            capture=step.capture,
            expects_rejection=bool(step.expect_rejection),
            expects_empty=bool(step.expect_empty),
        )
        if step.tool is not None:
            name = tool_name(step.tool, self.settings) or step.tool
            return make("tool", name, self._arguments(step, model))
        if step.resource is not None:
            return make("resource", step.resource, {})
        return make("prompt", step.prompt or "", step.input)

    def _arguments(self, step: StepModel, model: CaseModel) -> Mapping[str, Any]:
        send = self.settings.send_project if model.send_project is None else model.send_project
        project = model.project or self.project
        return {**step.input, "project": project} if send and project else step.input

    def _checks(self, expected: ExpectedModel) -> Iterator[ParsedCheck]:
        for rule in expected.validations:
            yield self.registry.parse(rule, later)
        yield from expectation_checks(
            expected.expected_keywords, expected.forbidden_keywords, expected.expected_imports
        )


def steps_of(model: CaseModel) -> Sequence[StepModel]:
    """The steps of a case; a case of one call is one step."""
    if model.steps is not None:
        return model.steps
    only = StepModel.model_construct(
        tool=model.tool,
        resource=None,
        prompt=None,
        input=model.input or {},
        expected=model.expected,
        capture={},
        timeout=None,
        expect_rejection=model.expect_rejection,
        expect_empty=model.expect_empty,
    )
    return [only]


def tool_name(alias: str, settings: ScenarioSettings) -> str | None:
    """The name on the server of a tool; None when a table of aliases does not know it."""
    if alias in settings.tools:
        return settings.tools[alias]
    if settings.tool_prefix:
        return alias if alias.startswith(settings.tool_prefix) else settings.tool_prefix + alias
    return alias if not settings.tools or alias in settings.tools.values() else None


def server_name(
    model: CaseModel, settings: ScenarioSettings, servers: Mapping[str, ServerDefinition]
) -> str | None:
    """The server a case names, or the only one there is; it may not exist."""
    name = model.server or settings.server
    return next(iter(servers)) if name is None and len(servers) == 1 else name
