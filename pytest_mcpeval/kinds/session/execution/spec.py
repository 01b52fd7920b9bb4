"""A scripted step, once its file is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pytest_mcpeval.kinds.scenario.checks import CheckRegistry, CheckSpecError, ParsedCheck, SpecProblem
from pytest_mcpeval.kinds.scenario.placeholders import later, misused
from pytest_mcpeval.kinds.session.execution.settings import StepModel


def _nowhere(*keys: str | int) -> str:
    return "steps"


@dataclass(frozen=True)
class Step:
    """A step as its file says it (``written``), with its checks parsed.

    ``directory`` is where its Python function is imported from; ``place`` makes ``file:line`` of the keys to
    a value in the step.
    """

    written: StepModel
    checks: tuple[ParsedCheck, ...]
    registry: CheckRegistry
    directory: Path
    place: Callable[..., str]

    @property
    def tool(self) -> str:
        """The name of what is called or used."""
        return self.written.call or self.written.use or ""

    @property
    def texts(self) -> dict[str, Any]:
        """Everything in which placeholders stand, by key."""
        return {"arguments": self.written.arguments, "expect": [check.rule for check in self.checks]}


def steps_of(
    models: Sequence[StepModel],
    registry: CheckRegistry,
    directory: Path = Path(),
    place: Callable[..., str] = _nowhere,
) -> tuple[Step, ...]:
    """The steps of a scenario; ``directory`` is where Python functions are imported from.

    ``place`` makes ``file:line`` of the keys to a value below ``steps``.

    Raises: CheckSpecError: With every invalid check and JSONPath, and every placeholder that is
    invalid or that no earlier step captures; paths begin with the step's index.
    """
    problems = list(_unknown_names(models))
    steps = []
    for index, model in enumerate(models):
        checks = []
        for number, rule in enumerate(model.expect):
            try:
                checks.append(registry.parse(rule, later))
            except CheckSpecError as error:
                at = (index, "expect", number)
                problems += [SpecProblem((*at, *path), text) for path, text in error.problems]
        steps.append(Step(model, tuple(checks), registry, directory, partial(place, index)))
    if problems:
        raise CheckSpecError(problems)
    return tuple(steps)


def _unknown_names(models: Sequence[StepModel]) -> Iterator[SpecProblem]:
    captured: set[str] = set()
    in_all = {name for model in models for name in model.capture}
    for index, model in enumerate(models):
        for path, message in misused(model.arguments, captured, in_all):
            yield SpecProblem((index, "arguments", *path), message)
        captured.update(model.capture)
        for path, message in misused(model.expect, captured, in_all):
            yield SpecProblem((index, "expect", *path), message)
