"""A tool corpus: the frozen list of tools that retrieval is measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.baseline import digest_of


@dataclass(frozen=True)
class CorpusTool:
    """A tool of a corpus. ``tool_id`` is ``<server>:<tool>``; ``schema`` the JSON Schema of its input."""

    tool_id: str
    server: str
    tool: str
    description: str
    schema: Mapping[str, Any] | None = None

    def as_data(self) -> dict[str, Any]:
        """The tool as a row of a corpus file; without a schema, the row has no such key."""
        row: dict[str, Any] = {
            "tool_id": self.tool_id,
            "server": self.server,
            "tool": self.tool,
            "description": self.description,
        }
        return row if self.schema is None else {**row, "schema": self.schema}


@dataclass(frozen=True)
class Corpus:
    """The tools of a corpus, in the order of their file, which breaks ties of the embedded retrievers.

    ``path`` is None for a corpus that was made in Python.
    """

    version: str
    tools: tuple[CorpusTool, ...]
    path: Path | None = None

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], version: str = "") -> Corpus:
        """Return a corpus made from rows of the form of a corpus file."""
        tools = (
            CorpusTool(row["tool_id"], row["server"], row["tool"], row["description"], row.get("schema"))
            for row in rows
        )
        return cls(version, tuple(tools))

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of all tools."""
        return frozenset(tool.tool_id for tool in self.tools)

    @cached_property
    def digest(self) -> str:
        """``sha256:<hex>`` of the tools in their order; version, provenance and layout do not count."""
        return digest_of(self.rows)

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The tools as rows of a corpus file."""
        return [tool.as_data() for tool in self.tools]
