"""A Chromium that the Playwright MCP server drives: npm ``@playwright/mcp``, over an MCP connection."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.browser.artifacts import write_private
from pytest_mcpeval.browser.control import ACTION_MS, PageError
from pytest_mcpeval.browser.directive import BrowserError, Directive, DriverOptions
from pytest_mcpeval.browser.finding import find_browser, is_headed
from pytest_mcpeval.browser.login import authorization_of, storage_state_of
from pytest_mcpeval.browser.playwright_mcp_page import McpPage, Tools
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerStartError

if TYPE_CHECKING:
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.connections import Connections

COMMANDS = ("playwright-mcp", "mcp-server-playwright")
PASSED_ON = (
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "PLAYWRIGHT_BROWSERS_PATH",
    "TMPDIR",
)


class PlaywrightMcpBrowser:
    """The browser of one process, behind a server that is restarted if its settings must change."""

    def __init__(self, options: DriverOptions, environ: Mapping[str, str] = os.environ) -> None:
        """Find server and browser, without starting either.

        Raises:
            BrowserError: One is missing.
        """
        self._options = options
        self._environ = environ
        self._command = find_server(environ)
        self._executable = find_browser(options, environ)
        self._headed = is_headed(options, environ)[0]
        self._connections: Connections | None = None
        self._connection: Connection | None = None
        self._settings: tuple[Any, ...] = ()
        self._folder: Path | None = None
        self.name = f"{self._executable.name} (Playwright MCP)"

    @contextmanager
    def page(self, directive: Directive, slot: int) -> Iterator[McpPage]:
        """A page in a fresh context: the server makes one when the last was closed."""
        authorization = authorization_of(directive)
        connection = self._running(directive, slot)
        assert self._folder is not None
        tools = Tools(connection)
        page = McpPage(tools, self._folder, authorization)
        try:
            page.open()
            yield page
        finally:
            try:
                tools.call("browser_close")
            except PageError:
                self.close()

    def _running(self, directive: Directive, slot: int) -> Connection:
        state = storage_state_of(directive)
        settings = (slot, directive.navigation_timeout_ms, json.dumps(state, sort_keys=True))
        if self._connection is not None and self._settings == settings and self._connection.responsive():
            return self._connection
        self.close()
        from pytest_mcpeval.servers.connections import Connections

        self._folder = Path(tempfile.mkdtemp(prefix="mcpeval-browser-"))
        write_private(self._folder / "config.json", json.dumps(self._config(directive, state)).encode())
        self._connections, self._settings = Connections(), settings
        try:
            self._connection = self._connections.get(self._definition(slot))
        except ServerStartError as error:
            self.close()
            raise BrowserError(f"the Playwright MCP server does not start: {error}") from None
        self.name = f"{self._executable.name} (Playwright MCP {self._connection.server_version})"
        return self._connection

    def _definition(self, slot: int) -> ServerDefinition:
        return ServerDefinition(
            name=f"playwright-pool-{slot}",
            transport="stdio",
            command=self._command,
            args=("--config", "config.json"),
            env={name: self._environ[name] for name in PASSED_ON if name in self._environ},
            public=tuple(PASSED_ON),
            cwd=str(self._folder),
        )

    def _config(self, directive: Directive, state: Mapping[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = {"viewport": {"width": 1280, "height": 720}, "acceptDownloads": False}
        return {
            "browser": {
                "browserName": "chromium",
                "isolated": True,
                "launchOptions": {
                    "executablePath": str(self._executable),
                    "headless": not self._headed,
                    "slowMo": self._options.slow_mo_ms,
                    "chromiumSandbox": False,
                },
                "contextOptions": context if state is None else {**context, "storageState": state},
            },
            "capabilities": ["core", "devtools"],
            "outputDir": str(self._folder / "output") if self._folder else None,
            "timeouts": {"action": ACTION_MS, "navigation": directive.navigation_timeout_ms, "settle": 0},
            "snapshot": {"mode": "none"},
            "codegen": "none",
            "imageResponses": "omit",
        }

    def close(self) -> None:
        """End the server, and its browser with it."""
        connections, self._connections = self._connections, None
        folder, self._folder = self._folder, None
        self._connection = None
        if connections is not None:
            connections.close()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def find_server(environ: Mapping[str, str] = os.environ, start: Path | None = None) -> str:
    """The program of the Playwright MCP server: on the PATH, or in a ``node_modules`` here or above.

    Raises:
        BrowserError: There is none.
    """
    here = (start or Path.cwd()).absolute()
    beside = [str(folder / "node_modules" / ".bin") for folder in (here, *here.parents)]
    path = os.pathsep.join([*beside, environ.get("PATH", os.defpath)])
    for command in COMMANDS:
        found = shutil.which(command, path=path)
        if found is not None:
            return found
    raise BrowserError(
        "the driver playwright-mcp needs the Playwright MCP server, and no playwright-mcp was found on the "
        "PATH or in node_modules: run `npm install @playwright/mcp`, or use `driver: playwright`"
    )
