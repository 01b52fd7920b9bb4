"""Servers for the tests, and the proof that nothing is left of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from pytest_mcpeval.servers import Connections, ServerDefinition

FAULT_SERVERS = Path(__file__).parent / "fault_servers"
GONE_SECONDS = 10

Define = Callable[..., ServerDefinition]


def runs(pid: int) -> bool:
    """Whether there is such a process; one that ended and waits for init to collect it does not count."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def connections() -> Iterator[Connections]:
    """Connections that are closed after the test, and then no process of theirs may be left."""
    before = set(psutil.Process().children(recursive=True))
    with Connections() as opened:
        yield opened
    left = set(psutil.Process().children(recursive=True)) - before
    assert {process.pid for process in left} <= HttpServer.pids


@pytest.fixture
def faulty() -> Define:
    """Defines the faulty server: ``faulty()``, or ``faulty("hang")`` for a way to fail at start."""

    def define(*start: str, **fields: object) -> ServerDefinition:
        arguments = (str(FAULT_SERVERS / "faulty.py"), *start)
        return ServerDefinition("faulty", "stdio", sys.executable, arguments, **fields)  # type: ignore[arg-type]

    return define


class HttpServer:
    """The server of ``over_http.py`` in a process of its own. ``pids`` are those of all of them."""

    pids: ClassVar[set[int]] = set()

    def __init__(self, transport: str) -> None:
        self.transport = transport
        self.port = 0
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, str(FAULT_SERVERS / "over_http.py"), self.transport, str(self.port)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.pids.add(process.pid)
        assert process.stdout is not None
        self.port = int(process.stdout.readline())
        return process

    @property
    def definition(self) -> ServerDefinition:
        sse = self.transport == "sse"
        url = f"http://127.0.0.1:{self.port}/{'sse' if sse else 'mcp'}"
        return ServerDefinition(self.transport, "sse" if sse else "http", url=url)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def restart(self) -> None:
        """End the process, if it has not ended by itself, and start another on the same port."""
        self.stop()
        self.process = self._start()


# One server for a whole module: whoever stops it starts it again.
@pytest.fixture(scope="module")
def streamable() -> Iterator[HttpServer]:
    server = HttpServer("streamable")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def sse() -> Iterator[HttpServer]:
    server = HttpServer("sse")
    yield server
    server.stop()
