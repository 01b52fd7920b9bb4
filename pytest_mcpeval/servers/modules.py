"""In-process servers: ``pkg.mod:object`` found and called."""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import Any

from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerStartError


def load_server(definition: ServerDefinition) -> Any:
    """The mcp ``Server`` or ``MCPServer`` object, or what the zero-argument callable returns.

    Raises:
        ServerStartError: The module cannot be imported, has no such object, or it is no server.
    """
    from mcp.server import MCPServer, Server

    module, _, path = definition.module.partition(":")
    if definition.directory is not None and str(definition.directory) not in sys.path:
        sys.path.insert(0, str(definition.directory))
    try:
        found: Any = importlib.import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
        if not isinstance(found, MCPServer | Server) and callable(found):
            found = found()
    except Exception as error:
        raise _failure(definition, f"{type(error).__name__}: {error}{_place(error)}") from error
    if not isinstance(found, MCPServer | Server):
        kind = type(found).__name__
        raise _failure(
            definition, f"expected an mcp Server or MCPServer or a function returning one, got {kind}"
        )
    return found


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "importlib" not in frame.filename and frame.filename != __file__]
    return f" (at {own[-1].filename}:{own[-1].lineno})" if own else ""


def _failure(definition: ServerDefinition, reason: str) -> ServerStartError:
    return ServerStartError(definition.name, reason, command=definition.module, origin=definition.origin)
