"""Servers in the process of the run itself: ``module: pkg.mod:object``."""

from __future__ import annotations

import asyncio
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from pytest_mcpeval.servers import CallError, Connections, ServerDefinition, ServerStartError

from .conftest import Define

SOURCE = """
import threading
from mcp.server import MCPServer

server = MCPServer("inside", version="9")
released = threading.Event()

@server.tool()
def double(value: int) -> int:
    return 2 * value

@server.tool()
def block() -> str:
    released.wait()
    return "released"

@server.tool()
def raises() -> str:
    raise ValueError("bad page")

def make():
    return server

def broken():
    raise LookupError("no index")

class space:
    nested = server
    number = 5
"""


@pytest.fixture
def define(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Define:
    (tmp_path / "inside_server.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "inside_server", raising=False)

    return partial(ServerDefinition, "inside", "module", directory=tmp_path)


@pytest.mark.parametrize("name", ["server", "make", "space.nested"])
def test_a_server_object_or_what_returns_one(connections: Connections, define: Define, name: str) -> None:
    connection = connections.get(define(module=f"inside_server:{name}"))
    assert (connection.server_name, connection.server_version) == ("inside", "9")
    response = connection.call_tool("double", {"value": 21})
    assert (response.text, response.structured) == ("42", {"result": 42})
    assert connection.call_tool("raises").is_error


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("no_such_module:server", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("inside_server:nothing", "AttributeError: module 'inside_server' has no attribute 'nothing'"),
        (
            "inside_server:space.number",
            "expected an mcp Server or MCPServer or a function returning one, got int",
        ),
    ],
)
def test_a_module_without_the_server(
    connections: Connections, define: Define, module: str, reason: str
) -> None:
    with pytest.raises(ServerStartError) as raised:
        connections.get(define(module=module))
    assert str(raised.value) == f"server 'inside' did not start: {reason}\n  run as:  {module}"


def test_a_function_that_fails_names_its_line(
    connections: Connections, define: Define, tmp_path: Path
) -> None:
    with pytest.raises(ServerStartError) as raised:
        connections.get(define(module="inside_server:broken"))
    line = SOURCE.splitlines().index('    raise LookupError("no index")') + 1
    assert raised.value.reason == f"LookupError: no index (at {tmp_path / 'inside_server.py'}:{line})"


def test_a_blocking_tool_is_left_behind(connections: Connections, define: Define) -> None:
    connection = connections.get(define(module="inside_server:server"))
    with pytest.raises(CallError) as raised:
        connection.call_tool("block", timeout=0.3)
    assert raised.value.reason == "timeout"
    assert connections.get(define(module="inside_server:server")) is connection
    assert connection.call_tool("double", {"value": 1}).text == "2"
    sys.modules["inside_server"].released.set()


def test_a_future_fits_into_a_loop(connections: Connections, define: Define) -> None:
    connection = connections.get(define(module="inside_server:server"))

    async def both() -> list[str]:
        futures = [connection.start_tool("double", {"value": value}) for value in (1, 2)]
        return [response.text for response in await asyncio.gather(*map(asyncio.wrap_future, futures))]

    assert asyncio.run(both()) == ["2", "4"]


def test_one_server_for_many_threads(connections: Connections, define: Define) -> None:
    definition = define(module="inside_server:server")
    found = []
    threads = [threading.Thread(target=lambda: found.append(connections.get(definition))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
