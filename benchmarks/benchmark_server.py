"""The MCP server of the benchmarks: an answer at once, and an answer after a while."""

from __future__ import annotations

import anyio
from mcp.server import MCPServer

server = MCPServer("benchmark")


@server.tool()
def echo(text: str) -> str:
    """Say the same."""
    return text


@server.tool()
async def wait(seconds: float, text: str) -> str:
    """Say the same, later; other calls are answered meanwhile."""
    await anyio.sleep(seconds)
    return text


if __name__ == "__main__":
    server.run("stdio")
