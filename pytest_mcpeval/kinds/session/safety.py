"""Decide for every call, before it is sent, whether the dispositions allow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_mcpeval.kinds.session.records import ServerScope
from pytest_mcpeval.kinds.session.safety_resources import match_resources
from pytest_mcpeval.kinds.session.safety_rules import classify
from pytest_mcpeval.servers.tools import Tool

Verdict = Literal["permit", "block", "abort"]
"""``block``: the call is not made, and its scenario continues. ``abort``: the scenario ends."""


@dataclass(frozen=True)
class Decision:
    """The verdict on one call, and why."""

    verdict: Verdict
    reason: str


def decide(scope: ServerScope, name: str, arguments: Mapping[str, Any], tool: Tool | None = None) -> Decision:
    """Whether a tool of the scope's server may be called with these raw arguments.

    ``name`` is the tool's name on its server, ``tool`` what the server lists under it.
    """
    if scope.disposition == "skip":
        return Decision("block", "MCP disposition is 'skip'")
    found = classify(name, tool)
    if found.effect == "read":
        return Decision("permit", found.reason)
    prefix = f"MCP disposition is '{scope.disposition}', and"
    if scope.disposition == "read_only":
        if found.effect == "mutating":
            return Decision("block", f"{prefix} the tool changes something: {found.reason}")
        return Decision("abort", f"{prefix} the tool cannot be classified as read-only: {found.reason}")
    within = match_resources(arguments, scope.test_resources)
    if within.inside:
        return Decision("permit", within.reason)
    return Decision("abort", f"{prefix} the call is outside the test resources: {within.reason}")
