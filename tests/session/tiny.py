"""A server with one tool, that knows which tools it has."""

from __future__ import annotations

from mcp.server import MCPServer

server = MCPServer("tiny", log_level="ERROR")


@server.tool()
def get_note(id: str) -> str:
    """Return a note."""
    return f"note {id}"
