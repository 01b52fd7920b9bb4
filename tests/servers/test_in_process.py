"""Servers in the process of the run itself: ``module: pkg.mod:object``."""

from __future__ import annotations

import asyncio
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from pytest_mcpeval.servers import CallError, Connections, ServerDefinition, ServerStartError
from tests.support import Project, case

from .conftest import Define

SOURCE = """
import threading
import time
from contextlib import asynccontextmanager
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
async def sleeps() -> str:
    while not released.is_set():
        time.sleep(0.01)
    return "woke up"

@server.tool()
def raises() -> str:
    raise ValueError("bad page")

def make():
    return server

@asynccontextmanager
async def at_start(_):
    released.wait()
    yield {}

@asynccontextmanager
async def at_end(_):
    yield {}
    released.wait()

starting = MCPServer("starting", lifespan=at_start)
ending = MCPServer("ending", lifespan=at_end)

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
    assert str(raised.value).startswith(f"server 'inside' did not start: {reason}")
    assert str(raised.value).endswith(f"\n  run as:  {module}")


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


def test_a_server_that_blocks_its_event_loop_meets_the_time_limit_and_harms_nobody(
    connections: Connections, define: Define, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_mcpeval.servers.connection._BLOCKED_SECONDS", 1.0)
    blocking = define(module="inside_server:server", origin="mcpeval.yaml:3")
    other = connections.get(define(module="inside_server:make"))
    connection = connections.get(blocking)
    with pytest.raises(
        CallError, match=r"no answer within 0.2 s: the server blocks its event loop"
    ) as raised:
        connection.call_tool("sleeps", timeout=0.2)
    assert raised.value.reason == "timeout"
    assert other.call_tool("double", {"value": 2}).text == "4"
    for fresh in (False, True):
        with pytest.raises(ServerStartError, match="it has blocked its event loop before") as refused:
            connections.get(blocking, fresh=fresh)
        assert "defined: mcpeval.yaml:3" in str(refused.value)
    sys.modules["inside_server"].released.set()


def test_a_call_that_is_awaited_ends_with_a_blocked_loop(
    connections: Connections, define: Define, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_mcpeval.servers.connection._BLOCKED_SECONDS", 1.0)
    connection = connections.get(define(module="inside_server:server"))

    async def both() -> list[object]:
        futures = [connection.start_tool(name, timeout=0.2) for name in ("sleeps", "raises")]
        return list(await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True))

    assert all(isinstance(found, CallError) for found in asyncio.run(both()))
    sys.modules["inside_server"].released.set()


def test_a_lifespan_that_blocks_at_the_start_is_a_server_that_did_not_start(
    connections: Connections, define: Define, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_mcpeval.servers.connection._BLOCKED_SECONDS", 1.0)
    with pytest.raises(ServerStartError, match=r"no handshake within 0.3 s: the server blocks its event"):
        connections.get(define(module="inside_server:starting", start_timeout=0.3))
    sys.modules["inside_server"].released.set()


def test_a_lifespan_that_blocks_at_the_end_is_left_behind(
    connections: Connections, define: Define, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_mcpeval.servers.connections._CLOSE_SECONDS", 0.5)
    monkeypatch.setattr("pytest_mcpeval.servers.thread._STOP_SECONDS", 0.5)
    connections.get(define(module="inside_server:ending"))
    connections.close()
    sys.modules["inside_server"].released.set()


BLOCKING = """
import time
from mcp.server import MCPServer

server = MCPServer("blocking")

@server.tool()
async def spin() -> str:
    while True:
        pass

@server.tool()
async def sleep() -> str:
    time.sleep(3600)
    return ""
"""


@pytest.mark.parametrize("tool", ["spin", "sleep"])
def test_a_run_with_a_server_that_blocks_ends(tmp_path: Path, tool: str) -> None:
    project = Project.at(tmp_path)
    project.write("blocking.py", BLOCKING)
    servers = {"tiny": {"module": "server:server"}, "bad": {"module": "blocking:server"}}
    project.write_json(".mcp.json", {"mcpServers": servers})
    blocked = [case(f"b{number}", tool, server="bad", timeout=0.5) for number in (1, 2)]
    project.suite("a.yaml", *blocked, case("after", server="tiny"))
    run = project.run("-vv", "datasets", timeout=60)
    assert run.line_with("datasets/a.yaml::b1 FAILED")
    assert run.line_with("datasets/a.yaml::b2 ERROR")
    assert run.line_with("datasets/a.yaml::after PASSED")
    assert "no answer within 0.5 s: the server blocks its event loop" in run.out
    assert "it has blocked its event loop before" in run.out
