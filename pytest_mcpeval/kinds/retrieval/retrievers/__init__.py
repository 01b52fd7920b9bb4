"""Retrievers, the systems under test: chosen by settings, asked query by query. Usable without pytest."""

from __future__ import annotations

from pytest_mcpeval.kinds.retrieval.retrievers.asking import SearchResult, ask, make_retriever
from pytest_mcpeval.kinds.retrieval.retrievers.results import Hit
from pytest_mcpeval.kinds.retrieval.retrievers.settings import RetrieverModel, retriever_from_text

__all__ = ["Hit", "RetrieverModel", "SearchResult", "ask", "make_retriever", "retriever_from_text"]
