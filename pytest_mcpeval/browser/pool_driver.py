"""The driver: leases a slot for each visit, goes through the procedure, and keeps evidence of failures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import Literal

from pytest_mcpeval.browser.artifacts import write_private
from pytest_mcpeval.browser.control import Browser, PageControl, PageError
from pytest_mcpeval.browser.directive import (
    BrowserError,
    CaptureResult,
    Directive,
    Driver,
    DriverOptions,
    StepError,
)
from pytest_mcpeval.browser.procedure import Progress, visit
from pytest_mcpeval.browser.slots import SlotPool, pool_of_process
from pytest_mcpeval.servers.interruptible import result_of

DriverName = Literal["playwright", "playwright-mcp"]

SLICE_MS = 250
INTERRUPTED = "the visit was interrupted"
NOTED_WAIT_SECONDS = 0.2


class PoolDriver:
    """A `Driver` over one browser of this process.

    The browser lives on a thread of its own: Playwright leaves an event loop running on the thread it was
    started on, where ``async`` tests could no longer run theirs.
    """

    def __init__(self, browser: Browser, slots: SlotPool) -> None:
        self._browser = browser
        self._slots = slots
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mcpeval-browser")
        self._stopping = threading.Event()

    def capture(self, directive: Directive) -> CaptureResult:
        """Visit a page; errors are in the result."""
        try:
            return result_of(self._thread.submit(self._capture, directive))
        except BaseException:
            # Ctrl-C: the visit ends at its next pause.
            self._stopping.set()
            raise

    def _capture(self, directive: Directive) -> CaptureResult:
        # An interruption was of the visit before.
        self._stopping.clear()
        started, progress = _now(), Progress()
        error = None
        try:
            self._visit_in_slot(directive, progress)
        except (PageError, BrowserError) as problem:
            error = StepError(progress.current, str(problem))
        except OSError as problem:
            error = StepError(progress.current, f"an artifact cannot be written: {problem}")
        return CaptureResult(
            started,
            _now(),
            tuple(progress.completed),
            error,
            tuple(progress.notes),
            self._browser.name,
            progress.final_url,
        )

    def _visit_in_slot(self, directive: Directive, progress: Progress) -> None:
        # Close the browser while waiting, so that there are never more browsers than slots.
        lease = self._slots.lease(
            directive.slot_hint, when_full=self._browser.close, wait=self._stoppable_wait
        )
        with lease as held, ExitStack() as stack:
            if held.waited >= NOTED_WAIT_SECONDS:
                progress.notes.append(
                    f"waited {held.waited:.1f} s for one of {self._slots.size} browser slots "
                    "(--mcpeval-pool-size)"
                )
            with progress.step("open_browser"):
                page = stack.enter_context(self._browser.page(directive, held.slot))
            self._visit(page, directive, progress)

    def _stoppable_wait(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise PageError(INTERRUPTED)

    def _visit(self, page: PageControl, directive: Directive, progress: Progress) -> None:
        try:
            visit(page, directive, progress, self._pause(page))
        except (PageError, OSError):
            keep_failure(page, directive)
            raise

    def _pause(self, page: PageControl) -> Callable[[int], None]:
        def pause(milliseconds: int) -> None:
            while milliseconds > 0:
                if self._stopping.is_set():
                    raise PageError(INTERRUPTED)
                page.wait(min(SLICE_MS, milliseconds))
                milliseconds -= SLICE_MS

        return pause

    def close(self) -> None:
        """End the browser."""
        self._stopping.set()
        self._thread.submit(self._browser.close).result()
        self._thread.shutdown()


def make_driver(name: DriverName, options: DriverOptions) -> Driver:
    """The driver of that name. Its browser starts with the first visit.

    Raises:
        BrowserError: Playwright, its MCP server or a browser is missing; the text says what to install.
    """
    browser: Browser
    if name == "playwright-mcp":
        from pytest_mcpeval.browser.playwright_mcp import PlaywrightMcpBrowser

        browser = PlaywrightMcpBrowser(options)
    else:
        from pytest_mcpeval.browser.playwright_browser import PlaywrightBrowser

        browser = PlaywrightBrowser(options)
    return PoolDriver(browser, pool_of_process(options.pool_size, options.lock_directory))


def keep_failure(page: PageControl, directive: Directive) -> None:
    """Keep whatever a page that failed still gives: screenshot, HTML, console and trace."""
    folder = directive.folder
    kept: tuple[Callable[[], None], ...] = (
        lambda: write_private(folder.failure_screenshot, page.screenshot()),
        lambda: write_private(folder.failure_dom, str(page.command("dom"))),
        lambda: write_private(folder.console_log, page.console()),
        lambda: page.keep_trace(folder.playwright_trace),
    )
    for keep in kept:
        with suppress(PageError, OSError):
            keep()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
