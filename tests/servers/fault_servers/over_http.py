"""A real MCP server over HTTP, on a free port that it prints: ``python over_http.py streamable|sse``."""

from __future__ import annotations

import os
import signal
import socket
import sys

import anyio
import uvicorn
from mcp.server import MCPServer

server: MCPServer = MCPServer("over-http", version="3.4")


@server.tool()
def echo(value: str) -> str:
    """Say it again."""
    return value


@server.tool()
async def sleep(seconds: float) -> str:
    """Take a while."""
    await anyio.sleep(seconds)
    return "slept"


@server.tool()
def huge(size: int) -> str:
    """Many characters."""
    return "x" * size


@server.tool()
def crash() -> str:
    """End the process while answering."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@server.resource("demo://page")
def page() -> str:
    """A page."""
    return "the page"


@server.prompt()
def greet(name: str) -> str:
    """A greeting."""
    return f"Greet {name}."


def main(transport: str, port: int) -> None:
    app = server.sse_app() if transport == "sse" else server.streamable_http_app()
    with socket.create_server(("127.0.0.1", port), reuse_port=False) as listener:
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
