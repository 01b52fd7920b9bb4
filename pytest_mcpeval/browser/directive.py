"""A directive: everything a driver needs for one visit of a page; and the result of the visit.

A directive holds names of environment variables, never secret values, so it may be written to a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, model_validator

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.browser.fields import CssSelector, ManifestModel, Selector, Value, Variable

MEBIBYTE = 1024 * 1024
DEFAULT_MAX_DOM_BYTES = 25 * MEBIBYTE

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


class PageAction(ManifestModel):
    """One thing done on a page. ``value`` is the option of ``select`` or the text of ``fill``."""

    action: ActionName
    selector: Selector
    value: Value | None = None

    @model_validator(mode="after")
    def _has_its_value(self) -> PageAction:
        if self.action == "click" and self.value is not None:
            raise ValueError("click takes no `value`: remove it, or use select or fill")
        if self.action != "click" and self.value is None:
            raise ValueError(f"{self.action} needs a `value`")
        return self


class ResponseReady(ManifestModel):
    """What ends the wait for an answer early: a selector, or a page without changes.

    Exactly one is given. ``selector`` must match an element that was not there or was hidden before the
    input was submitted, or that went away and came back; ``dom_quiet_ms`` is how long the page must not
    change, counted from its first change after the submission, with more on it than the input repeated.
    """

    selector: CssSelector | None = None
    dom_quiet_ms: Annotated[int, Field(ge=50, le=60_000)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> ResponseReady:
        if (self.selector is None) == (self.dom_quiet_ms is None):
            raise ValueError("needs exactly one of `selector` and `dom_quiet_ms`")
        return self


class Interaction(ManifestModel):
    """``interaction:``, how a page is used. Times are in milliseconds.

    ``max_dom_bytes`` is the largest DOM that scoring reads; a larger one is written all the same, unless it
    is too large to be got out of the browser. Without an ``input_selector``, text goes into a visible
    ``textarea``, or else into a visible ``input[type=text]``; of several, into the first.
    """

    preconditions: list[PageAction] = Field(default=[])
    input_selector: Selector | None = None
    response_wait_ms: Annotated[int, Field(ge=100, le=120_000)] = 2_000
    response_ready: ResponseReady | None = None
    max_dom_bytes: Annotated[int, Field(gt=1_024, le=1_024 * MEBIBYTE)] = DEFAULT_MAX_DOM_BYTES


class BearerAuth(ManifestModel):
    """``Authorization: Bearer …`` for the origin of the URL; the token is in the environment."""

    type: Literal["bearer"]
    token_env: Variable


class BasicAuth(ManifestModel):
    """User and password for the origin of the URL, both in the environment."""

    type: Literal["basic"]
    username_env: Variable
    password_env: Variable


Auth = Annotated[BearerAuth | BasicAuth, Field(discriminator="type")]


@dataclass(frozen=True)
class Directive:
    """One visit: where to go, what to do and type there, how long to wait, where to put what was seen.

    ``slot_hint`` is the pool slot to try first. ``storage_state`` is a file or the data of a Playwright
    storage state (cookies and local storage of a user who is logged in). With ``same_host`` a page that is
    captured on another host than that of ``url`` is an error; otherwise a note.
    """

    agent: str
    run_id: str
    case_id: str
    url: str
    input: str
    folder: CaseFolder
    interaction: Interaction = field(default_factory=Interaction)
    reveal_actions: Sequence[PageAction] = ()
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
    """The result of a visit; the artifacts are in the folder.

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


class BrowserError(Exception):
    """No browser or driver can be used. The text is for people: what was tried, and what to install."""


class Driver(Protocol):
    """Visits pages. One belongs to a process; it leases a slot for each visit and starts browsers lazily."""

    def capture(self, directive: Directive) -> CaptureResult:
        """Visit a page and leave the artifacts in the directive's folder, which exists.

        Errors are in the result, with everything captured before them.
        """

    def close(self) -> None:
        """End every browser."""


@dataclass(frozen=True)
class DriverOptions:
    """Command line options of browsers.

    ``headed`` None: where a display exists and ``CI`` is not set. ``slow_mo_ms`` is waited between actions.
    ``lock_directory`` holds the locks of the slots, and is shared by all runs of this user.
    """

    headed: bool | None = None
    browser: str | None = None
    slow_mo_ms: int = 0
    pool_size: int = 8
    lock_directory: Path | None = None
