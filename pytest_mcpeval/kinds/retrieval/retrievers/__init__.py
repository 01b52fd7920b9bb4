"""Retrievers, the systems under test: chosen by settings, asked query by query. Usable without pytest."""

from __future__ import annotations

from pytest_mcpeval.kinds.retrieval.retrievers.asking import SearchResult, ask
from pytest_mcpeval.kinds.retrieval.retrievers.base import Hit, Retriever
from pytest_mcpeval.kinds.retrieval.retrievers.making import make_retriever
from pytest_mcpeval.kinds.retrieval.retrievers.settings import RetrieverModel, retriever_from_text

__all__ = [
    "Hit",
    "Retriever",
    "RetrieverModel",
    "SearchResult",
    "ask",
    "make_retriever",
    "retriever_from_text",
]
