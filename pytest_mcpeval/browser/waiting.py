"""Submitting an input, and waiting for the answer: exactly as long as the directive says."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pytest_mcpeval.browser.control import PageControl, PageError
from pytest_mcpeval.browser.directive import Directive, ResponseReady

Pause = Callable[[int], None]
"""Lets a page run for some milliseconds; raises `PageError` when the visit is to end."""

POLL_MS = 50
REACTION_MS = (1_000, 1_000, 2_000, 3_000)
"""How long a page may take to react to Enter, before Enter is pressed again."""
PROMPT_MS = 500
"""How soon a page asks its server for what Enter is about."""
MOST_FAILED_POLLS = 6
RESTING_MS = 1_000
"""A page that has not changed for so long has come to its end."""
LOOK_AHEAD_MS = 200
"""How long a page that was changing is looked at after it was captured, if twice its rhythm is not longer."""


class Traffic:
    """The requests of a page before Enter, as ``METHOD URL``: what goes on anyway."""

    def __init__(self, before: Sequence[str]) -> None:
        self._known = Counter(map(_without_query, before))

    def has_new(self, now: Sequence[str], *, sent_only: bool = False) -> bool:
        """Whether there are requests of a sort that did not go on before. ``sent_only``: none by GET.

        A GET goes on that was made before, any other request that was made twice.
        """
        for request in Counter(map(_without_query, now)) - self._known:
            is_get = request.startswith("GET ")
            if self._known[request] < (1 if is_get else 2) and not (is_get and sent_only):
                return True
        return False


def _without_query(request: str) -> str:
    return request.partition("?")[0]


class Submission:
    """An input that is submitted by Enter on one page, and the wait for what comes of it."""

    def __init__(self, page: PageControl, directive: Directive, selector: str, pause: Pause) -> None:
        self._page = page
        self._directive = directive
        self._selector = selector
        self._pause = pause
        self._pressed = time.monotonic()
        self._failed_polls = 0

    def submit(self) -> list[str]:
        """Press Enter until the page takes the input; remarks.

        A page that is not connected yet ignores Enter. One that has reacted has let go of the text, shows
        something new, is another page by now, or has sent something; what went on before Enter is none of
        these.

        Raises:
            PageError: The page did not react.
        """
        for presses, patience in enumerate(REACTION_MS, start=1):
            if self._press(patience):
                return (
                    [] if presses == 1 else [f"the page reacted to Enter only when pressed {presses} times"]
                )
            self._page.fill(self._selector, self._directive.input)
        seconds = sum(REACTION_MS) / 1000
        raise PageError(
            f"the page ignored Enter, pressed {len(REACTION_MS)} times within {seconds:g} s: the input "
            f"{self._selector} still holds the text, nothing was added to the page (replacing one text by "
            "another does not count) and nothing was sent. Is it the right input "
            "(interaction.input_selector), and does the page need a step before "
            "(interaction.preconditions)?"
        )

    def _press(self, patience: int) -> bool:
        self._watch(fresh=False)
        traffic = Traffic(self._page.requests())
        self._pressed = time.monotonic()
        self._page.press_enter()
        asked = None
        while True:
            changes = self._changes()
            if not changes["input_holds"] or changes["grown"] > 0:
                return True
            if asked is None and self._elapsed() >= min(PROMPT_MS, patience):
                asked = traffic.has_new(self._page.requests())
            if self._elapsed() >= patience:
                break
            self._pause(POLL_MS)
        # What is asked later by GET may be a page that is still loading.
        return bool(asked) or traffic.has_new(self._page.requests(), sent_only=True)

    def wait(self) -> list[str]:
        """Wait for the answer: until `response_ready`, at most `response_wait_ms` since Enter; remarks.

        Raises:
            PageError: The page still holds the text, and nothing of it has changed: what it sent when Enter
                was pressed was something else, such as a page that was just connecting.
        """
        interaction = self._directive.interaction
        bound, ready = interaction.response_wait_ms, interaction.response_ready
        if ready is None:
            self._pause(max(0, bound - self._elapsed()))
            self._require_change()
            return []
        while self._elapsed() < bound:
            if self._is_ready(self._changes(), ready):
                return []
            self._pause(min(POLL_MS, max(1, bound - self._elapsed())))
        self._require_change()
        return [f"response_ready was not fulfilled within response_wait_ms ({bound} ms){self._hint(ready)}"]

    def goes_on(self) -> bool:
        """Whether the page changes after it was captured, other than it did before the input."""
        try:
            before = self._changes()
            quiet = before["quiet_ms"]
            if quiet is None or quiet > RESTING_MS:
                return False
            due = min(RESTING_MS, 2 * before["rhythm_ms"]) - quiet
            for _ in range(max(LOOK_AHEAD_MS, due) // POLL_MS):
                self._pause(POLL_MS)
                if self._changes()["changes"] != before["changes"]:
                    return True
        except PageError:
            pass
        return False

    def _require_change(self) -> None:
        try:
            changes = self._page.command("changes")
        except PageError:
            return
        if changes and changes["input_holds"] and not changes["grown"] and changes["quiet_ms"] is None:
            bound = self._directive.interaction.response_wait_ms
            raise PageError(
                f"nothing on the page changed within response_wait_ms ({bound} ms), and the input "
                f"{self._selector} still holds the text: the page ignored Enter, or answers later than that. "
                "If it was still connecting, a `click` in interaction.preconditions on what shows the "
                "connection waits for it; if it is slow, raise response_wait_ms"
            )

    def _is_ready(self, changes: dict[str, Any], ready: ResponseReady) -> bool:
        if ready.selector is not None:
            return bool(changes["ready"])
        quiet = changes["quiet_ms"]
        is_quiet = quiet is not None and ready.dom_quiet_ms is not None and quiet >= ready.dom_quiet_ms
        return is_quiet and self._has_answer()

    def _has_answer(self) -> bool:
        """Whether more appeared than the input itself; on a page that cannot be asked just now, not yet."""
        try:
            return bool(self._page.command("answered"))
        except PageError:
            return False

    def _hint(self, ready: ResponseReady) -> str:
        if ready.dom_quiet_ms is None or self._has_answer():
            return ""
        return ": no text appeared except the repeated input"

    def _elapsed(self) -> int:
        return round((time.monotonic() - self._pressed) * 1000)

    def _watch(self, *, fresh: bool) -> None:
        ready = self._directive.interaction.response_ready
        selector = None if ready is None else ready.selector
        argument = {"selector": selector, "typed": self._directive.input, "fresh": fresh}
        self._page.command("watch", argument)

    def _changes(self) -> dict[str, Any]:
        """What has changed since Enter; a page that has gone is followed to the next one."""
        unknown = {
            "input_holds": True,
            "grown": 0,
            "quiet_ms": None,
            "rhythm_ms": 0,
            "ready": False,
            "changes": 0,
        }
        try:
            found: dict[str, Any] | None = self._page.command("changes")
            if found is None:
                self._watch(fresh=True)
                found = self._page.command("changes")
        except PageError:
            # Between two pages there is none to ask.
            self._failed_polls += 1
            if self._failed_polls > MOST_FAILED_POLLS:
                raise
            return unknown
        self._failed_polls = 0
        return found or unknown
