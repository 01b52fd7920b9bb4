"""A suite: one data file, loaded into cases, with the settings and servers that apply to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from pytest_mcpeval.core.case import Batch, Case, SpecT, batches, id_problems
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.loading.document import value_at
from pytest_mcpeval.text.visible import indented

if TYPE_CHECKING:
    from pytest_mcpeval.loading import Document
    from pytest_mcpeval.servers.definitions import ServerDefinition

EXCERPT_LINES = 7
"""Of a case, in the text on its failure."""


@dataclass(frozen=True)
class Suite(Generic[SpecT]):
    """One data file, loaded: its cases, its effective settings and the servers it may talk to.

    ``key`` is the path relative to the root directory with forward slashes. Up to ``concurrency`` calls are
    in flight at once, one item holds up to ``batch`` cases, and each case is asked ``runs`` times. The cases
    of a ``stateful`` suite build on each other: they run in order, in one process, and are repeated together.
    ``warnings`` are shown when it is collected. ``origin`` is ``path:line`` of the setting that names what is
    evaluated, where there is one.

    Raises:
        DataFileError: It has no case, or an id is not allowed or that of two cases: whatever kind made it.
    """

    key: str
    kind: str
    document: Document
    cases: tuple[Case[SpecT], ...]
    settings: Any
    servers: Mapping[str, ServerDefinition] = field(default_factory=dict)
    concurrency: int = 1
    batch: int = 1
    runs: int = 1
    stateful: bool = False
    warnings: tuple[str, ...] = ()
    origin: str = ""

    def __post_init__(self) -> None:
        problems = [*id_problems(self.document, ((case.id, case.keys) for case in self.cases))]
        if not self.cases:
            problems = [self.document.problem(message="has no case: there is nothing to ask")]
        if problems:
            raise DataFileError(problems)

    @property
    def path(self) -> Path:
        """The data file."""
        return self.document.path

    def row_of(self, case: Case[SpecT]) -> Any:
        """A case as it is written in the file."""
        return value_at(self.document.data, case.keys)

    def origin_of(self, case: Case[SpecT]) -> str:
        """``path:line`` of what names the target of a case; empty if nothing does."""
        return self.origin

    @cached_property
    def batches(self) -> tuple[Batch[SpecT], ...]:
        """The cases as they are put together in items, in the order of the file."""
        return tuple(batches(self.cases, self.batch))

    def batch_of(self, case: Case[SpecT]) -> Batch[SpecT]:
        """The batch that holds a case."""
        return self._batch_of[case.id]

    @cached_property
    def _batch_of(self) -> Mapping[str, Batch[SpecT]]:
        return {case.id: batch for batch in self.batches for case in batch.cases}

    def place_of(self, case: Case[SpecT]) -> list[str]:
        """Where a case stands, for people: ``file:line`` and its first lines; empty for a lost file."""
        number = bisect_right(self._lines, case.line)
        following = self._lines[number] if number < len(self._lines) else case.line + EXCERPT_LINES
        after = min(EXCERPT_LINES, following - case.line) - 1
        row = self.row_of(case)
        name = str(row.get("id") or case.id) if isinstance(row, dict) else case.id
        excerpt = self.document.excerpt(case.line, before=0, after=after, near=name)
        return [f"{self.key}:{case.line}", indented(excerpt, "  ")] if excerpt else []

    @cached_property
    def _lines(self) -> Sequence[int]:
        return sorted({case.line for case in self.cases})


@dataclass(frozen=True)
class Place:
    """Where a document was found, and what applies there: the merged settings of its kind, and the servers.

    ``origins`` says where a setting comes from, as ``path:line`` of the ``mcpeval.yaml``. ``overrides`` are
    settings of the command line, which win over those of all files. ``options`` are what it says to the kind
    besides (`KindDeclaration.options`).
    """

    key: str
    settings: Any
    servers: Mapping[str, ServerDefinition]
    origins: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    options: Any = None


@dataclass(frozen=True)
class SettingsFile:
    """A ``mcpeval.yaml`` whose entries of a kind are cases themselves.

    ``entries`` are the line of the kind's `Kind.settings_key` and the settings of each such entry.
    """

    key: str
    document: Document
    servers: Mapping[str, ServerDefinition]
    entries: Sequence[tuple[int, Mapping[str, Any]]]
