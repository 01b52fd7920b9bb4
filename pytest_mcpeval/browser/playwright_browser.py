"""A Chromium that Playwright for Python drives. Imports playwright only when a browser is started."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.browser.artifacts import write_private
from pytest_mcpeval.browser.control import (
    ACTION_MS,
    COMMAND_SECONDS,
    PAGE_SCRIPT,
    PageError,
    launch_words,
    words_of,
)
from pytest_mcpeval.browser.directive import BrowserError, Directive, DriverOptions, PageAction
from pytest_mcpeval.browser.finding import find_browser, is_headed
from pytest_mcpeval.browser.login import Authorization, authorization_of, redacted_archive, storage_state_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Error, Page, Playwright, Request

CONSOLE_LINES = 2_000
LAUNCH_MS = 30_000
GONE_SECONDS = 1.0
"""How long Playwright has to end the current call by itself after the browser has ended."""
PIPES_SECONDS = 0.05
STATIC = ("image", "stylesheet", "font", "media", "script", "manifest", "texttrack")


class PlaywrightBrowser:
    """The browser of one process, used from one thread."""

    def __init__(self, options: DriverOptions) -> None:
        """Find a browser, without starting it.

        Raises:
            BrowserError: Playwright or a browser is missing.
        """
        if find_spec("playwright") is None:
            raise BrowserError(
                "playwright is not installed: run `pip install pytest-mcpeval[browser]`, then "
                "`pytest-mcpeval install-browser`"
            )
        self._options = options
        self._executable = find_browser(options)
        self._headed = is_headed(options)[0]
        self._playwright: Playwright | None = None
        self._chromium: Chromium | None = None
        self._watchdog = Watchdog()
        self.name = f"{self._executable.name} (Playwright)"

    @contextmanager
    def page(self, directive: Directive, slot: int) -> Iterator[PlaywrightPage]:
        """A page in a fresh context, with the directive's login."""
        with self.fresh_page(authorization_of(directive), storage_state_of(directive)) as page:
            page.dismiss_dialogs()
            yield page

    @contextmanager
    def fresh_page(
        self, authorization: Authorization | None = None, state: Mapping[str, Any] | None = None
    ) -> Iterator[PlaywrightPage]:
        """A page in a fresh context, on the thread that calls.

        Raises:
            BrowserError: The browser does not start.
            PageError: The context cannot be made.
        """
        from playwright.sync_api import Error

        context: BrowserContext | None = None
        try:
            context = self._running().new_context(accept_downloads=False, storage_state=state)  # type: ignore[arg-type]
            context.tracing.start(snapshots=True)
            page = PlaywrightPage(context, self._watchdog, authorization)
        except Error as error:
            _close(context)
            raise PageError(f"no page could be opened: {words(error)}") from None
        try:
            yield page
        finally:
            _close(context)

    def _running(self) -> Chromium:
        if self._chromium is not None and self._chromium.is_connected():
            return self._chromium
        self.close()
        from playwright.sync_api import Error, sync_playwright

        try:
            with _without_interrupts():
                self._playwright = sync_playwright().start()
            _end_quietly(asyncio.get_running_loop())
            end_calls = _ender_of_calls()
            self._chromium = self._playwright.chromium.launch(
                executable_path=self._executable,
                headless=not self._headed,
                slow_mo=self._options.slow_mo_ms,
                timeout=LAUNCH_MS,
            )
        except (Error, OSError) as error:
            self.close()
            raise BrowserError(f"{self._executable} does not start: {launch_words(str(error))}") from None
        self._chromium.on("disconnected", lambda _: end_calls())
        self._watchdog = Watchdog(_process_id(self._chromium))
        self.name = f"Chromium {self._chromium.version} (Playwright)"
        return self._chromium

    def close(self) -> None:
        """End the browser and Playwright."""
        chromium, self._chromium = self._chromium, None
        playwright, self._playwright = self._playwright, None
        # Either may be gone already: crashed, or killed.
        if chromium is not None:
            with suppress(Exception, asyncio.CancelledError):
                chromium.close()
        if playwright is not None:
            with suppress(Exception, asyncio.CancelledError):
                playwright.stop()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that do not get the SIGINT of Ctrl-C, which a terminal sends to all: we end them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_quietly(loop: asyncio.AbstractEventLoop) -> None:
    """Let nothing of a loop of Playwright be written to standard error when it ends, or its driver does.

    What went wrong is raised by the call in hand. The pipes to the driver end a moment after it; they would
    raise in a loop that is closed by then.
    """
    close = loop.close

    def settle_and_close() -> None:
        with suppress(Exception, asyncio.CancelledError):
            loop.run_until_complete(asyncio.sleep(PIPES_SECONDS))
        close()

    loop.set_exception_handler(lambda *_: None)
    loop.close = settle_and_close  # type: ignore[method-assign]


def _ender_of_calls() -> Callable[[], None]:
    """Return a function that ends all waiting calls of this thread's Playwright a little later.

    The answer to a call may be lost when the browser dies in the middle of it: a reply that speaks of
    something which has gone is dropped, and the call would wait for ever.
    """
    loop = asyncio.get_running_loop()
    # Those that carry the connection go on.
    lasting = asyncio.all_tasks(loop)

    def end() -> None:
        for task in asyncio.all_tasks(loop) - lasting:
            task.cancel()

    def end_soon() -> None:
        loop.call_later(GONE_SECONDS, end)

    return end_soon


def _process_id(chromium: Chromium) -> int:
    processes = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return next(int(process["id"]) for process in processes if process["type"] == "browser")


class Watchdog:
    """Kills a browser that does not answer: for some calls Playwright would wait for ever."""

    def __init__(self, process_id: int | None = None) -> None:
        self._process_id = process_id

    @contextmanager
    def watching(self, seconds: float) -> Iterator[None]:
        """Kill the browser if the call does not end within the time."""
        timer = Timer(seconds, self._kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _kill(self) -> None:
        if self._process_id is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process_id, signal.SIGKILL)


def _close(context: BrowserContext | None) -> None:
    if context is not None:
        with suppress(Exception, asyncio.CancelledError):
            context.close()


class PlaywrightPage:
    """A `PageControl`: one page in a context of its own."""

    def __init__(
        self, context: BrowserContext, watchdog: Watchdog, authorization: Authorization | None = None
    ) -> None:
        self._context = context
        self._watchdog = watchdog
        self._console: list[str] = []
        self._requests: list[str] = []
        self._dialogs: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(ACTION_MS)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self._note(f"[error] {error}"))
        self.page.on("request", self._on_request)
        if authorization is not None:
            authorize(self.page, authorization)

    def _on_console(self, message: ConsoleMessage) -> None:
        self._note(f"[{message.type}] {message.text}")

    def _note(self, line: str) -> None:
        if len(self._console) < CONSOLE_LINES:
            self._console.append(line)

    def dismiss_dialogs(self) -> None:
        """Dismiss and record dialogs of the page."""
        self.page.on("dialog", self._on_dialog)

    def _on_dialog(self, dialog: Dialog) -> None:
        from playwright.sync_api import Error

        # As Playwright does it by itself; the page may have gone meanwhile.
        with suppress(Error):
            if dialog.type == "beforeunload":
                dialog.accept()
                return
            self._dialogs.append(f'{dialog.type} "{dialog.message}"')
            dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        if request.resource_type not in STATIC:
            self._requests.append(f"{request.method} {request.url}")

    @contextmanager
    def _as_page_errors(self, what: str, seconds: float = 0) -> Iterator[None]:
        """Convert errors of Playwright; a call that takes longer than its own limit ends the browser."""
        from playwright.sync_api import Error

        browser = self._context.browser
        if browser is not None and not browser.is_connected():
            raise PageError(f"{what}: the browser has gone")
        try:
            with self._watchdog.watching(seconds + COMMAND_SECONDS):
                yield
        except Error as error:
            raise PageError(f"{what}: {words(error)}") from None
        except asyncio.CancelledError:
            raise PageError(f"{what}: the browser has gone") from None

    def navigate(self, url: str, timeout_ms: int) -> None:
        """Open a URL, until the page has loaded."""
        try:
            with self._as_page_errors(f"{url} does not load", timeout_ms / 1000):
                self.page.goto(url, timeout=timeout_ms)
        except PageError:
            # Commands would wait for a page that is still to come.
            with suppress(Exception, asyncio.CancelledError):
                self._context.new_cdp_session(self.page).send("Page.stopLoading")
            raise

    def act(self, action: PageAction) -> None:
        """Click, select or fill."""
        first = self.page.locator(action.selector).first
        with self._as_page_errors(f"cannot {action.action} {action.selector}", ACTION_MS / 1000):
            if action.action == "click":
                first.click()
            elif action.action == "select":
                first.select_option(action.value)
            else:
                first.fill(action.value or "")

    def await_visible(self, selector: str) -> None:
        """Wait for an element."""
        with self._as_page_errors(f"cannot find {selector}", ACTION_MS / 1000):
            self.page.locator(selector).first.wait_for(state="visible", timeout=ACTION_MS)

    def fill(self, selector: str, text: str) -> None:
        """Put a text into a field, which then has the focus."""
        with self._as_page_errors(f"cannot fill {selector}", ACTION_MS / 1000):
            self.page.locator(selector).first.fill(text)

    def press_enter(self) -> None:
        """Press Enter."""
        with self._as_page_errors("cannot press Enter"):
            self.page.keyboard.press("Enter")

    def command(self, name: str, argument: Any = None) -> Any:
        """Run a command of ``page.js``."""
        with self._as_page_errors("the page cannot be read"):
            return self.page.evaluate(PAGE_SCRIPT, [name, argument])

    def screenshot(self) -> bytes:
        """What the window shows."""
        with self._as_page_errors("no screenshot could be taken"):
            return self.page.screenshot()

    def requests(self) -> list[str]:
        """The requests that were made, as ``METHOD URL``."""
        return list(self._requests)

    def wait(self, milliseconds: int) -> None:
        """Let time pass; events of the page are handled meanwhile."""
        with self._as_page_errors("the page cannot be waited for"):
            self.page.wait_for_timeout(milliseconds)

    def console(self) -> str:
        """The messages on the console so far."""
        return "".join(f"{line}\n" for line in self._console)

    def dialogs(self) -> list[str]:
        """The dialogs that were dismissed."""
        return list(self._dialogs)

    def keep_trace(self, path: Path) -> None:
        """Write the trace, without secrets."""
        with self._as_page_errors("the trace cannot be written"):
            write_private(path, b"")
            self._context.tracing.stop(path=path)
        write_private(path, redacted_archive(path.read_bytes()))


def authorize(page: Page, authorization: Authorization) -> None:
    """Send the header ``Authorization`` with requests to its origin only, redirects included.

    Playwright's own ways would take it along on a redirect to another origin.
    """
    session = page.context.new_cdp_session(page)

    def go_on(event: Mapping[str, Any]) -> None:
        from playwright.sync_api import Error

        own = {
            name: value
            for name, value in event["request"]["headers"].items()
            if name.lower() != "authorization"
        }
        headers = {**own, "Authorization": authorization.value}
        listed = [{"name": name, "value": value} for name, value in headers.items()]
        # The page may have gone meanwhile.
        with suppress(Error):
            session.send("Fetch.continueRequest", {"requestId": event["requestId"], "headers": listed})

    session.on("Fetch.requestPaused", go_on)
    pattern = {"urlPattern": f"{authorization.origin}/*", "requestStage": "Request"}
    session.send("Fetch.enable", {"patterns": [pattern]})


def words(error: Error | OSError) -> str:
    """Return the message of a Playwright error on one line."""
    return words_of(str(error))
