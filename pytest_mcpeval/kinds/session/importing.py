"""Functions and models in Python that a session names: they can be imported, or its file is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_mcpeval.kinds.session.critic.asking import SIGNATURE as CRITIC
from pytest_mcpeval.kinds.session.critic.settings import CriticModel
from pytest_mcpeval.kinds.session.execution.agents import SIGNATURE as AGENT
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.language_model import PYTHON
from pytest_mcpeval.kinds.session.spec import SessionSuite
from pytest_mcpeval.loading import Problem
from pytest_mcpeval.loading.parsed import Key
from pytest_mcpeval.servers.modules import ImportProblem, imported
from pytest_mcpeval.targets.base import TargetStartError
from pytest_mcpeval.targets.functions import Signature, function_of


def import_problems(suite: SessionSuite) -> Iterator[Problem]:
    """What cannot be imported, or is nothing to call: of critic, agents, their models, and steps."""
    settings = suite.settings
    wanted: dict[tuple[Key, ...], tuple[AgentModel | CriticModel, Signature]] = {
        ("critic",): (settings.critic, CRITIC)
    }
    keys = {case.id: case.keys for case in suite.cases}
    for planned in suite.scenarios:
        agent, at = planned.scenario.agent, keys[planned.id]
        if agent is not None:
            wanted[("agent",) if agent is settings.agent else (*at, "agent")] = agent, AGENT
        for index, step in enumerate(planned.scenario.steps):
            if step.python is not None and (words := _problem("step", step.python, step.directory)):
                yield suite.document.problem(*at, "steps", index, "python", message=words)
    for at, (model, signature) in wanted.items():
        if words := _problem_of_way(model, signature):
            yield suite.document.problem(*at, message=words)


def _problem_of_way(model: AgentModel | CriticModel, signature: Signature) -> str:
    if model.python is not None:
        return _problem(signature.role, model.python, Path(model.directory), signature)
    name = model.model or ""
    if name.startswith(PYTHON):
        return _problem(f"{signature.role} model", name.removeprefix(PYTHON), Path(model.directory))
    return ""


def _problem(role: str, target: str, directory: Path, signature: Signature | None = None) -> str:
    """Why it cannot be used, or an empty text. Without a signature, it is enough that it is there."""
    name = f"python:{target}"
    try:
        found = imported(target, directory)
        if signature is not None:
            function_of(signature, name, found)
    except ImportProblem as error:
        return f"{role} {name} cannot be imported: {error}"
    except TargetStartError as error:
        return str(error)
    return ""
