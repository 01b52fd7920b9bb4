"""The answer of an MCP server, reduced to what checks and reports need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Block:
    """One content block of an answer, summarised.

    ``size`` is characters for text and decoded bytes for binary content.
    """

    type: str
    size: int
    mime_type: str | None = None
    uri: str | None = None


@dataclass(frozen=True)
class Response:
    """The answer to one call of a tool, a resource or a prompt.

    ``text`` joins all text blocks with newlines. ``structured`` is the tool's structured content (any JSON
    value) or None. ``latency_ms`` is the time from sending to answer. ``output_schema`` is the JSON Schema
    the server declared for this tool's structured content, if any. ``time_limit_ms`` is how long the call was
    allowed to take; None: there was no limit.
    """

    text: str
    structured: Any = None
    is_error: bool = False
    blocks: tuple[Block, ...] = ()
    latency_ms: float = 0.0
    output_schema: Mapping[str, Any] | None = None
    time_limit_ms: float | None = None
