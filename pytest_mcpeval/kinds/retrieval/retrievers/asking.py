"""Settings → retriever, and asking it one query: returns the ranked list and problems in it.

A retriever is a target: it is asked ``{"query": …, "limit": …}`` and answers with a list of `Hit`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pytest_mcpeval.core.gate import names
from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.rankings import duplicates, foreign
from pytest_mcpeval.kinds.retrieval.retrievers.embedded import Bm25, Tfidf
from pytest_mcpeval.kinds.retrieval.retrievers.results import Hit, hits_of, hits_of_line
from pytest_mcpeval.kinds.retrieval.retrievers.settings import RetrieverModel
from pytest_mcpeval.loading.messages import counted, shortened
from pytest_mcpeval.targets.base import AnswerError, Codec, Target
from pytest_mcpeval.targets.making import Surroundings, make_target

NAMED = 5
"""One problem names at most this many tools."""


PROBLEMS = {
    "nothing returned": "returned nothing",
    "a tool named twice": "named more than once",
    "a tool that is not in the corpus": "not in the corpus",
    "a score that is not a number": "the score is not a finite number",
    "more tools than asked for": "returned ",
}
"""Name of each kind of problem → the beginning of its sentences; the first match counts."""


@dataclass(frozen=True)
class SearchResult:
    """The answer to one query.

    ``hits`` are in the target's own order, at most as many as were asked for, duplicates and tools
    outside the corpus included; scores are finite numbers or None. ``returned`` counts them before
    the cut. ``problems`` are sentences about malformed results; none of them changes the order. With
    an ``error`` there are no hits, and the query counts as if nothing was returned.
    """

    hits: tuple[Hit, ...] = ()
    returned: int = 0
    problems: tuple[str, ...] = ()
    error: AnswerError | None = None
    seconds: float = 0.0

    @property
    def ranked(self) -> list[str]:
        """The ids of the hits, best first."""
        return [hit.tool_id for hit in self.hits]


def make_retriever(model: RetrieverModel, corpus: Corpus, around: Surroundings | None = None) -> Target:
    """Return the retriever that settings describe, not opened yet: nothing is imported, started or asked.

    Raises:
        TargetStartError: Its server or fixture does not exist.
    """
    if model.bm25 is not None:
        return Bm25(corpus, model.bm25.weights(), model.bm25.k1, model.bm25.b)
    if model.tfidf is not None:
        return Tfidf(corpus, model.tfidf.weights())
    read: Callable[[Any], Any] = hits_of if model.command is None else hits_of_line
    if (answer := model.mcp or model.http) is not None:
        between = answer.separator
        written = {} if between is None else {f"{t.server}{between}{t.tool}": t.tool_id for t in corpus.tools}
        read = partial(answer.hits, names=written)
    codec = Codec("retriever", "search", "query, k", lambda asked: (asked["query"], asked["limit"]), read)
    return make_target(model, codec, around or Surroundings())


def ask(retriever: Target, query: str, k: int, corpus: AbstractSet[str]) -> SearchResult:
    """Ask a retriever a query.

    ``corpus`` has the ids of all tools. A failed search becomes an error in the result.
    """
    started = time.perf_counter()
    try:
        hits = retriever.ask({"query": query, "limit": k})
    except AnswerError as error:
        return SearchResult(problems=(error.message,), error=error, seconds=time.perf_counter() - started)
    return replace(measured(hits, k, corpus), seconds=time.perf_counter() - started)


def measured(hits: Sequence[Hit], k: int, corpus: AbstractSet[str]) -> SearchResult:
    """Return the hits to measure: cut to ``k``, without scores that are not finite numbers."""
    kept = hits[:k]
    clean = tuple(hit if _is_finite(hit) else Hit(hit.tool_id) for hit in kept)
    return SearchResult(clean, len(hits), tuple(_problems(hits, kept, corpus)))


def _is_finite(hit: Hit) -> bool:
    return hit.score is None or math.isfinite(hit.score)


def _problems(hits: Sequence[Hit], kept: Sequence[Hit], corpus: AbstractSet[str]) -> Iterator[str]:
    ids = [hit.tool_id for hit in kept]
    if not hits:
        yield PROBLEMS["nothing returned"]
    if len(hits) > len(kept):
        yield f"returned {counted(len(hits), 'tool')}, asked for {len(kept)}: the rest is ignored"
    if repeated := duplicates(ids):
        yield f"{PROBLEMS['a tool named twice']}, where the first place counts: {_named(repeated)}"
    if unknown := foreign(ids, corpus):
        yield f"{PROBLEMS['a tool that is not in the corpus']}, but keeps its place: {_named(unknown)}"
    if odd := [str(rank) for rank, hit in enumerate(kept, 1) if not _is_finite(hit)]:
        yield f"{PROBLEMS['a score that is not a number']} at rank {names(odd, NAMED)}"


def kinds_of(problems: Iterable[str]) -> set[str]:
    """Return which of `PROBLEMS` the sentences are about; errors do not count."""
    found = (
        next((name for name, start in PROBLEMS.items() if text.startswith(start)), "") for text in problems
    )
    return set(found) - {""}


def _named(ids: Sequence[str]) -> str:
    return names([shortened(tool) for tool in ids], NAMED)
