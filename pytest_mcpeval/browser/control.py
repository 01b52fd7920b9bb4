"""The interface of a page for the procedure of a visit, implemented by each driver."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from pytest_mcpeval.browser.directive import Directive, PageAction

PAGE_SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
"""A function of ``[name, argument]``: the commands that run in the page, the same for every driver."""

ACTION_MS = 10_000
"""How long an element may take to exist and be ready for an action."""

COMMAND_SECONDS = 30.0
"""How long a page may take to answer a command; a page whose scripts never end does not answer."""

LAUNCH_LINES = 3

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_GONE = re.compile(r"Target crashed|has been closed|Connection closed|Target page, context or browser")


class PageError(Exception):
    """Something did not work on a page. The text is shown to users and says what was tried."""


class PageControl(Protocol):
    """One page in a context of its own. Selectors are CSS, or any other of Playwright's.

    Every method raises `PageError` when the page or the browser does not do it.
    """

    def navigate(self, url: str, timeout_ms: int) -> None:
        """Open a URL, until the page has loaded."""

    def act(self, action: PageAction) -> None:
        """Click, select or fill: on the first element that matches, as soon as it can be acted on."""

    def await_visible(self, selector: str) -> None:
        """Wait until the first element that matches is visible, no longer than for an action."""

    def fill(self, selector: str, text: str) -> None:
        """Put a text into an input, textarea or editable element, which then has the focus."""

    def press_enter(self) -> None:
        """Press Enter on whatever has the focus."""

    def command(self, name: str, argument: Any = None) -> Any:
        """Run a command of ``page.js`` in the page; argument and result are JSON."""

    def screenshot(self) -> bytes:
        """What the window shows, as PNG."""

    def requests(self) -> list[str]:
        """The requests that the page has made so far, as ``METHOD URL``, without those for static files."""

    def wait(self, milliseconds: int) -> None:
        """Let time pass for the page."""

    def console(self) -> str:
        """What the page wrote to the browser's console, a line for each message."""

    def dialogs(self) -> list[str]:
        """The dialogs that the page opened so far, as ``confirm "Sure?"``; all of them were dismissed."""

    def keep_trace(self, path: Path) -> None:
        """Write what was recorded of this page for Playwright's viewer."""


class Browser(Protocol):
    """A browser of one process: started when a page is first asked for, and again when it has crashed."""

    def page(self, directive: Directive, slot: int) -> AbstractContextManager[PageControl]:
        """A page in a fresh context, with the directive's login; nothing of it is left afterwards.

        Raises:
            BrowserError: The browser does not start.
            PageError: The context cannot be made.
        """

    @property
    def name(self) -> str:
        """Browser and driver, with their versions."""

    def close(self) -> None:
        """End it."""


def words_of(said: str) -> str:
    """A message of Playwright in one line: what went wrong, and the last things that were tried."""
    said = _ANSI.sub("", said)
    if _GONE.search(said):
        return "the browser crashed or was closed"
    message, _, log = said.partition("Call log:")
    tried = list(dict.fromkeys(line.strip(" -\t") for line in log.splitlines() if line.strip()))
    return "; ".join([" ".join(message.split())[:500], *(line[:200] for line in tried[-2:])])


def launch_words(said: str) -> str:
    """Return why a browser did not start: its last output on standard error, else Playwright's message."""
    lines = [_ANSI.sub("", line).strip() for line in said.splitlines()]
    written = [line.partition("[err]")[2].strip() for line in lines if "[err]" in line]
    fatal = [line for line in written if "FATAL" in line]
    kept = list(dict.fromkeys(fatal or filter(None, written)))[-LAUNCH_LINES:]
    return "; ".join(line[:300] for line in kept) or " ".join(lines)[:500]
