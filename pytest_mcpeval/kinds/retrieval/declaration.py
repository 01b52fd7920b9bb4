"""How golden sets, and the files they read, are detected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pytest_mcpeval.core.declaration import Better, CommandLine, DocumentRole, KindDeclaration
from pytest_mcpeval.kinds.retrieval.command_line import OPTIONS
from pytest_mcpeval.kinds.retrieval.definitions import METRICS, cutoff_of, default_metric


class RetrievalDeclaration(KindDeclaration):
    """Golden sets: queries, each with the tools that a search should find."""

    name = "retrieval"
    file_description = "a `queries:` list (retrieval)"
    file_keys = ("queries",)
    option_table = OPTIONS
    has_selftest = True
    commands: ClassVar[Mapping[str, str]] = {
        "snapshot": "pytest_mcpeval.kinds.retrieval.cli.snapshot",
    }

    figures: ClassVar[Mapping[str, Better]] = {
        "recall_at.5": "higher",
        "mrr": "higher",
        "ndcg_at_10": "higher",
        "map": "higher",
        "recall_at.*": "higher",
        "hit_at.*": "higher",
        "problems.*": "lower",
    }

    def paired_values(self, case: Mapping[str, Any]) -> Mapping[str, float]:
        """Recall at the cutoff that gates watch by default, and the reciprocal rank."""
        measured = case["measured"]
        if "labels" not in measured:
            return {}
        metric = default_metric(measured["depth"])
        ranks: Mapping[str, int | None] = measured["ranks"]
        relevant = [tool for tool, grade in measured["labels"].items() if grade > 0]
        found = sum((ranks.get(tool) or math.inf) <= cutoff_of(metric) for tool in relevant)
        first = measured["rank"]
        return {metric: found / len(relevant), "mrr": 1 / first if first else 0.0} if relevant else {}

    def options(self, command_line: CommandLine) -> Mapping[str, Any]:
        """Return the settings given by command line options."""
        text = command_line.value("mcpeval_retriever")
        if text is None:
            return {}
        if command_line.value("mcpeval_bless"):
            raise ValueError(
                "--mcpeval-bless with --mcpeval-retriever would commit the numbers of another search: "
                "name the retriever in mcpeval.yaml, then bless"
            )
        from pytest_mcpeval.kinds.retrieval.retrievers import retriever_from_text

        try:
            return {"retriever": retriever_from_text(text, command_line.directory)}
        except ValueError as error:
            raise ValueError(f"--mcpeval-retriever: {error}") from None

    def overrides(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The search."""
        return options

    def detect(self, data: Any) -> DocumentRole | None:
        """A mapping with ``queries``; a corpus of tools and a baseline of metrics are support files."""
        if not isinstance(data, dict):
            return None
        if "queries" in data:
            return "suite"
        return "support" if is_flat_baseline(data) or _is_corpus(data) else None


def is_flat_baseline(data: object) -> bool:
    """Whether a document is a baseline of a set's metrics alone."""
    if not isinstance(data, dict) or data.get("kind") == "baseline":
        return False
    return (
        "recall_at" in data
        or "hit_at" in data
        or any(type(data.get(name)) in (int, float) for name in METRICS)
    )


def _is_corpus(data: Mapping[str, Any]) -> bool:
    rows = data.get("tools")
    return isinstance(rows, list) and all(isinstance(row, dict) and "tool_id" in row for row in rows[:1])
