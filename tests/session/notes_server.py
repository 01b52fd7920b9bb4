"""A server in this process that notes every call it is sent: what was dispatched is what it received."""

from __future__ import annotations

import threading
from typing import Any

import mcp_types as types
from mcp.server import Server

Received = list[tuple[str, dict[str, Any]]]

TOOLS: dict[str, dict[str, Any]] = {
    "list_notes": {"limit": {"type": "integer"}, "cursor": {"type": "string"}},
    "get_note": {"id": {"type": "string"}},
    "create_note": {"notebook": {"type": "string"}, "text": {"type": "string"}},
    "delete_note": {"id": {"type": "string"}},
    "get_or_create_note": {"id": {"type": "string"}},
    "frobnicate": {"what": {"type": "string"}},
    "wait": {"seconds": {"type": "number"}},
    "fail": {"message": {"type": "string"}},
    "crash": {},
}

NOTES = [{"id": f"acme/notes#{number}", "title": f"Note {number}"} for number in range(101, 106)]


class NotesServer:
    """The calls that arrived, and a gate that holds back answers while it is closed."""

    def __init__(self, name: str = "notes") -> None:
        self.name = name
        self.received: Received = []
        self.gate = threading.Event()
        self.gate.set()

    def make(self) -> Server[Any]:
        """The MCP server."""
        return Server(self.name, version="1", on_list_tools=self._list, on_call_tool=self._call)

    async def _list(self, context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        listed = [
            types.Tool(name=name, description="", input_schema={"type": "object", "properties": properties})
            for name, properties in TOOLS.items()
        ]
        return types.ListToolsResult(tools=listed)

    async def _call(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        import anyio

        arguments = dict(params.arguments or {})
        self.received.append((params.name, arguments))
        if params.name == "wait":
            await anyio.sleep(arguments["seconds"])
        if params.name == "hold":
            await anyio.to_thread.run_sync(self.gate.wait)
        if params.name == "fail":
            return types.CallToolResult(content=[_text(arguments["message"])], is_error=True)
        return types.CallToolResult(
            content=[_text("done")], structured_content=_answer(params.name, arguments)
        )


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "list_notes":
        start = int(arguments.get("cursor") or 0)
        end = start + int(arguments.get("limit", 2))
        following = {"next_cursor": str(end)} if end < len(NOTES) else {}
        return {"notes": NOTES[start:end], **following}
    return {"ok": True, "arguments": arguments}
