"""Servers in the process of the run itself: ``module: pkg.mod:object``."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path

import pytest

from pytest_mcpeval import CallError, ServerStartError
from pytest_mcpeval.servers import Connections, ServerDefinition
from tests.support import Project, case

from .conftest import Define

SOURCE = """
import asyncio
import sys
import threading
import time
from contextlib import asynccontextmanager
import pytest
from mcp.server import MCPServer

server = MCPServer("inside", version="9")
released, began, ended = threading.Event(), threading.Event(), threading.Event()

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

@server.tool()
async def leaves() -> str:
    sys.exit(3)

@server.tool()
def leaves_a_thread() -> str:
    raise SystemExit("bye")

@server.tool()
async def interrupts() -> str:
    raise KeyboardInterrupt

@server.tool()
async def skips() -> str:
    pytest.skip("no")

@server.tool()
async def leaves_a_group() -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(leaves())
    return ""

@server.tool()
async def leaves_a_task() -> str:
    task = asyncio.create_task(leaves())
    await asyncio.sleep(30)
    return ""

@server.tool()
async def waits() -> str:
    began.set()
    try:
        await asyncio.sleep(3600)
    finally:
        ended.set()
    return ""

@server.tool()
async def cancels() -> str:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(30)
    return ""

@server.tool()
async def stops() -> str:
    asyncio.get_running_loop().stop()
    return "stopped"

@asynccontextmanager
async def cancels_at_start(_):
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(30)
    yield {}

cancelling = MCPServer("cancelling", lifespan=cancels_at_start)

def make():
    asyncio.run(asyncio.sleep(0))
    return server

@asynccontextmanager
async def exits(_):
    sys.exit(5)
    yield {}

exiting = MCPServer("exiting", lifespan=exits)

def leaving():
    sys.exit(6)

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


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("leaves", "SystemExit: 3"),
        ("leaves_a_thread", "SystemExit: bye"),
        ("interrupts", "KeyboardInterrupt"),
        ("skips", "Skipped: no"),
        ("leaves_a_group", "SystemExit: 3"),
    ],
)
def test_what_would_end_a_process_is_a_crash_of_the_server_alone(
    connections: Connections, define: Define, tool: str, words: str
) -> None:
    other = connections.get(define(module="inside_server:make"))
    connection = connections.get(define(module="inside_server:server"))
    with pytest.raises(CallError) as raised:
        connection.call_tool(tool)
    assert raised.value.reason == "crashed"
    assert not raised.value.is_rejection
    assert raised.value.message.startswith(f"the server crashed during the call of {tool!r}: {words} (at ")
    again = connections.get(define(module="inside_server:server"))
    assert again is not connection
    assert again.call_tool("double", {"value": 3}).text == "6"
    assert other.call_tool("double", {"value": 2}).text == "4"


def test_a_server_that_stops_its_loop_or_cancels_everything_harms_itself_at_most(
    connections: Connections, define: Define
) -> None:
    definition = define(module="inside_server:server")
    assert connections.get(definition).call_tool("stops").text == "stopped"
    with pytest.raises(CallError, match="the server cancelled all tasks of its thread") as raised:
        connections.get(definition).call_tool("cancels")
    assert raised.value.reason == "crashed"
    assert connections.get(definition).call_tool("double", {"value": 3}).text == "6"
    with pytest.raises(ServerStartError, match="it was cancelled while it started"):
        connections.get(define(module="inside_server:cancelling"))


def test_a_call_that_its_caller_cancels_is_cancelled(connections: Connections, define: Define) -> None:
    future = connections.get(define(module="inside_server:server")).start_tool("waits")
    assert sys.modules["inside_server"].began.wait(30)
    future.cancel()
    with pytest.raises(CancelledError):
        future.result(5)
    assert sys.modules["inside_server"].ended.wait(30)


def test_a_task_of_a_server_that_raises_systemexit_does_not_end_the_loop(
    connections: Connections, define: Define
) -> None:
    connection = connections.get(define(module="inside_server:server"))
    with pytest.raises(CallError) as raised:
        connection.call_tool("leaves_a_task", timeout=0.3)
    assert raised.value.reason == "timeout"
    assert connection.call_tool("double", {"value": 3}).text == "6"


@pytest.mark.parametrize(
    ("module", "words"), [("exiting", "SystemExit: 5"), ("leaving", "SystemExit: 6 (at ")]
)
def test_a_server_that_leaves_while_it_starts_did_not_start(
    connections: Connections, define: Define, module: str, words: str
) -> None:
    with pytest.raises(ServerStartError) as raised:
        connections.get(define(module=f"inside_server:{module}"))
    assert raised.value.reason.startswith(words)
    assert (
        connections.get(define(module="inside_server:server")).call_tool("double", {"value": 1}).text == "2"
    )


@pytest.mark.parametrize("waiting", ["time.sleep(0.01)", "pass"])
def test_a_module_that_blocks_while_it_is_imported_meets_the_time_limit(
    connections: Connections, define: Define, tmp_path: Path, waiting: str
) -> None:
    source = "import time\nfrom pathlib import Path\nwhile not Path(__file__).with_name('go').exists():\n    "
    module = f"endless_{waiting[:4]}"
    path = tmp_path / f"{module}.py"
    path.write_text(source + waiting, encoding="utf-8")
    with pytest.raises(ServerStartError) as raised:
        connections.get(define(module=f"{module}:server", start_timeout=0.3))
    (tmp_path / "go").touch()
    assert raised.value.reason.startswith("its module was not imported within 0.3 s (start_timeout) (at ")
    connection = connections.get(define(module="inside_server:server"))
    assert connection.call_tool("double", {"value": 1}).text == "2"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_DFL)",
            "ValueError: signal only works in main",
        ),
        ("import asyncio\nasyncio.get_event_loop()", "RuntimeError: There is no current event loop"),
    ],
)
def test_a_module_that_needs_the_main_thread_is_told_what_to_do(
    connections: Connections, define: Define, tmp_path: Path, source: str, reason: str
) -> None:
    (tmp_path / "needs_main_thread.py").write_text(source, encoding="utf-8")
    with pytest.raises(ServerStartError) as raised:
        connections.get(define(module="needs_main_thread:server"))
    assert raised.value.reason.startswith(reason)
    assert raised.value.reason.endswith("or give the server a `command`")


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit"])
def test_a_module_that_leaves_while_it_is_imported(
    connections: Connections, define: Define, tmp_path: Path, error: str
) -> None:
    path = tmp_path / "leaving_module.py"
    path.write_text(f"raise {error}", encoding="utf-8")
    with pytest.raises(ServerStartError) as raised:
        connections.get(define(module="leaving_module:server"))
    assert raised.value.reason == f"{error} (at {path}:1)"


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
    monkeypatch.setattr("pytest_mcpeval.servers.connections._STOP_SECONDS", 0.5)
    connections.get(define(module="inside_server:ending"))
    connections.close()
    sys.modules["inside_server"].released.set()


BLOCKING = """
import asyncio
import sys
import time
from contextlib import asynccontextmanager
from mcp.server import MCPServer

@asynccontextmanager
async def ends_never(_):
    yield {}
    while True:
        pass

server = MCPServer("blocking")
leaving = MCPServer("leaving", lifespan=ends_never)

@server.tool()
async def spin() -> str:
    while True:
        pass

@server.tool()
async def sleep() -> str:
    time.sleep(3600)
    return ""

@server.tool()
def spin_in_thread() -> str:
    while True:
        pass

@server.tool()
async def sleep_in_thread() -> str:
    await asyncio.to_thread(time.sleep, 3600)
    return ""

@leaving.tool()
async def leave() -> str:
    sys.exit(3)
"""


def test_a_run_with_servers_that_block_ends(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("conftest.py", "import pytest_mcpeval.servers.connection as c\nc._BLOCKED_SECONDS = 1.0\n")
    project.write("blocking.py", BLOCKING)
    project.write("endless.py", "import time\ntime.sleep(3600)\n")
    servers = {
        "tiny": {"module": "server:server"},
        "endless": {"module": "endless:server", "start_timeout": 1},
        "spin": {"module": "blocking:server"},
        "sleep": {"module": "blocking:server"},
        "threads": {"module": "blocking:server"},
        "leaving": {"module": "blocking:leaving", "start_timeout": 3},
    }
    project.write_json(".mcp.json", {"mcpServers": servers})
    asked = {
        "imported": ("endless", "any"),
        "again": ("endless", "any"),
        "spin": ("spin", "spin"),
        "after-spin": ("spin", "spin"),
        "sleep": ("sleep", "sleep"),
        "after-sleep": ("sleep", "sleep"),
        "thread": ("threads", "spin_in_thread"),
        "to-thread": ("threads", "sleep_in_thread"),
        "leave": ("leaving", "leave"),
        "after-leave": ("leaving", "leave"),
    }
    blocked = [case(name, tool, server=server, timeout=0.5) for name, (server, tool) in asked.items()]
    project.suite("a.yaml", case("before", server="tiny"), *blocked, case("after", server="tiny"))
    # A new interpreter: what is left behind must not keep it from ending.
    run = project.run("--mcpeval-report", "report", timeout=110, columns=200, PYTHONHASHSEED="0")
    found = {one["id"]: one["outcome"] for one in run.report()["suites"]["datasets/a.yaml"]["cases"]}
    errors = {"imported", "again", "after-spin", "after-sleep", "after-leave"}
    expected = {name: "error" if name in errors else "failed" for name in asked}
    assert found == {**expected, "before": "passed", "after": "passed"}
    assert f"its module was not imported within 1 s (start_timeout) (at {tmp_path}/endless.py:2)" in run.out
    assert "no answer within 0.5 s: the server blocks its event loop" in run.out
    assert "it has blocked its event loop before" in run.out
    assert "the call of 'sleep_in_thread' was not answered within 0.5 s" in run.out
    assert "the server crashed during the call of 'leave': SystemExit: 3" in run.out
    assert "no handshake within 3 s: the server blocks its event loop" in run.out
    assert "Event loop is closed" not in run.out + run.err
