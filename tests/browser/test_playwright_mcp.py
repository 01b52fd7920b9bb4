"""The Playwright MCP server: where it is found, and what is told of versions that are too old."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval import BrowserError
from pytest_mcpeval.browser.control import PageError
from pytest_mcpeval.browser.playwright_mcp import find_server
from pytest_mcpeval.browser.playwright_mcp_page import Tools
from pytest_mcpeval.servers import Connections, ServerDefinition

OLD_SERVER = '''
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

server = MCPServer("old")


@server.tool()
def browser_click(ref: Annotated[str, Field(description="Exact element reference from the snapshot")]) -> str:
    """Click."""
    return "### Result"


@server.tool()
def browser_type(
    ref: Annotated[str, Field(description="Exact target element reference, or a unique element selector")],
) -> str:
    """Type."""
    return "### Result"


@server.tool()
def browser_press_key(key: str) -> str:
    """Press a key: an error, told as a result."""
    raise ToolError("no page")
'''


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_server_is_found_in_node_modules_above_or_on_the_path(tmp_path: Path) -> None:
    below = tmp_path / "project" / "tests"
    below.mkdir(parents=True)
    on_path = {"PATH": str(tmp_path / "bin")}
    with pytest.raises(BrowserError, match="run `npm install @playwright/mcp`, or use `driver: playwright`"):
        find_server(on_path, below)
    older_name = program(tmp_path / "bin" / "mcp-server-playwright")
    assert find_server(on_path, below) == str(older_name)
    local = program(tmp_path / "project" / "node_modules" / ".bin" / "playwright-mcp")
    assert find_server(on_path, below) == str(local)


def test_tools_are_used_as_their_schemas_say(tmp_path: Path) -> None:
    (tmp_path / "old_playwright.py").write_text(OLD_SERVER, encoding="utf-8")
    old = ServerDefinition("old", "module", module="old_playwright:server", directory=tmp_path)
    with Connections() as connections:
        tools = Tools(connections.get(old))
        assert tools.element_argument("browser_type") == "ref"
        with pytest.raises(
            PageError, match=r"browser_click of this .* takes no selectors: install a newer one"
        ):
            tools.element_argument("browser_click")
        assert tools.name_of("browser_run_code_unsafe", "browser_run_code") is None
        with pytest.raises(PageError, match="no page"):
            tools.call("browser_press_key", {"key": "Enter"})
