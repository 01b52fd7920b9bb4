"""One row of a checked scenario file → the spec to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_mcpeval.kinds.scenario.checks import CheckRegistry, ParsedCheck, expectation_checks
from pytest_mcpeval.kinds.scenario.placeholders import later
from pytest_mcpeval.kinds.scenario.schema import CaseModel, ExpectedModel, ScenarioSettings, StepModel
from pytest_mcpeval.kinds.scenario.spec import ScenarioSpec, Step
from pytest_mcpeval.servers.definitions import ServerDefinition


@dataclass(frozen=True)
class SpecBuilder:
    """Makes specs from the rows of a file without problems; ``project`` is the suite's."""

    rows: Sequence[Any]
    settings: ScenarioSettings
    servers: Mapping[str, ServerDefinition]
    registry: CheckRegistry
    project: str | None

    def spec(self, index: int) -> ScenarioSpec:
        """Return the spec of the case in a row."""
        model = CaseModel.model_validate(self.rows[index])
        gates = self.settings.gates
        return ScenarioSpec(
            name=model.name or model.id,
            description=model.description,
            steps=tuple(self._step(step, model) for step in model.calls),
            server=self.servers[server_name(model, self.settings, self.servers) or ""],
            fresh=self.settings.fresh if model.fresh is None else model.fresh,
            tolerated=gates.pass_rate is not None or gates.no_new_failures,
        )

    def _step(self, step: StepModel, model: CaseModel) -> Step:
        target: Literal["tool", "resource", "prompt"]
        name, arguments = step.resource or step.prompt or "", step.input
        target = "resource" if step.resource is not None else "prompt"
        if step.tool is not None:
            target, name = "tool", tool_name(step.tool, self.settings) or step.tool
            send = self.settings.send_project if model.send_project is None else model.send_project
            project = model.project or self.project
            arguments = {**arguments, "project": project} if send and project else arguments
        return Step(
            target,
            name,
            arguments,
            checks=tuple(self._checks(step.expected)) if step.expected else (),
            timeout=step.timeout or model.timeout or self.settings.timeout,
            capture=step.capture,
            expects_rejection=bool(step.expect_rejection),
            expects_empty=bool(step.expect_empty),
        )

    def _checks(self, expected: ExpectedModel) -> Iterator[ParsedCheck]:
        for rule in expected.validations:
            yield self.registry.parse(rule, later)
        yield from expectation_checks(
            expected.expected_keywords, expected.forbidden_keywords, expected.expected_imports
        )


def tool_name(alias: str, settings: ScenarioSettings) -> str | None:
    """Return a tool's name on the server; None if there is a table of aliases without this alias."""
    if alias in settings.tools:
        return settings.tools[alias]
    if settings.tool_prefix:
        return alias if alias.startswith(settings.tool_prefix) else settings.tool_prefix + alias
    return alias if not settings.tools or alias in settings.tools.values() else None


def server_name(
    model: CaseModel, settings: ScenarioSettings, servers: Mapping[str, ServerDefinition]
) -> str | None:
    """Return the server that a case names, or the only one; it may not exist."""
    name = model.server or settings.server
    return next(iter(servers)) if name is None and len(servers) == 1 else name
