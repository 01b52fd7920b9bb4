"""What a driver is told: one visit of a page, complete in itself, and what came of it.

A directive holds names of environment variables, never secret values, so it may be written to a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pytest_mcpeval.browser.artifacts import CaseFolder

ActionName = Literal["click", "select", "fill"]

Step = Literal[
    "open_browser",
    "navigate",
    "preconditions",
    "landing",
    "locate_input",
    "submit",
    "wait",
    "reveal",
    "after_submit",
]
"""The steps of a visit, in their order. ``landing`` and ``after_submit`` take screenshot and DOM."""


@dataclass(frozen=True)
class PageAction:
    """One thing done on a page. ``value`` is the option of ``select`` or the text of ``fill``."""

    action: ActionName
    selector: str
    value: str | None = None


@dataclass(frozen=True)
class ResponseReady:
    """What ends the wait for an answer before its bound: a selector, or a page that stays as it is.

    Exactly one is given. ``selector`` must match an element that was not there or was hidden before the
    input was submitted, or that went away and came back; ``dom_quiet_ms`` is how long the page must not
    change, counted from its first change after the submission, with more on it than the input repeated.
    """

    selector: str | None = None
    dom_quiet_ms: int | None = None


@dataclass(frozen=True)
class BearerAuth:
    """``Authorization: Bearer …`` for the origin of the URL; the token is in the environment."""

    token_env: str


@dataclass(frozen=True)
class BasicAuth:
    """User and password for the origin of the URL, both in the environment."""

    username_env: str
    password_env: str


Auth = BearerAuth | BasicAuth


@dataclass(frozen=True)
class Directive:
    """One visit: where to go, what to do and type there, how long to wait, where to put what was seen.

    Times are in milliseconds. ``slot_hint`` is the pool slot to try first. ``storage_state`` is a file or
    the data of a Playwright storage state (cookies and local storage of a user who is logged in).
    ``max_dom_bytes`` is the largest DOM that scoring reads; a larger one is written all the same, unless it
    is too large to be got out of the browser. Without an ``input_selector``, text goes into a visible
    ``textarea``, or else into a visible ``input[type=text]``; of several, into the first. With
    ``same_host`` a page that is captured on another host than that of ``url`` is an error; otherwise a note.
    """

    agent: str
    run_id: str
    case_id: str
    url: str
    input: str
    folder: CaseFolder
    preconditions: tuple[PageAction, ...] = ()
    input_selector: str | None = None
    response_wait_ms: int = 2000
    response_ready: ResponseReady | None = None
    reveal_actions: tuple[PageAction, ...] = ()
    max_dom_bytes: int = 25 * 1024 * 1024
    navigation_timeout_ms: int = 30_000
    auth: Auth | None = None
    storage_state: str | Mapping[str, Any] | None = field(default=None, repr=False)
    slot_hint: int = 0
    same_host: bool = False


@dataclass(frozen=True)
class StepError:
    """Why a visit ended early. ``message`` is for people and says what to do about it."""

    step: Step
    message: str


@dataclass(frozen=True)
class CaptureResult:
    """What came of a visit; the artifacts themselves are in the folder.

    ``started`` and ``ended`` are ISO times in UTC. ``notes`` are remarks that do not end a visit, such as an
    Enter that had to be repeated; ``browser`` names the browser and the driver. ``final_url`` is where the
    page was when it was captured last; None before it was.
    """

    started: str
    ended: str
    completed: tuple[Step, ...]
    error: StepError | None = None
    notes: tuple[str, ...] = ()
    browser: str = ""
    final_url: str | None = None


class Driver(Protocol):
    """Visits pages. One belongs to a process; it leases a slot for each visit and starts browsers lazily."""

    def capture(self, directive: Directive) -> CaptureResult:
        """Visit a page and leave the artifacts in the directive's folder, which exists.

        What goes wrong on the way is told in the result, with whatever was captured until then.
        """

    def close(self) -> None:
        """End every browser."""


@dataclass(frozen=True)
class DriverOptions:
    """What the command line says about browsers.

    ``headed`` None: where a display exists and ``CI`` is not set. ``slow_mo_ms`` is waited between actions.
    ``lock_directory`` holds the locks of the slots, and is shared by all runs of this user.
    """

    headed: bool | None = None
    browser: str | None = None
    slow_mo_ms: int = 0
    pool_size: int = 8
    lock_directory: Path | None = None
