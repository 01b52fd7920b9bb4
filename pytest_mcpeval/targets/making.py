"""Settings → target."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.servers.variables import expanded
from pytest_mcpeval.targets.base import Codec, Target, TargetStartError
from pytest_mcpeval.targets.command import CommandTarget
from pytest_mcpeval.targets.functions import FixtureTarget, PythonTarget
from pytest_mcpeval.targets.http_request import HttpTarget
from pytest_mcpeval.targets.mcp_tool import McpTarget
from pytest_mcpeval.targets.settings import TargetModel, ToolModel
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.core.suite import Suite
    from pytest_mcpeval.servers.connection import Connection

Connect = Callable[[ServerDefinition], "Connection"]
"""Opens the connection to a server, or finds it; raises `ServerStartError` or `ServerConfigError`."""


@dataclass(frozen=True)
class Surroundings:
    """What targets need of the run they are asked in.

    ``fixtures`` are the values of pytest fixtures by name. ``environ`` is where variables are looked up.
    ``timeout`` is in seconds, for each request.
    """

    servers: Mapping[str, ServerDefinition] = field(default_factory=dict)
    connection: Connect | None = None
    fixtures: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    timeout: float = 60.0

    @classmethod
    def of(cls, suite: Suite[Any], context: RunContext, timeout: float) -> Surroundings:
        """Those of the cases of a suite."""
        return cls(suite.servers, context.connection, context.fixtures, timeout=timeout)


def make_target(model: TargetModel, codec: Codec, around: Surroundings) -> Target:
    """The target that settings describe, not opened yet: nothing is imported, started or asked.

    Raises:
        TargetStartError: It needs a server or a fixture that there is not.
    """
    if model.python is not None:
        return PythonTarget(codec, model.python, Path(model.directory), around.timeout)
    if (name := model.fixture) is not None:
        if name not in around.fixtures:
            reason = "a pytest fixture has a value in a test only"
            raise TargetStartError(codec.role, f"fixture:{name}", reason)
        return FixtureTarget(codec, name, around.fixtures[name], around.timeout)
    if model.mcp is not None:
        return _tool(model.mcp, codec, around, model.public)
    definition = _definition(model)
    if model.command is not None:
        return CommandTarget(codec, definition, around.environ, around.timeout)
    assert model.http is not None
    return HttpTarget(codec, definition, around.environ, around.timeout, model.http.content())


def _tool(model: ToolModel, codec: Codec, around: Surroundings, public: Iterable[str]) -> Target:
    role, name = codec.role, f"mcp: {model.tool} of {model.server}"
    if model.server not in around.servers:
        known = ", ".join(sorted(around.servers)) or "none"
        raise TargetStartError(role, name, f"no server {model.server!r} is defined (defined: {known})")
    if around.connection is None:
        raise TargetStartError(role, name, "there is nothing to open connections with")
    connect = partial(around.connection, around.servers[model.server])
    redactor.publish(public)
    try:
        arguments = expanded(model.arguments, around.environ, f"{role} {name}", "arguments")
    except ServerConfigError as error:
        raise TargetStartError(role, name, str(error)) from None
    return McpTarget(codec, name, model.tool, arguments, connect, around.timeout)


def _definition(model: TargetModel) -> ServerDefinition:
    """What to run or to ask, in the form whose variables and secrets are understood already."""
    if model.http is not None:
        url, headers = model.http.url, model.http.headers
        return ServerDefinition(model.role, "http", url=url, headers=headers, public=tuple(model.public))
    command, *arguments = model.command or [""]
    return ServerDefinition(
        model.role,
        "stdio",
        command=command,
        args=tuple(arguments),
        env=model.env,
        directory=Path(model.directory),
        public=tuple(model.public),
    )
