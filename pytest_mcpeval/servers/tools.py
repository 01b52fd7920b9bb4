"""A tool as a server lists it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import mcp_types


@dataclass(frozen=True)
class Tool:
    """A tool of a server. Schemas are JSON Schemas; ``annotations`` are the hints of the protocol.

    ``title`` is the name for people.
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
