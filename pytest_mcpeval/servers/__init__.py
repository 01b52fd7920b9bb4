"""MCP servers: which exist, how they are reached, and what they answer. Usable without pytest.

Importing this package costs next to nothing; mcp is imported when the first connection is opened.
"""

from __future__ import annotations

from pytest_mcpeval.servers.connection import DEFAULT_TIMEOUT, Connection
from pytest_mcpeval.servers.connections import Connections
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import CallError, ServerConfigError, ServerStartError
from pytest_mcpeval.servers.response import Block, Response
from pytest_mcpeval.servers.tools import Tool
from pytest_mcpeval.servers.variables import apply_mcp_url, expand

__all__ = [
    "DEFAULT_TIMEOUT",
    "Block",
    "CallError",
    "Connection",
    "Connections",
    "Response",
    "ServerConfigError",
    "ServerDefinition",
    "ServerStartError",
    "Tool",
    "apply_mcp_url",
    "expand",
]
