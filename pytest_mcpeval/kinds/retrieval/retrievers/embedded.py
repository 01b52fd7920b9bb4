"""The embedded retrievers: BM25 and TF-IDF over the words of a corpus.

Both return tools that share a word with the query, best first; equal scores keep the order of the corpus, so
that the same corpus and query give the same list everywhere. A query without known words finds nothing.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.retrievers.base import Hit
from pytest_mcpeval.kinds.retrieval.retrievers.texts import whole_weights, words_of
from pytest_mcpeval.kinds.retrieval.words import words

_DIGITS = 9
"""Scores that agree to so many decimals are equal: sums of floats differ in the last digits."""


class _Embedded(ABC):
    """An index over a corpus, built when it is first needed."""

    def __init__(self, name: str, corpus: Corpus, weights: Mapping[str, float]) -> None:
        self._name = name
        self._corpus = corpus
        self._weights = {field: weight for field, weight in weights.items() if weight}
        # Words stand in a text as often as they count, so that weights are made whole numbers.
        self._repeats, self._scale = whole_weights(weights)
        self._lock = threading.Lock()
        self._is_open = False
        self._is_empty = False

    @property
    def name(self) -> str:
        """``bm25 (tool, description, schema)``."""
        fields = ", ".join(
            name if times == 1 else f"{name} ×{times:g}" for name, times in self._weights.items()
        )
        return f"{self._name} ({fields})"

    def open(self) -> None:
        """Build the index."""
        with self._lock:
            if not self._is_open:
                documents = [words_of(tool, self._repeats) for tool in self._corpus.tools]
                # Neither library can index texts without any word.
                self._is_empty = not any(documents)
                if not self._is_empty:
                    self._build(documents)
                self._is_open = True

    def close(self) -> None:
        """Let go of the index."""
        with self._lock:
            self._is_open = False

    def search(self, query: str, k: int) -> list[Hit]:
        """At most ``k`` tools that share a word with the query."""
        import numpy as np

        self.open()
        said = words(query)
        if self._is_empty or not said:
            return []
        scores = np.round(self._scores(said), _DIGITS)
        best = np.argsort(-scores, kind="stable")[:k]
        return [Hit(self._corpus.tools[at].tool_id, float(scores[at])) for at in best if scores[at] > 0]

    @abstractmethod
    def _build(self, documents: list[list[str]]) -> None: ...

    @abstractmethod
    def _scores(self, query: list[str]) -> Any: ...


class Bm25(_Embedded):
    """Okapi BM25 in Lucene's form, by bm25s. ``weights`` maps a field to how many times its words count.

    Raises:
        ValueError: No field is read, one is unknown, a weight is none, or ``k1`` or ``b`` is out of range.
    """

    def __init__(
        self, corpus: Corpus, weights: Mapping[str, float], k1: float = 1.5, b: float = 0.75
    ) -> None:
        super().__init__("bm25", corpus, weights)
        if not (k1 >= 0 and 0 <= b <= 1):
            raise ValueError(f"expected k1 of at least 0 and b from 0 to 1, found {k1!r} and {b!r}")
        # Texts that are longer by a factor score the same with a k1 that is higher by it.
        self._k1, self._b = k1 * self._scale, b

    def _build(self, documents: list[list[str]]) -> None:
        import bm25s

        self._index = bm25s.BM25(method="lucene", k1=self._k1, b=self._b, dtype="float64")
        self._index.index(documents, show_progress=False)

    def _scores(self, query: list[str]) -> Any:
        return self._index.get_scores_from_ids(self._index.get_tokens_ids(query))


class Tfidf(_Embedded):
    """Cosine similarity of TF-IDF vectors, by scikit-learn, with its defaults for weights."""

    def __init__(self, corpus: Corpus, weights: Mapping[str, float]) -> None:
        super().__init__("tfidf", corpus, weights)

    def _build(self, documents: list[list[str]]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

        self._vectorizer = TfidfVectorizer(analyzer=_unchanged)
        self._vectors = self._vectorizer.fit_transform(documents)

    def _scores(self, query: list[str]) -> Any:
        return (self._vectors @ self._vectorizer.transform([query]).T).toarray().ravel()


def _unchanged(document: list[str]) -> list[str]:
    return document
