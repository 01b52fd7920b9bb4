"""The evidence of one case as assertions see it: read once, when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent import evidence
from pytest_mcpeval.kinds.agent.evidence import (
    EvidenceError,
    Generation,
    RoutingDecision,
    StepCount,
    ToolCall,
)
from pytest_mcpeval.kinds.agent.outcomes import Reason
from pytest_mcpeval.kinds.agent.visible_text import Block, visible_blocks

FoundT = TypeVar("FoundT")


class Captured:
    """The captured evidence of a case. Every method returns the evidence, or the `Reason` why there is none.

    ``max_dom_bytes`` is the largest page that is read.
    """

    def __init__(self, folder: CaseFolder, max_dom_bytes: int) -> None:
        self.folder = folder
        self._max_dom_bytes = max_dom_bytes

    @cached_property
    def tool_calls(self) -> list[ToolCall] | Reason:
        """The tool calls, in their order."""
        return self._log("tool_calls.jsonl", evidence.read_tool_calls)

    @cached_property
    def routing_decisions(self) -> list[RoutingDecision] | Reason:
        """The agents that were entered, in their order."""
        return self._log("routing_decisions.jsonl", evidence.read_routing_decisions)

    @cached_property
    def step_count(self) -> StepCount | Reason:
        """The number of steps."""
        return self._log("step_count.json", evidence.read_step_count)

    @cached_property
    def generations(self) -> list[Generation] | Reason:
        """The calls of models."""
        return self._log("generations.jsonl", evidence.read_generations)

    def doubt(self, name: str) -> Reason | None:
        """Return why a log is not complete enough to show that something did not happen; None if it is."""
        why = self._doubts if isinstance(self._doubts, str) else self._doubts.get(name)
        if why is None:
            return None
        return Reason("EvidenceIncomplete", why, f"trace/observability/{name}")

    @cached_property
    def _doubts(self) -> dict[str, str] | str:
        try:
            return evidence.read_doubts(self.folder)
        except EvidenceError as error:
            return f"the record of missing evidence cannot be read: {error}"

    def _log(self, name: str, read: Callable[[CaseFolder], FoundT | None]) -> FoundT | Reason:
        path = f"trace/observability/{name}"
        try:
            found = read(self.folder)
        except EvidenceError as error:
            return Reason("ObservabilityLogMalformed", f"{name} cannot be read: {error}", path)
        if found is None:
            return Reason("ObservabilityLogMissing", f"there is no {name}", path)
        return found

    @property
    def response_text(self) -> str | Reason:
        """The visible text of the page with the answer."""
        blocks = self.response_blocks
        return blocks if isinstance(blocks, Reason) else " ".join(block.text for block in blocks)

    @cached_property
    def response_blocks(self) -> list[Block] | Reason:
        """The visible texts of the page with the answer."""
        found = self._page(self.folder.captured_dom("after_submit"))
        if found is None:
            name = f"trace/dom/{self.folder.after_submit_dom.name}"
            return Reason("DOMSnapshotMissing", "the page with the answer was not captured", name)
        return found

    @cached_property
    def landing_blocks(self) -> list[Block] | Reason | None:
        """The visible texts of the page before anything was typed; None where it was not captured."""
        return self._page(self.folder.captured_dom("landing"))

    def _page(self, path: Path) -> list[Block] | Reason | None:
        name = f"trace/dom/{path.name}"
        try:
            size = path.stat().st_size
            if size > self._max_dom_bytes:
                message = (
                    f"{name} has {size:,} bytes, and interaction.max_dom_bytes is {self._max_dom_bytes:,}"
                )
                return Reason("DOMSnapshotTooLarge", message, name)
            return visible_blocks(path.read_text(encoding="utf-8", errors="replace"))
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"the captured page cannot be read: {error.strerror or error}"
            return Reason("DOMSnapshotUnreadable", message, name)
