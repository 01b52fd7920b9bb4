"""Language models for tests, made with what pydantic-ai offers for that: no network, no keys."""

from __future__ import annotations

import asyncio

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel


def _returned(messages: list[ModelMessage]) -> list[str]:
    parts = (part for message in messages for part in message.parts)
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


def _call(tool: str, **arguments: object) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(tool, arguments)])


def _reads(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    returned = _returned(messages)
    if not returned:
        return _call("mcp__notes__list_notes", limit=1)
    if len(returned) == 1:
        return _call("mcp__notes__delete_note", id="1")
    told = f"{info.instructions} | {len(info.function_tools)} tools | {' | '.join(returned)}"
    return ModelResponse(parts=[TextPart(told)])


def _insists(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    calls = [ToolCallPart("mcp__notes__get_note", {"id": str(number)}) for number in range(3)]
    return ModelResponse(parts=calls)


async def _hangs(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    await asyncio.sleep(3600)
    return ModelResponse(parts=[])


def _is_refused(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    raise ModelHTTPError(401, "some-model", "no such key")


def _talks_nonsense(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return _call("no_such_tool")


def _reviews(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    asked = " ".join(str(part.content) for part in messages[-1].parts if isinstance(part, UserPromptPart))
    return ModelResponse(parts=[TextPart(f"{info.instructions}\n--\n{asked}")])


reads = FunctionModel(_reads)
reviews = FunctionModel(_reviews)
insists = FunctionModel(_insists)
hangs = FunctionModel(_hangs)
is_refused = FunctionModel(_is_refused)
talks_nonsense = FunctionModel(_talks_nonsense)
not_a_model = "gpt"


def calls_one_tool() -> TestModel:
    """A model that calls one tool with made-up arguments, and tells what came back."""
    return TestModel(call_tools=["mcp__notes__get_note"])
