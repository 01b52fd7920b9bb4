"""``model:``, a language model with the tools of the guard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.session.execution.agents import Account, after_failure
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.guard import GuardedTool
from pytest_mcpeval.kinds.session.language_model import MISSING_EXTRA, language_model
from pytest_mcpeval.kinds.session.toolbox import INCIDENTS, CallRefused, Toolbox
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.modules import ImportProblem, described
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.targets.base import TargetStartError
from pytest_mcpeval.targets.threads import EventLoop, Late

if TYPE_CHECKING:
    from pydantic_ai import Agent, Tool

INSTRUCTIONS = (
    "Carry out the task with the tools you are given. A call may be refused; the answer says why, and you "
    "may go on with other tools. When you are done, say in a few sentences what you found out or did."
)


def run_model(model: AgentModel, task: str, toolbox: Toolbox) -> Account:
    """Let a language model work on a task with the tools of the guard.

    Raises:
        TargetStartError: pydantic-ai is not installed, there is no such model, or it cannot be reached.
    """
    name = f"model:{model.model}"
    try:
        from pydantic_ai.exceptions import AgentRunError, ModelAPIError
    except ImportError as error:
        raise TargetStartError("agent", name, MISSING_EXTRA) from error
    loop = EventLoop("mcpeval-agent-loop")
    try:
        agent = _agent(model, name, toolbox)
        return Account(loop.run(_run(agent, task, toolbox), max(0.1, toolbox.seconds_left)))
    except Late:
        return after_failure(toolbox, "timeout", "did not come to an end", late=True)
    except CallRefused as refusal:
        return after_failure(toolbox, "refused", refusal.reason, late=False)
    except ModelAPIError as error:
        raise TargetStartError("agent", name, described(error)) from error
    except INCIDENTS as error:
        raise TargetStartError("agent", name, str(error)) from error
    except AgentRunError as error:
        return after_failure(toolbox, "raised", f"raised {described(error)}", late=False)
    finally:
        loop.close()


async def _run(agent: Agent[None, str], task: str, toolbox: Toolbox) -> str:
    from pydantic_ai import UsageLimits

    # One request for each call, and one more for the answer; refused calls count too.
    limits = UsageLimits(request_limit=2 * toolbox.calls_left + 2)
    return (await agent.run(task, usage_limits=limits)).output


def _agent(model: AgentModel, name: str, toolbox: Toolbox) -> Agent[None, str]:
    from pydantic_ai import Agent

    try:
        found = language_model(model.model or "", Path(model.directory))
    except ImportProblem as error:
        raise TargetStartError("agent", name, str(error)) from error
    return Agent(
        found,
        instructions=model.instructions or INSTRUCTIONS,
        tools=[_tool(guarded, toolbox) for guarded in toolbox.tools],
    )


def _tool(guarded: GuardedTool, toolbox: Toolbox) -> Tool[None]:
    from pydantic_ai import Tool

    async def call(**arguments: Any) -> str:
        try:
            return _as_text(await toolbox.call(guarded.name, arguments))
        except CallRefused as refusal:
            if refusal.ended is not None:
                raise
            return refusal.reason
        except CallError as error:
            return f"error: {error.message}"

    return Tool.from_schema(
        call,
        name=guarded.name,
        description=guarded.tool.description,
        json_schema={"type": "object", "properties": {}, **guarded.tool.input_schema},
    )


def _as_text(response: Response) -> str:
    text = response.text
    if not text and response.structured is not None:
        text = json.dumps(response.structured, ensure_ascii=False)
    kinds = [f"[{block.type}, {block.size} bytes]" for block in response.blocks if block.type != "text"]
    whole = "\n".join([text, *kinds] if text or not kinds else kinds)
    return f"error: {whole}" if response.is_error else whole
