"""A scripted step, once its file is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pytest_mcpeval.kinds.scenario.checks import CheckRegistry, CheckSpecError, ParsedCheck, SpecProblem
from pytest_mcpeval.kinds.scenario.placeholders import later, misused
from pytest_mcpeval.kinds.session.execution.settings import PagesModel, StepModel


def _nowhere(*keys: str | int) -> str:
    return "steps"


@dataclass(frozen=True)
class Step:
    """One call of an MCP tool, or one use of a Python function under the name of another tool.

    ``python`` is ``pkg.mod:function`` for the latter, imported from ``directory``. ``capture`` maps a name to
    the JSONPath of the value that stands for ``${name}`` in the checks of this step and in what later
    steps send and expect. ``refused``: the guard must not let it pass. ``place`` makes ``file:line`` of the
    keys to a value in the step.
    """

    tool: str
    arguments: Mapping[str, Any]
    registry: CheckRegistry
    checks: tuple[ParsedCheck, ...] = ()
    capture: Mapping[str, str] = field(default_factory=dict)
    refused: bool = False
    pages: PagesModel | None = None
    timeout: float = 60.0
    python: str | None = None
    justification: str = ""
    directory: Path = Path()
    place: Callable[..., str] = _nowhere

    @property
    def texts(self) -> dict[str, Any]:
        """Everything in which placeholders stand, by key."""
        return {"arguments": self.arguments, "expect": [check.rule for check in self.checks]}


def steps_of(
    models: Sequence[StepModel],
    registry: CheckRegistry,
    directory: Path = Path(),
    place: Callable[..., str] = _nowhere,
) -> tuple[Step, ...]:
    """The steps of a scenario; ``directory`` is where Python functions are imported from.

    ``place`` makes ``file:line`` of the keys to a value below ``steps``.

    Raises:
        CheckSpecError: With every check and every JSONPath that is none, and every placeholder that is none
            or whose value no earlier step captures; paths begin with the step's index.
    """
    problems = list(_unknown_names(models))
    steps = [
        _step(index, model, registry, problems, directory=directory, place=partial(place, index))
        for index, model in enumerate(models)
    ]
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


def _step(
    index: int,
    model: StepModel,
    registry: CheckRegistry,
    problems: list[SpecProblem],
    *,
    directory: Path,
    place: Callable[..., str],
) -> Step:
    checks: list[ParsedCheck] = []
    for number, rule in enumerate(model.expect):
        try:
            checks.append(registry.parse(rule, later))
        except CheckSpecError as error:
            problems.extend(
                SpecProblem((index, "expect", number, *path), text) for path, text in error.problems
            )
    return Step(
        tool=model.call or model.use or "",
        arguments=model.arguments,
        registry=registry,
        checks=tuple(checks),
        capture=model.capture,
        refused=model.refused,
        pages=model.pages,
        timeout=model.timeout,
        python=model.python,
        justification=model.justification or "",
        directory=directory,
        place=place,
    )
