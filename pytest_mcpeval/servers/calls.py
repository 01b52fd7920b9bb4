"""The requests an eval makes: tools, resources, prompts.

Imports mcp: import this module only when a connection is opened.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.client.session import ClientSession
from pydantic import BaseModel, TypeAdapter

from pytest_mcpeval.servers import content
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.servers.session import Session
from pytest_mcpeval.servers.tools import Tool

_Required = types.InputRequiredResult
_TOOL: TypeAdapter[types.CallToolResult | _Required] = TypeAdapter(types.CallToolResult | _Required)
_RESOURCE: TypeAdapter[types.ReadResourceResult | _Required] = TypeAdapter(
    types.ReadResourceResult | _Required
)
_PROMPT: TypeAdapter[types.GetPromptResult | _Required] = TypeAdapter(types.GetPromptResult | _Required)
_MOST_PAGES = 1000
_NAMES_SHOWN = 12


async def call_tool(
    session: Session, name: str, arguments: Mapping[str, Any] | None, timeout: float
) -> Response:
    """Call a tool.

    Raises:
        CallError: No answer that could be judged; ``unknown_tool`` if the server lists no such tool.
    """
    return (await call_tool_verbatim(session, name, arguments, timeout))[0]


async def call_tool_verbatim(
    session: Session, name: str, arguments: Mapping[str, Any] | None, timeout: float
) -> tuple[Response, types.CallToolResult]:
    """Like `call_tool`, with the result as the server sent it beside what is reduced from it."""
    # Not Client.call_tool: it lists all tools before the first answer, and it keeps back a result that breaks
    # its output schema, which is for the checks to judge.
    params = types.CallToolRequestParams(name=name, arguments=dict(arguments or {}))
    request = types.CallToolRequest(params=params)
    _require_sendable(params, what := f"the call of {name[:80]!r}")

    async def send(client: ClientSession) -> types.CallToolResult | types.InputRequiredResult:
        try:
            return await client.send_request(request, _TOOL, timeout)
        except MCPError as error:
            if error.code != types.HEADER_MISMATCH:
                raise
        # The protocol's remedy: the listing tells which arguments must be repeated as HTTP headers.
        await _all_tools(client)
        return await client.send_request(request, _TOOL, timeout)

    try:
        result, latency = await session.perform(send, timeout, what)
    except CallError as error:
        if error.reason == "protocol":
            await _require_tool(session, name, timeout, is_rejection=error.is_rejection)
        raise
    if result.is_error:
        await _require_tool(session, name, timeout, is_rejection=True)
    schema = next((tool.output_schema for tool in session.tools or () if tool.name == name), None)
    return replace(content.tool_response(result), latency_ms=latency, output_schema=schema), result


async def read_resource(session: Session, uri: str, timeout: float) -> Response:
    """Read a resource.

    Raises:
        CallError: No answer that could be judged.
    """
    params = types.ReadResourceRequestParams(uri=uri)
    request = types.ReadResourceRequest(params=params)
    _require_sendable(params, what := f"reading {uri[:200]!r}")
    result, latency = await session.perform(
        lambda client: client.send_request(request, _RESOURCE, timeout), timeout, what
    )
    return replace(content.resource_response(result), latency_ms=latency)


async def get_prompt(
    session: Session, name: str, arguments: Mapping[str, str] | None, timeout: float
) -> Response:
    """Get a prompt.

    Raises:
        CallError: No answer that could be judged.
    """
    params = types.GetPromptRequestParams(name=name, arguments=dict(arguments or {}))
    request = types.GetPromptRequest(params=params)
    _require_sendable(params, what := f"prompt {name[:80]!r}")
    result, latency = await session.perform(
        lambda client: client.send_request(request, _PROMPT, timeout), timeout, what
    )
    return replace(content.prompt_response(result), latency_ms=latency)


def _require_sendable(params: BaseModel, what: str) -> None:
    """Refuse what cannot be written as JSON in UTF-8: tried by a transport, it ends the connection."""
    try:
        params.model_dump_json(by_alias=True)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        if "surrogates not allowed" in reason:
            reason = "a text has half of a surrogate pair, which UTF-8 cannot express"
        raise CallError("protocol", f"{what} cannot be sent: {reason}") from None


async def list_tools(session: Session, timeout: float, fresh: bool = False) -> tuple[Tool, ...]:
    """All tools, remembered after the first time.

    Raises:
        CallError: The server did not list them.
    """
    if session.tools is None or fresh:
        listed, _ = await session.perform(_all_tools, timeout, "listing the tools")
        session.tools = tuple(Tool.of(tool) for tool in listed)
    return session.tools


async def _all_tools(client: ClientSession) -> list[types.Tool]:
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(
            params=None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
        )
        tools.extend(page.tools)
        if page.next_cursor in (None, cursor):
            break
        cursor = page.next_cursor
    return tools


async def _require_tool(session: Session, name: str, timeout: float, *, is_rejection: bool) -> None:
    """After a failure: raise `CallError` if the reason is that there is no such tool.

    ``is_rejection`` says that the server itself turned the call down.
    """
    try:
        known = {tool.name for tool in await list_tools(session, timeout)}
        if name not in known:
            known = {tool.name for tool in await list_tools(session, timeout, fresh=True)}
    except CallError:
        return
    if name in known:
        return
    near = difflib.get_close_matches(name, known, 3, 0.5)
    listed = ", ".join(sorted(known)[:_NAMES_SHOWN]) or "no tools at all"
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {listed}"
    message = f"server {session.definition.name!r} has no tool {name[:80]!r}: {hint}"
    raise CallError("unknown_tool", message, is_rejection=is_rejection)
