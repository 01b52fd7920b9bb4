"""The procedure of a visit, the same for every driver: from the URL to the page with the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_mcpeval.browser.artifacts import write_private
from pytest_mcpeval.browser.control import PageControl, PageError
from pytest_mcpeval.browser.directive import Directive, PageAction, Step
from pytest_mcpeval.browser.waiting import POLL_MS, Pause, Submission
from pytest_mcpeval.text.redact import redactor

_EDITABLE = ":enabled:not([readonly]):not([aria-disabled='true']):not([aria-readonly='true'])"
_FIELDS = (("textarea",), ("input[type='text' i]", "input:not([type])"))
TEXT_INPUTS = tuple(
    tuple(", ".join(f"{field}{_EDITABLE}{visible}" for field in fields) for visible in ("", ":visible"))
    for fields in _FIELDS
)
"""The input of a page whose manifest declares none: as CSS, and as a selector of visible ones."""

REFUSED_NAVIGATION = "Not allowed to navigate top frame to "
"""The beginning of Chromium's console message about a refused address such as ``data:…``."""

_SERVER_ERROR = re.compile(r"the server responded with a status of (5\d\d)")

INPUT_WAIT_MS = 10_000
LOADING_MS = 5_000
SETTLE_MS = 50
ATTENTION_MS = 1_000
READING_ATTEMPTS = 4


@dataclass
class Progress:
    """The progress of a visit."""

    current: Step = "open_browser"
    completed: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    final_url: str | None = None

    @contextmanager
    def step(self, name: Step) -> Iterator[None]:
        """One step: current as long as it lasts, completed when nothing is raised."""
        self.current = name
        yield
        self.completed.append(name)


def visit(page: PageControl, directive: Directive, progress: Progress, pause: Pause) -> None:
    """Go through all steps and leave their artifacts.

    Raises:
        PageError: The current step did not work.
        OSError: An artifact cannot be written.
    """
    try:
        _go_through(page, directive, progress, pause)
    finally:
        progress.notes += [
            f"the page opened a dialog, which was dismissed: {redactor.text(dialog)[:200]}"
            for dialog in dict.fromkeys(page.dialogs())
        ]


def _go_through(page: PageControl, directive: Directive, progress: Progress, pause: Pause) -> None:
    folder = directive.folder
    with progress.step("navigate"):
        page.navigate(directive.url, directive.navigation_timeout_ms)
        _require_success(page, directive.url, pause)
    with progress.step("preconditions"):
        _act(page, directive.interaction.preconditions, pause)
    with progress.step("landing"):
        _persistently(page, "attend", pause)
        _require_host(page, directive, progress, pause)
        # Until its input is there, a page that scripts make shows little of what it shows without an answer.
        found = _found_input(page, directive.interaction.input_selector, pause)
        _require_host(page, directive, progress, pause)
        _keep(page, folder.landing_screenshot, folder.landing_dom, pause)
        _attend(page, pause)
    with progress.step("locate_input"):
        if isinstance(found, PageError):
            raise found
        selector = found
        try:
            page.fill(selector, directive.input)
        except PageError as error:
            raise _not_typed(selector, error) from None
    submission = Submission(page, directive, selector, pause)
    with progress.step("submit"):
        progress.notes += submission.submit()
    with progress.step("wait"):
        progress.notes += submission.wait()
    with progress.step("reveal"):
        _act(page, directive.reveal_actions, pause)
    with progress.step("after_submit"):
        _loaded(page, pause)
        place = _require_host(page, directive, progress, pause)
        remarks = [*_elsewhere(place["url"], directive), *_remarks(page.console(), place["status"])]
        progress.notes += [redactor.text(note) for note in remarks]
        size = _keep(page, folder.after_submit_screenshot, folder.after_submit_dom, pause)
        if submission.goes_on():
            progress.notes.append("the page was still changing when captured: the answer may not be whole")
        if size > directive.interaction.max_dom_bytes:
            progress.notes.append(
                f"the page with the answer has {size:,} bytes of HTML, more than interaction.max_dom_bytes "
                f"({directive.interaction.max_dom_bytes:,}): it will not be read"
            )


def _require_host(
    page: PageControl, directive: Directive, progress: Progress, pause: Pause
) -> dict[str, Any]:
    """Where the page is that is to be captured; its URL is noted without secrets.

    Raises:
        PageError: It is on another host, and the directive allows none.
    """
    place = _place(page, pause)
    progress.final_url = redactor.text(place["url"])
    if directive.same_host and (problem := next(_elsewhere(place["url"], directive), None)):
        raise PageError(
            f"{problem}; its host_policy is same_host: find the action or redirect that leads there, or set "
            "access.host_policy to any"
        )
    return place


def _elsewhere(url: str, directive: Directive) -> Iterator[str]:
    """The remark on a page that is not on the host that was visited."""
    found, wanted = urlsplit(url).hostname, urlsplit(directive.url).hostname
    if found != wanted:
        yield f"the page ended on another host: {url[:200]}, and access.url is on {wanted}"


def _remarks(console: str, status: int) -> Iterator[str]:
    """Remarks on addresses that the browser refused to go to, and on errors of the server.

    The page itself, with that status, may be another one by now.
    """
    of_the_page = [str(status)] if status >= 400 else []
    for error in dict.fromkeys([*_SERVER_ERROR.findall(console), *of_the_page]):
        yield f"the server answered a request of the page with HTTP {error}"
    for line in dict.fromkeys(console.splitlines()):
        _, refused, target = line.partition(REFUSED_NAVIGATION)
        if refused:
            yield f"the page wanted to go to {target.strip()[:80]!r}, which the browser refused"


def _require_success(page: PageControl, url: str, pause: Pause) -> None:
    status = _place(page, pause)["status"]
    if status in (401, 403):
        raise PageError(
            f"{url} answered HTTP {status}: it requires a login; declare access.auth, or give a "
            "storage_state "
            "or a login_fixture"
        )
    if status >= 400:
        raise PageError(f"{url} answered HTTP {status}: is the agent up, and is this its page?")


def _place(page: PageControl, pause: Pause) -> dict[str, Any]:
    """Where the page is.

    Raises:
        PageError: It went to a URL that is not http(s).
    """
    place: dict[str, Any] = _persistently(page, "place", pause)
    if place["protocol"] not in ("http:", "https:"):
        raise PageError(
            f"the page went to {str(place['url'])[:200]!r}: only http and https pages are visited; see which "
            "action leads there"
        )
    return place


def _persistently(page: PageControl, command: str, pause: Pause, argument: Any = None) -> Any:
    """The result of a command that only reads, asked for again while the page changes to another."""
    for _ in range(READING_ATTEMPTS - 1):
        try:
            return page.command(command, argument)
        except PageError:
            pause(4 * POLL_MS)
    return page.command(command, argument)


def _loaded(page: PageControl, pause: Pause) -> None:
    """Let a page that the submission led to come so far that it can be read."""
    for _ in range(LOADING_MS // POLL_MS):
        if _place(page, pause)["loading"] != "loading":
            return
        pause(POLL_MS)


def _attend(page: PageControl, pause: Pause) -> None:
    """See what goes on before the input: a page whose texts change is looked at for longer."""
    found = _persistently(page, "attend", pause)
    if found["texts_changed"] > 0:
        pause(max(0, ATTENTION_MS - found["attended_ms"]))


def _act(page: PageControl, actions: Sequence[PageAction], pause: Pause) -> None:
    for number, action in enumerate(actions, start=1):
        try:
            page.act(action)
        except PageError as error:
            raise PageError(f"action {number} of {len(actions)}: {error}") from None
        pause(SETTLE_MS)
    _place(page, pause)


def _found_input(page: PageControl, selector: str | None, pause: Pause) -> str | PageError:
    """The selector of the input, as soon as it is visible; or why there is none."""
    if selector is not None:
        try:
            page.await_visible(selector)
        except PageError as error:
            return _not_typed(selector, error)
        return selector
    for _ in range(INPUT_WAIT_MS // POLL_MS):
        for css, visible in TEXT_INPUTS:
            if _persistently(page, "count", pause, css) > 0:
                return f"{visible} >> nth=0"
        pause(POLL_MS)
    return PageError(
        f"no input field was found within {INPUT_WAIT_MS / 1000:g} s: tried textarea:visible, then "
        "input[type='text']:visible, without those that are read-only or disabled. Name the field by "
        "interaction.input_selector, or open it by interaction.preconditions"
    )


def _not_typed(selector: str, error: PageError) -> PageError:
    return PageError(
        f"the input field {selector} cannot be typed into: {error}. Correct interaction.input_selector"
    )


def _keep(page: PageControl, screenshot: Path, dom: Path, pause: Pause) -> int:
    """Write screenshot and HTML, the latter without secrets; the size of the HTML in bytes."""
    _place(page, pause)
    write_private(screenshot, page.screenshot())
    html: str = _persistently(page, "dom", pause)
    write_private(dom, html)
    return dom.stat().st_size
