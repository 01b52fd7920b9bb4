"""The options about golden sets. Imported in every session of pytest, so it imports next to nothing."""

from __future__ import annotations

from pytest_mcpeval.core.option import Option

OPTIONS = (
    Option(
        "--mcpeval-retriever",
        "the search that retrieval suites evaluate instead of their own: bm25, tfidf, "
        "python:pkg.mod:search, fixture:NAME, command:PROGRAM, or a JSON mapping as in mcpeval.yaml",
        metavar="RETRIEVER",
        changes_measure=True,
    ),
)
