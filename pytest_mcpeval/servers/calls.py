"""The requests an eval makes: tools, resources, prompts.

Imports mcp: import this module only when a connection is opened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
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
from pytest_mcpeval.servers.tools import Prompt, Tool, unlisted

_Required = types.InputRequiredResult
_TOOL: TypeAdapter[types.CallToolResult | _Required] = TypeAdapter(types.CallToolResult | _Required)
_RESOURCE: TypeAdapter[types.ReadResourceResult | _Required] = TypeAdapter(
    types.ReadResourceResult | _Required
)
_PROMPT: TypeAdapter[types.GetPromptResult | _Required] = TypeAdapter(types.GetPromptResult | _Required)
_MOST_PAGES = 1000


async def call_tool(
    session: Session, name: str, arguments: Mapping[str, Any] | None, timeout: float, any_name: bool = False
) -> Response:
    """Call a tool; with ``any_name``, one that the server does not list is rejected in the server's words.

    Raises:
        CallError: No answer that could be judged; ``unknown_tool`` if the server lists no such tool.
    """
    return (await call_tool_verbatim(session, name, arguments, timeout, any_name))[0]


async def call_tool_verbatim(
    session: Session, name: str, arguments: Mapping[str, Any] | None, timeout: float, any_name: bool = False
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
        await _pages(client.list_tools)
        return await client.send_request(request, _TOOL, timeout)

    try:
        result, latency = await session.perform(send, timeout, what)
    except CallError as error:
        if error.reason == "protocol" and not any_name:
            await _require_tool(session, name, timeout, is_rejection=error.is_rejection)
        raise
    if result.is_error and not any_name:
        await _require_tool(session, name, timeout, is_rejection=True)
    schema = next((tool.output_schema for tool in session.tools or () if tool.name == name), None)
    return replace(
        content.tool_response(result), latency_ms=latency, time_limit_ms=1000 * timeout, output_schema=schema
    ), result


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
    return replace(content.resource_response(result), latency_ms=latency, time_limit_ms=1000 * timeout)


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
    return replace(content.prompt_response(result), latency_ms=latency, time_limit_ms=1000 * timeout)


def _require_sendable(params: BaseModel, what: str) -> None:
    """Refuse what cannot be written as JSON in UTF-8: tried by a transport, it ends the connection."""
    try:
        params.model_dump_json(by_alias=True)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        if "surrogates not allowed" in reason:
            reason = "a text has half of a surrogate pair, which UTF-8 cannot encode"
        raise CallError("protocol", f"{what} cannot be sent: {reason}") from None


async def list_tools(session: Session, timeout: float, fresh: bool = False) -> tuple[Tool, ...]:
    """All tools, remembered until the server says that they changed, or a ``fresh`` list is asked for.

    Raises:
        CallError: The server did not list them, or its list has no end.
    """

    async def send(client: ClientSession) -> list[types.ListToolsResult]:
        # One listing at a time: those who wait meanwhile share it.
        async with session.listing:
            if session.tools is not None and not session.tools_changed and not fresh:
                return []
            session.tools_changed = False
            pages: list[types.ListToolsResult] = await _pages(client.list_tools)
            if not pages[-1].next_cursor:
                session.tools = tuple(Tool.of(tool) for page in pages for tool in page.tools)
            return pages

    if session.tools is None or session.tools_changed or fresh:
        pages, _ = await session.perform(send, timeout, "listing the tools")
        _require_end(pages, "tools")
    return session.tools or ()


async def list_prompts(session: Session, timeout: float) -> tuple[Prompt, ...]:
    """All prompts of a server.

    Raises:
        CallError: The server did not list them, or its list has no end.
    """
    pages, _ = await session.perform(
        lambda client: _pages(client.list_prompts), timeout, "listing the prompts"
    )
    _require_end(pages, "prompts")
    return tuple(Prompt.of(prompt) for page in pages for prompt in page.prompts)


async def list_resources(session: Session, timeout: float) -> tuple[list[str], list[str]]:
    """The URIs of all resources of a server, and all its templates of such URIs.

    Raises:
        CallError: The server did not list them, or its list has no end.
    """
    resources, _ = await session.perform(
        lambda client: _pages(client.list_resources), timeout, "listing the resources"
    )
    templates, _ = await session.perform(
        lambda client: _pages(client.list_resource_templates), timeout, "listing the resource templates"
    )
    _require_end(resources, "resources")
    _require_end(templates, "resource templates")
    return (
        [str(found.uri) for page in resources for found in page.resources],
        [found.uri_template for page in templates for found in page.resource_templates],
    )


async def _pages(ask: Callable[..., Awaitable[Any]]) -> list[Any]:
    """The pages of a list, up to the last, or to one whose cursor came before."""
    pages: list[Any] = []
    cursors = {""}
    while True:
        cursor = pages[-1].next_cursor if pages else None
        pages.append(await ask(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None))
        found = pages[-1].next_cursor
        if found is None or found in cursors or len(pages) == _MOST_PAGES:
            return pages
        cursors.add(found)


def _require_end(pages: Iterable[Any], what: str) -> None:
    cursors = [page.next_cursor for page in pages]
    if not cursors or not cursors[-1]:
        return
    found = f"the cursor {cursors[-1][:80]!r} came twice"
    if cursors[-1] not in cursors[:-1]:
        found = f"there is no end after {_MOST_PAGES:,} pages"
    raise CallError("protocol", f"the server's list of {what} has no end: {found}")


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
    message = unlisted(session.definition.name, "tool", name, known)
    raise CallError("unknown_tool", message, is_rejection=is_rejection)
