"""The options of golden sets. Imported in every session of pytest, so it has hardly any imports."""

from __future__ import annotations

from pytest_mcpeval.core.option import Option

OPTIONS = (
    Option(
        "--mcpeval-retriever",
        "the search to evaluate instead of the one each retrieval suite names: bm25, tfidf, "
        "python:pkg.mod:search, fixture:NAME, command:PROGRAM, or a JSON mapping as in mcpeval.yaml",
        metavar="RETRIEVER",
        changes_measure=True,
    ),
)
