"""The connections of one process: opened on first use, kept warm, closed together."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from copy import copy
from pathlib import Path

from pytest_mcpeval.loading import garbage_collection_paused
from pytest_mcpeval.servers.connection import Connection
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerConfigError, ServerStartError
from pytest_mcpeval.servers.processes import ProcessFiles
from pytest_mcpeval.servers.thread import ConnectionThread
from pytest_mcpeval.servers.variables import expand

_CLOSE_SECONDS = 12.0
_IMPORTS_MCP = "pytest_mcpeval.servers.session"
# After this time, only in-process servers are left, which may never end.
_STOP_SECONDS = 2.0


class Connections:
    """All connections of a process, on one connection thread; each in-process server has a thread of its own.

    ``definitions`` are the servers that can be asked for by name; any other can be by its definition.
    ``environ`` is where variables of definitions are looked up (default: the environment of the process).
    ``log_directory`` gets the standard error of server processes (default: a temporary directory that is
    removed on close). Safe to use from several threads.
    """

    def __init__(
        self,
        definitions: Mapping[str, ServerDefinition] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        log_directory: Path | None = None,
    ) -> None:
        self._definitions = dict(definitions or {})
        self._environ = os.environ if environ is None else environ
        self._log_directory = log_directory
        self._temporary: Path | None = None
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._opening: dict[ServerDefinition, threading.Lock] = {}
        self._warm: dict[ServerDefinition, Connection] = {}
        self._failed: dict[ServerDefinition, ServerStartError] = {}
        self._opened: list[Connection] = []
        self._threads: dict[ServerDefinition | None, ConnectionThread] = {}
        self._closed = False

    def get(self, server: str | ServerDefinition, *, fresh: bool = False) -> Connection:
        """The connection to a server, opened if it is not; one whose server died is opened again.

        ``fresh`` gives a private one, which the caller closes.

        Raises:
            ServerConfigError: No such server, or its definition cannot be used.
            ServerStartError: It would not start. That is tried once.
        """
        definition = self._named(server) if isinstance(server, str) else server
        with self._lock:
            opening = self._opening.setdefault(definition, threading.Lock())
        # One at a time: two cases that need the same server must not both start it.
        with opening:
            return self._get(definition, fresh)

    def _named(self, name: str) -> ServerDefinition:
        if name not in self._definitions:
            known = ", ".join(sorted(self._definitions)) or "none"
            raise ServerConfigError(f"no server {name!r} is defined (defined: {known})")
        return self._definitions[name]

    def _get(self, definition: ServerDefinition, fresh: bool) -> Connection:
        if (thread := self._threads.get(definition)) is not None and thread.is_blocked:
            reason = (
                "it has blocked its event loop before: a tool or a lifespan that waits must not be `async`"
            )
            raise ServerStartError(
                definition.name, reason, command=definition.display(), origin=definition.origin
            )
        warm = self._warm.get(definition)
        if warm is not None and not fresh:
            if warm.responsive():
                return warm
            del self._warm[definition]
            warm.start_close()
        if definition in self._failed:
            # A copy: one error raised in several threads would gather the traceback of each.
            raise copy(self._failed[definition])
        try:
            # An unusable definition is tried each time: the variable may be set by then.
            connection = self._open(definition)
        except ServerStartError as error:
            self._failed[definition] = error
            raise
        if not fresh:
            self._warm[definition] = connection
        return connection

    def _open(self, definition: ServerDefinition) -> Connection:
        expanded = expand(definition, self._environ)
        _require_directory(expanded)
        thread = self._connection_thread(definition if definition.transport == "module" else None)
        files = self._files(definition.name) if definition.transport == "stdio" else None
        with garbage_collection_paused():
            is_first = _IMPORTS_MCP not in sys.modules
            from pytest_mcpeval.servers.session import Session

            if is_first:
                # mcp is most of what there is, and stays: no search for cycles between calls need visit it.
                gc.freeze()
        session = Session(expanded, definition.url, files)
        connection = Connection(definition, session, thread)
        with self._lock:
            self._opened = [opened for opened in self._opened if not opened.wait_closed(0)]
            self._opened.append(connection)
        connection.open()
        return connection

    def _files(self, server: str) -> ProcessFiles:
        with self._lock:
            directory = self._log_directory
            if directory is None:
                self._temporary = self._temporary or Path(tempfile.mkdtemp(prefix="mcpeval-servers-"))
                directory = self._temporary
        directory.mkdir(parents=True, exist_ok=True)
        return ProcessFiles.create(directory, server, next(self._numbers))

    def _connection_thread(self, server: ServerDefinition | None) -> ConnectionThread:
        """That of an in-process server, or of all others."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the connections are closed")
            if server not in self._threads:
                self._threads[server] = ConnectionThread()
            return self._threads[server]

    def close(self) -> None:
        """End all connections and server processes, within some seconds; a second call does nothing."""
        with self._lock:
            self._closed = True
            opened, self._opened = self._opened, []
            threads, self._threads = list(self._threads.values()), {}
            temporary, self._temporary = self._temporary, None
        for connection in opened:
            connection.start_close()
        deadline = time.monotonic() + _CLOSE_SECONDS
        for connection in opened:
            connection.wait_closed(max(0.0, deadline - time.monotonic()))
        deadline = time.monotonic() + _STOP_SECONDS
        for thread in threads:
            thread.stop(max(0.0, deadline - time.monotonic()))
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)

    def __enter__(self) -> Connections:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _require_directory(definition: ServerDefinition) -> None:
    if definition.cwd is not None and not Path(definition.cwd).is_dir():
        raise ServerStartError(
            definition.name,
            f"its working directory does not exist: {definition.cwd}",
            origin=definition.origin,
        )
