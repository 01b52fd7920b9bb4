"""What a server lists: its tools and prompts."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import mcp_types

_NAMES_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool of a server. Schemas are JSON Schemas; ``annotations`` are the hints of the protocol.

    ``title`` is the name for people. Each listing has tools of its own: what is made of one can be kept.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""

    @classmethod
    def of(cls, tool: mcp_types.Tool) -> Tool:
        """The tool that mcp parsed."""
        annotations = (
            tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
        )
        return cls(
            tool.name,
            tool.description or "",
            tool.input_schema,
            tool.output_schema,
            annotations,
            tool.title or "",
        )


@dataclass(frozen=True)
class Prompt:
    """A prompt of a server. ``arguments`` maps the names of its arguments to whether they are required."""

    name: str
    arguments: Mapping[str, bool]

    @classmethod
    def of(cls, prompt: mcp_types.Prompt) -> Prompt:
        """The prompt that mcp parsed."""
        return cls(prompt.name, {found.name: bool(found.required) for found in prompt.arguments or ()})


def unlisted(server: str, what: str, name: str, known: Collection[str]) -> str:
    """That a server does not list a ``what`` of this name, and which names it has."""
    near = difflib.get_close_matches(name, known, 3, 0.5)
    listed = ", ".join(sorted(known)[:_NAMES_SHOWN]) or f"no {what}s at all"
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {listed}"
    return f"server {server!r} has no {what} {name[:80]!r}: {hint}"
