"""Functions, programs, MCP tools and URLs as retrievers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.kinds.retrieval.retrievers.base import Hit
from pytest_mcpeval.kinds.retrieval.retrievers.results import hits_of
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.targets.base import AnswerError, Reader, Target
from pytest_mcpeval.targets.functions import Signature

SEARCH = Signature("retriever", "search", "query, k", lambda asked: (asked["query"], asked["limit"]), hits_of)
"""A search written in Python takes a query and how many results are wanted."""


class AskedRetriever:
    """A target that is asked ``{"query": …, "limit": …}``; ``read`` makes the list of hits of its answer."""

    def __init__(self, target: Target, read: Reader) -> None:
        self._target = target
        self._read = read

    @property
    def name(self) -> str:
        """``python:pkg.mod:search``, ``command: ./search --fast``."""
        return self._target.name

    def open(self) -> None:
        """Open the target."""
        self._target.open()

    def search(self, query: str, k: int) -> list[Hit]:
        """The hits in its answer, in its order.

        Raises:
            AnswerError: There is none, or it is no ranked list.
        """
        return list(self._read(self._target.ask({"query": query, "limit": k})))

    def close(self) -> None:
        """Close the target."""
        self._target.close()


def hits_of_line(answer: Any) -> list[Hit]:
    """The hits in a line that a program wrote: ``{"results": […]}`` or the bare list.

    Raises:
        AnswerError: There is no list in it, or it is no ranked list.
    """
    if isinstance(answer, Mapping):
        if "results" not in answer:
            keys = ", ".join(map(shown, list(answer)[:8])) or "no keys"
            raise AnswerError("answer", f'expected a line with "results", found one with {keys}')
        answer = answer["results"]
    return hits_of(answer)
