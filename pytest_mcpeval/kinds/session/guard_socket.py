"""The guard behind a Unix socket, for agent programs; each client is served on a thread of its own."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.session.toolbox import Toolbox

SERVER_NAME = "mcpeval"

_BRIDGE = Path(__file__).with_name("guard_bridge.py")
_END_SECONDS = 5.0


class GuardSocket:
    """Listens at a path from `__enter__` to `__exit__`, which ends all clients."""

    def __init__(self, toolbox: Toolbox, path: Path) -> None:
        self._toolbox = toolbox
        self._path = path
        self._lock = threading.Lock()
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._closed = False

    def mcp_config(self) -> dict[str, Any]:
        """What an agent program is told, in the form of ``.mcp.json``: its only server is the guard."""
        command = {"command": sys.executable, "args": ["-I", "-S", str(_BRIDGE), str(self._path)]}
        return {"mcpServers": {SERVER_NAME: {"type": "stdio", **command}}}

    def __enter__(self) -> GuardSocket:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._accepting = threading.Thread(target=self._accept, name="mcpeval-guard-accept", daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            clients = dict(self._clients)
        # Closing alone would not wake the thread that waits in accept.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in (self._accepting, *clients.values()):
            thread.join(_END_SECONDS)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(
                target=self._serve, args=(client,), name="mcpeval-guard-client", daemon=True
            )
            with self._lock:
                if self._closed:
                    client.close()
                    return
                self._clients[client] = thread
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        import anyio

        from pytest_mcpeval.kinds.session.guard_server import serve

        with client, client.makefile("r", encoding="utf-8", newline="\n") as reading:
            with client.makefile("w", encoding="utf-8", newline="\n") as writing, suppress(OSError):
                anyio.run(serve, self._toolbox, reading, writing)
            with self._lock:
                self._clients.pop(client, None)
