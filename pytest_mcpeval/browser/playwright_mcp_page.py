"""A page behind the tools of the Playwright MCP server."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.browser.artifacts import write_private
from pytest_mcpeval.browser.control import ACTION_MS, COMMAND_SECONDS, PAGE_SCRIPT, PageError, words_of
from pytest_mcpeval.browser.directive import PageAction
from pytest_mcpeval.browser.login import Authorization, redacted_archive
from pytest_mcpeval.servers.errors import CallError

if TYPE_CHECKING:
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.response import Response

MOST_DIALOGS = 10
ELEMENT_POLL_SECONDS = 0.05
ELEMENT_ARGUMENTS = ("target", "ref")

_NO_ELEMENT = re.compile(r"does not match any element", re.IGNORECASE)
_DIALOG = re.compile(r'\["(\w+)" dialog with message "(.*?)"\]', re.DOTALL)
_REQUEST = re.compile(r"\[(\w+)\] (http\S+)")

RUN_CODE = ("browser_run_code_unsafe", "browser_run_code")

STOP_LOADING = """\
async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.stopLoading");
}
"""

AUTHORIZE = """\
async (page) => {
  const session = await page.context().newCDPSession(page);
  session.on("Fetch.requestPaused", (event) => {
    const headers = Object.entries(event.request.headers)
      .filter(([name]) => name.toLowerCase() !== "authorization")
      .map(([name, value]) => ({ name, value }));
    headers.push({ name: "Authorization", value: VALUE });
    session.send("Fetch.continueRequest", { requestId: event.requestId, headers }).catch(() => {});
  });
  await session.send("Fetch.enable", { patterns: [{ urlPattern: PATTERN, requestStage: "Request" }] });
}
"""


class Tools:
    """The tools of a server. Dialogs that a page opens are dismissed, as Playwright for Python does.

    A server does one thing at a time; ``stuck`` means that a call did not end, so it cannot be used any more.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._properties: dict[str, dict[str, Any]] | None = None
        self.stuck = False
        self.dialogs: list[str] = []

    def properties(self, tool: str) -> dict[str, Any] | None:
        """The arguments of a tool by name, from its schema; None when there is no such tool."""
        if self._properties is None:
            try:
                listed = self._connection.list_tools()
            except CallError as error:
                raise PageError(f"the Playwright MCP server: {error}") from None
            self._properties = {
                found.name: dict((found.input_schema or {}).get("properties", {})) for found in listed
            }
        return self._properties.get(tool)

    def name_of(self, *names: str) -> str | None:
        """The first of the tools that exists: versions of the server name them differently."""
        return next((name for name in names if self.properties(name) is not None), None)

    def element_argument(self, tool: str) -> str:
        """The name of the argument that says which element.

        Raises:
            PageError: The version of the server is too old: it takes no selectors.
        """
        properties = self.properties(tool) or {}
        for name in ELEMENT_ARGUMENTS:
            if "selector" in str(properties.get(name, {}).get("description", "")):
                return name
        raise PageError(
            f"the tool {tool} of this Playwright MCP server takes no selectors: install a newer one with "
            "`npm install @playwright/mcp@latest`"
        )

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, own_limit: float = 0.0) -> str:
        """What a tool says. ``own_limit`` is how many seconds the tool may take by its own account.

        Raises:
            PageError: It reports an error, or does not answer.
        """
        for _ in range(MOST_DIALOGS):
            response = self._called(tool, arguments, own_limit + COMMAND_SECONDS)
            dialog = self._dismissed(response.text)
            if dialog and (response.is_error or "### Result" not in response.text):
                if response.is_error or tool == "browser_evaluate":
                    continue
                return response.text
            if response.is_error:
                raise PageError(words_of(response.text.replace("### Error", "").strip()))
            return response.text
        raise PageError(f"the page opened a dialog {MOST_DIALOGS} times in a row")

    def _dismissed(self, text: str) -> bool:
        _, found, state = text.partition("### Modal state")
        if not found:
            return False
        self.dialogs += [f'{kind} "{message}"' for kind, message in _DIALOG.findall(state)]
        is_file_chooser = "file chooser" in state.lower()
        tool = "browser_file_upload" if is_file_chooser else "browser_handle_dialog"
        self._called(tool, {} if is_file_chooser else {"accept": False}, COMMAND_SECONDS)
        return True

    def _called(self, tool: str, arguments: Mapping[str, Any] | None, timeout: float) -> Response:
        if self.stuck:
            raise PageError("the Playwright MCP server still waits for the page")
        try:
            return self._connection.call_tool(tool, arguments, timeout=timeout)
        except CallError as error:
            self.stuck = error.reason == "timeout"
            raise PageError(f"the Playwright MCP server: {words_of(str(error))}") from None


class McpPage:
    """A `PageControl`: the one page of a server. ``folder`` is where the server may write."""

    def __init__(self, tools: Tools, folder: Path, authorization: Authorization | None) -> None:
        self._tools = tools
        self._folder = folder
        self._authorization = authorization
        self._shots = 0

    def open(self) -> None:
        """Begin the context: a trace, and credentials."""
        if self._tools.name_of("browser_start_tracing"):
            self._tools.call("browser_start_tracing")
        if self._authorization is not None:
            self._authorize(self._authorization)

    def _authorize(self, authorization: Authorization) -> None:
        tool = self._tools.name_of(*RUN_CODE)
        if tool is None:
            raise PageError(
                "this Playwright MCP server cannot send credentials (it has no tool browser_run_code): use "
                "`driver: playwright`, or a storage_state"
            )
        code = AUTHORIZE.replace("VALUE", json.dumps(authorization.value))
        pattern = json.dumps(f"{authorization.origin}/*")
        self._tools.call(tool, {"code": code.replace("PATTERN", pattern)})

    def navigate(self, url: str, timeout_ms: int) -> None:
        """Open a URL, until the page has loaded."""
        deadline = time.monotonic() + timeout_ms / 1000
        try:
            self._tools.call("browser_navigate", {"url": url}, own_limit=timeout_ms / 1000)
        except PageError as error:
            self._stop_loading()
            raise PageError(f"{url} does not load: {error}") from None
        while self.command("place")["loading"] != "complete":
            if time.monotonic() > deadline:
                raise PageError(f"{url} does not load: it was not complete within {timeout_ms} ms")
            time.sleep(ELEMENT_POLL_SECONDS)

    def _stop_loading(self) -> None:
        """Commands would wait for a page that is still to come."""
        tool = self._tools.name_of(*RUN_CODE)
        if tool is not None:
            with suppress(PageError):
                self._tools.call(tool, {"code": STOP_LOADING})

    def act(self, action: PageAction) -> None:
        """Click, select or fill."""
        if action.action == "click":
            self._on_element("browser_click", action.selector, "click")
        elif action.action == "select":
            self._on_element("browser_select_option", action.selector, "select", values=[action.value])
        else:
            self.fill(action.selector, action.value or "")

    def await_visible(self, selector: str) -> None:
        """Wait for an element."""
        self._on_element("browser_evaluate", f"{selector} >> visible=true", "find", function="() => null")

    def fill(self, selector: str, text: str) -> None:
        """Put a text into a field, which then has the focus."""
        self._on_element("browser_type", selector, "fill", text=text)

    def _on_element(self, tool: str, selector: str, what: str, **arguments: Any) -> None:
        """Call a tool on the first match; it reports at once that there is none, so there may be one yet."""
        element = {self._tools.element_argument(tool): f"{selector} >> nth=0", "element": selector}
        deadline = time.monotonic() + ACTION_MS / 1000
        while True:
            try:
                self._tools.call(tool, {**element, **arguments}, own_limit=ACTION_MS / 1000)
                return
            except PageError as error:
                if not _NO_ELEMENT.search(str(error)) or time.monotonic() > deadline:
                    raise PageError(f"cannot {what} {selector}: {error}") from None
            time.sleep(ELEMENT_POLL_SECONDS)

    def press_enter(self) -> None:
        """Press Enter."""
        self._tools.call("browser_press_key", {"key": "Enter"})

    def command(self, name: str, argument: Any = None) -> Any:
        """Run a command of ``page.js``."""
        called = json.dumps([name, argument])
        text = self._tools.call("browser_evaluate", {"function": f"() => ({PAGE_SCRIPT.strip()})({called})"})
        _, found, result = text.partition("### Result\n")
        try:
            value: Any = json.JSONDecoder().raw_decode(result.lstrip())[0] if found else None
        except ValueError:
            raise PageError(f"the page cannot be read: the server answered {text[:200]!r}") from None
        return value

    def screenshot(self) -> bytes:
        """What the window shows."""
        self._shots += 1
        path = self._folder / f"screenshot-{self._shots}.png"
        self._tools.call("browser_take_screenshot", {"filename": path.name, "type": "png"})
        try:
            data = path.read_bytes()
            path.unlink()
        except OSError as error:
            raise PageError(f"no screenshot could be taken: {error}") from None
        return data

    def requests(self) -> list[str]:
        """The requests that were made, as ``METHOD URL``."""
        listed = _REQUEST.findall(self._tools.call("browser_network_requests"))
        return [f"{method} {url}" for method, url in listed]

    def wait(self, milliseconds: int) -> None:
        """Let time pass."""
        time.sleep(milliseconds / 1000)

    def console(self) -> str:
        """The messages on the console so far."""
        properties = self._tools.properties("browser_console_messages") or {}
        text = self._tools.call(
            "browser_console_messages", {"level": "debug"} if "level" in properties else {}
        )
        return text.partition("### Result\n")[2] or text

    def dialogs(self) -> list[str]:
        """The dialogs that were dismissed."""
        return list(self._tools.dialogs)

    def keep_trace(self, path: Path) -> None:
        """Write the trace, without secrets; older servers record none."""
        if not self._tools.name_of("browser_stop_tracing"):
            return
        self._tools.call("browser_stop_tracing")
        data = _archive(self._folder / "output" / "traces")
        write_private(path, redacted_archive(data))


def _archive(folder: Path) -> bytes:
    """The newest trace in a folder, as Playwright's viewer opens it."""
    traces = sorted(folder.glob("*.trace"), key=lambda found: found.stat().st_mtime_ns)
    if not traces:
        raise PageError("the Playwright MCP server recorded no trace")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in (traces[-1], traces[-1].with_suffix(".network")):
            if source.is_file():
                archive.write(source, f"trace{source.suffix}")
        for source in sorted([*folder.glob("resources/*"), *folder.glob("screencast/*")]):
            archive.write(source, f"resources/{source.name}")
    return made.getvalue()
