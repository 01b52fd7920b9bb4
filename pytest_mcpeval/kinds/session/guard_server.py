"""The guard as an MCP server: the tools of all attached servers under ``mcp__<server>__<tool>``.

Imports mcp: import this module only when it is served.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

from pytest_mcpeval.kinds.session.guard import GuardedTool
from pytest_mcpeval.kinds.session.toolbox import INCIDENTS, CallRefused, Toolbox
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.text.visible import visible

if TYPE_CHECKING:
    from typing import TextIO

    from mcp.server import ServerRequestContext

    from pytest_mcpeval.kinds.session.toolbox import Toolbox


NAME = "pytest-mcpeval-guard"

_CALL_SECONDS = 24 * 3600.0
_INSTRUCTIONS = (
    "Tools of several MCP servers, named mcp__<server>__<tool>. Some calls are refused: the answer says why. "
    "When it says that the scenario is over, stop."
)


def guard_server(toolbox: Toolbox) -> Server[Any]:
    """An MCP server around the tools of one scenario, for any transport or in the same process.

    Answers go through as the servers sent them; a refused call is an error result that says why.
    """

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = await asyncio.to_thread(lambda: toolbox.tools)
        return types.ListToolsResult(tools=[_listed(tool) for tool in tools])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            # The client has a time limit of its own; ours is that of the session.
            answer = await toolbox.call_verbatim(params.name, params.arguments or {}, timeout=_CALL_SECONDS)
        except CallRefused as refusal:
            return _error(refusal.reason)
        except (CallError, ValueError, *INCIDENTS) as error:
            return _error(str(error))
        return answer.result

    return Server(
        NAME, version="1", instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _listed(guarded: GuardedTool) -> types.Tool:
    tool = guarded.tool
    return types.Tool.model_validate(
        {
            "name": guarded.name,
            "description": tool.description,
            "inputSchema": dict(tool.input_schema),
            **({"outputSchema": dict(tool.output_schema)} if tool.output_schema else {}),
            **({"annotations": dict(tool.annotations)} if tool.annotations else {}),
        }
    )


def _error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=visible(text))], is_error=True)


async def serve(toolbox: Toolbox, reading: TextIO | None = None, writing: TextIO | None = None) -> None:
    """Serve one client over two text streams, by default standard input and output, until it is gone."""
    server = guard_server(toolbox)
    streams = [None if stream is None else anyio.wrap_file(stream) for stream in (reading, writing)]
    async with stdio_server(*streams) as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def serve_stdio(toolbox: Toolbox) -> None:
    """Serve one client over standard input and output of this process, until it is gone."""
    try:
        anyio.run(serve, toolbox)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")


SERVER_NAME = "mcpeval"

_BRIDGE = Path(__file__).with_name("guard_bridge.py")
_END_SECONDS = 5.0


class GuardSocket:
    """Listens at a path from `__enter__` to `__exit__`, which ends all clients."""

    def __init__(self, toolbox: Toolbox, path: Path) -> None:
        self._toolbox = toolbox
        self._path = path
        self._lock = threading.Lock()
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._closed = False

    def mcp_config(self) -> dict[str, Any]:
        """What an agent program is given, in the form of ``.mcp.json``: its only server is the guard."""
        command = {"command": sys.executable, "args": ["-I", "-S", str(_BRIDGE), str(self._path)]}
        return {"mcpServers": {SERVER_NAME: {"type": "stdio", **command}}}

    def __enter__(self) -> GuardSocket:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._accepting = threading.Thread(target=self._accept, name="mcpeval-guard-accept", daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            clients = dict(self._clients)
        # Closing alone would not wake the thread that waits in accept.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in (self._accepting, *clients.values()):
            thread.join(_END_SECONDS)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(
                target=self._serve, args=(client,), name="mcpeval-guard-client", daemon=True
            )
            with self._lock:
                if self._closed:
                    client.close()
                    return
                self._clients[client] = thread
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        import anyio

        from pytest_mcpeval.kinds.session.guard_server import serve

        with client, client.makefile("r", encoding="utf-8", newline="\n") as reading:
            with client.makefile("w", encoding="utf-8", newline="\n") as writing, suppress(OSError):
                anyio.run(serve, self._toolbox, reading, writing)
            with self._lock:
                self._clients.pop(client, None)
