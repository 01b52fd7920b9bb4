"""Agents that carry scenarios out: Python functions here, programs and language models in their modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.sample import Check, to_json
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.redaction import redacted
from pytest_mcpeval.kinds.session.toolbox import INCIDENTS, Toolbox
from pytest_mcpeval.targets.base import AnswerError, Codec, TargetStartError
from pytest_mcpeval.targets.functions import FixtureTarget, PythonTarget


@dataclass(frozen=True)
class Account:
    """The final answer of an agent, and the check on whether it ended properly."""

    answer: str = ""
    checks: tuple[Check, ...] = ()


def after_failure(toolbox: Toolbox, reason: str, message: str, *, late: bool, answer: str = "") -> Account:
    """Return the account of an agent that did not finish; if a limit stopped it, that is not a failure."""
    if late and toolbox.abort_reason is None:
        toolbox.trip_wallclock()
        assert toolbox.abort_reason is not None, "whom the clock cut off is not done"
    if toolbox.abort_reason is not None:
        return Account(answer)
    check = Check({"type": "agent"}, "failed", redacted(f"the agent {message}"), {"reason": reason})
    return Account(answer, (check,))


def run_agent(model: AgentModel, task: str, toolbox: Toolbox, fixtures: Mapping[str, Any]) -> Account:
    """Let an agent work on a task until it is done, or the time of the session is over.

    Raises:
        TargetError: The agent cannot be made ready, or a server of the toolbox cannot.
    """
    if model.command is not None:
        from pytest_mcpeval.kinds.session.execution.command import run_command

        return run_command(model, task, toolbox)
    if model.model is not None:
        from pytest_mcpeval.kinds.session.execution.model import run_model

        return run_model(model, task, toolbox)
    return _run_function(_target(model, toolbox, fixtures), task, toolbox)


def _target(model: AgentModel, toolbox: Toolbox, fixtures: Mapping[str, Any]) -> PythonTarget | FixtureTarget:
    seconds = max(0.1, toolbox.seconds_left)
    if model.python is not None:
        return PythonTarget(CODEC, model.python, Path(model.directory), seconds)
    assert model.fixture is not None
    if model.fixture not in fixtures:
        reason = "a pytest fixture has a value in a test only"
        raise TargetStartError("agent", f"fixture:{model.fixture}", reason)
    return FixtureTarget(CODEC, model.fixture, fixtures[model.fixture], seconds)


def _answer(returned: Any) -> str:
    if returned is None or isinstance(returned, str):
        return returned or ""
    try:
        return to_json(returned)
    except TypeError:
        kind = type(returned).__name__
        raise AnswerError("answer", f"returned {kind}, expected a text, JSON data or nothing") from None


CODEC = Codec("agent", "run", "task, toolbox", lambda request: (request["task"], request["toolbox"]), _answer)


def _run_function(target: PythonTarget | FixtureTarget, task: str, toolbox: Toolbox) -> Account:
    target.open()
    try:
        return Account(target.ask({"task": task, "toolbox": toolbox}))
    except AnswerError as error:
        if isinstance(error.__cause__, INCIDENTS):
            raise TargetError(str(error.__cause__)) from error
        late = error.reason == "timeout"
        message = "had not ended when the time of the session was over" if late else error.message
        return after_failure(toolbox, error.reason, message, late=late)
    finally:
        target.close()
