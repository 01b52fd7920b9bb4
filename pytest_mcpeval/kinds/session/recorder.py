"""Writes the lines of one scenario: before a call is made, after it, and instead of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_mcpeval.kinds.session.argument_sources import SeenValues
from pytest_mcpeval.kinds.session.guard import Guard, calls_left
from pytest_mcpeval.kinds.session.records import (
    BLOCKED,
    BUDGET_ABORT,
    NOT_DISPATCHED,
    AbortReason,
    TranscriptEntry,
    is_reserved,
)
from pytest_mcpeval.kinds.session.redaction import args_summary, digest, redacted_text
from pytest_mcpeval.kinds.session.result_shape import failure_shape, result_shape
from pytest_mcpeval.kinds.session.transcript import abort_reason, call_count
from pytest_mcpeval.servers.json_paths import json_answer
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import shortened

_LONGEST_NAME = 160
_LONGEST_JUSTIFICATION = 2_000
_HOUSEKEEPING = ("read", "write", "edit")
_PATH_ARGUMENTS = ("file_path", "path", "notebook_path")


class CallRefused(Exception):  # noqa: N818 (names what happened)
    """A call was not made. ``ended`` says why its scenario is over; None when it goes on with other tools."""

    __module__ = "pytest_mcpeval"  # Shown in tracebacks: where people import it from.

    def __init__(self, reason: str, ended: AbortReason | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.ended: AbortReason | None = ended


class Recorder:
    """The transcript, as one scenario writes it. Nothing private gets into a line."""

    def __init__(self, guard: Guard, scenario_id: str) -> None:
        self._guard = guard
        self._seen = SeenValues()
        self.scenario_id = scenario_id

    @property
    def call_count(self) -> int:
        """The calls made so far."""
        return call_count(self._guard.transcript.entries(), self.scenario_id)

    def lines_of(self, tool: str) -> int:
        """The lines of a tool, those in place of a call among them."""
        name = self._name(tool)
        entries = self._guard.transcript.entries()
        own = [entry for entry in entries if entry.scenario_id == self.scenario_id]
        return sum(name in (entry.tool, entry.blocked_tool) for entry in own)

    @property
    def calls_left(self) -> int:
        """The calls that may still be made."""
        return calls_left(self._guard.budget, self._guard.transcript.entries(), self.scenario_id)

    @property
    def abort_reason(self) -> AbortReason | None:
        """Why the scenario is over; None while it may go on."""
        return abort_reason(self._guard.transcript.entries(), self.scenario_id)

    def require_running(self) -> None:
        """Look at the clock, and stop whoever goes on after the end.

        Raises:
            CallRefused: The scenario is over.
        """
        self.check_wallclock()
        if ended := self.abort_reason:
            raise CallRefused(f"the scenario is over ({ended}): no more calls are made", ended)

    def check_wallclock(self) -> None:
        """End the scenario when the time of the session is over, even if no further call is tried."""
        if self._guard.seconds_left() <= 0 and self.abort_reason is None:
            self._guard.trip_wallclock(self.scenario_id)

    def require_budget(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """End the scenario when a call is one too many.

        Raises:
            CallRefused: It is.
        """
        if self.calls_left <= 0:
            self.end_by_budget(tool, arguments)
            raise CallRefused("the scenario is over (call_budget): no more calls are made", "call_budget")

    def end_by_budget(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Write down that a call was one too many."""
        self._instead(BUDGET_ABORT, "call budget exceeded", "call_budget", tool, arguments)

    def blocked(
        self, reason: str, ended: AbortReason | None, tool: str, arguments: Mapping[str, Any]
    ) -> CallRefused:
        """Write down a call that safety does not let pass; what is to be raised."""
        self._instead(BLOCKED, reason, ended, tool, arguments)
        return CallRefused(f"blocked: {self.told(reason)}", ended)

    def _instead(
        self, entry: str, reason: str, ended: AbortReason | None, tool: str, arguments: Mapping[str, Any]
    ) -> None:
        self._guard.transcript.append(
            self.scenario_id,
            ts=self._guard.now(),
            tool=entry,
            is_mcp=False,
            args_summary=self._summary(arguments),
            result_shape=NOT_DISPATCHED,
            justification=self._justification(reason),
            blocked_tool=self._name(tool),
            abort_reason=ended,
        )

    def before(
        self, tool: str, arguments: Mapping[str, Any], *, is_mcp: bool, justification: str | None = None
    ) -> TranscriptEntry:
        """The line of a call that is about to be made; it counts from now on.

        Raises:
            ValueError: The name is one that only the guard may write.
        """
        name = self._name(tool)
        if is_reserved(name):
            raise ValueError(f"{name!r} is reserved: names such as __name__ stand for what is no call")
        entry = self._guard.transcript.append(
            self.scenario_id,
            ts=self._guard.now(),
            tool=name,
            is_mcp=is_mcp,
            args_summary=self._summary(arguments),
            justification=None if justification is None else self._justification(justification),
            args_digest=digest(arguments, tool, self._guard.digest_key),
            argument_sources=self._seen.sources(arguments) if is_mcp else (),
        )
        self._guard.counted(self.scenario_id)
        return entry

    def after(self, entry_id: str, shape: str, **measured: Any) -> None:
        """Complete the line of a call with the shape of what came back."""
        shape = redactor.text(shape)
        self._guard.transcript.complete(entry_id, result_shape=shape, **measured)
        self.check_wallclock()

    def after_response(self, entry_id: str, response: Response) -> None:
        """Complete the line of a call with what a server answered."""
        self._seen.add(entry_id, _values(response))
        latency = round(response.latency_ms, 3)
        self.after(entry_id, result_shape(response), result_bytes=size_of(response), latency_ms=latency)

    def after_failure(self, entry_id: str, error: BaseException) -> None:
        """Complete the line of a call that brought no answer."""
        self.after(entry_id, failure_shape(error))

    def remember(self, entry_id: str, result: Any) -> None:
        """Know the values of a result when they come back as arguments."""
        self._seen.add(entry_id, result)

    def told(self, text: str) -> str:
        """A text as it may be written down: without secrets, those of the servers among them."""
        return redacted_text(redactor.text(text))

    def _name(self, tool: str) -> str:
        return shortened(self.told(tool), _LONGEST_NAME)

    def _justification(self, text: str) -> str:
        return shortened(self.told(text), _LONGEST_JUSTIFICATION)

    def _summary(self, arguments: Mapping[str, Any]) -> str:
        return args_summary(redactor.data(arguments))

    def is_housekeeping(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a tool reads or writes the evaluation's own files: no work of the scenario, so no line."""
        if tool.lower() not in _HOUSEKEEPING:
            return False
        path = next((arguments[name] for name in _PATH_ARGUMENTS if name in arguments), None)
        if not isinstance(path, str) or "\0" in path:
            return False
        folder = os.path.realpath(self._guard.transcript.path.parent)
        return Path(os.path.realpath(path)).is_relative_to(folder)


def _values(response: Response) -> Any:
    try:
        return json_answer(response)
    except ValueError:
        return response.text.split()


def size_of(response: Response) -> int:
    """The bytes of an answer: its text in UTF-8, or else its structured content, and everything else."""
    others = sum(block.size for block in response.blocks if block.type not in ("text", "resource_link"))
    text = response.text
    if not text and response.structured is not None:
        text = json.dumps(response.structured, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass")) + others
