"""What a golden set is, once its file is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.kind import Suite
from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.slices import LabelledQuery


@dataclass(frozen=True)
class GoldenQuery(LabelledQuery):
    """A query of a golden file. ``must_hit`` pins it: the k within which it must find a relevant tool."""

    must_hit: int | None = None

    def as_data(self) -> dict[str, Any]:
        """What the digest of a set is made from: everything that is measured, and no pin."""
        return {"id": self.id, "query": self.text, "labels": dict(self.labels), "notes": self.notes}


@dataclass(frozen=True)
class GoldenData:
    """The queries of a golden set, and the corpus their labels are from."""

    queries: Sequence[GoldenQuery]
    corpus: Corpus

    @cached_property
    def digest(self) -> str:
        """``sha256:<hex>`` of the queries; settings, pins, provenance and layout do not count."""
        return digest_of([query.as_data() for query in self.queries])

    @cached_property
    def by_id(self) -> Mapping[str, GoldenQuery]:
        """Query id → query."""
        return {query.id: query for query in self.queries}

    @cached_property
    def pinned(self) -> Mapping[str, int]:
        """Query id → the k within which it must find a relevant tool, of the queries that say so."""
        return {query.id: query.must_hit for query in self.queries if query.must_hit is not None}


@dataclass(frozen=True, kw_only=True)
class RetrievalSuite(Suite[GoldenQuery]):
    """A golden file, loaded, with its queries and their corpus. ``settings`` are `RetrievalSettings`."""

    golden: GoldenData
