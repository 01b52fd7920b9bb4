"""The embedded retrievers: BM25 and TF-IDF over the words of a corpus.

Both return tools that share a word with the query, best first; equal scores keep the order of the corpus, so
that the same corpus and query give the same list everywhere. A query without known words finds nothing.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from pytest_mcpeval.kinds.retrieval.corpus import Corpus, CorpusTool
from pytest_mcpeval.kinds.retrieval.retrievers.results import Hit
from pytest_mcpeval.kinds.retrieval.words import words
from pytest_mcpeval.loading.messages import choice, shown, suggestion
from pytest_mcpeval.targets.base import Request

_DIGITS = 9
"""Scores that agree to this many decimals are equal, since sums of floats differ in the last digits."""


_TEXTS = ("title", "description")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_NESTED = ("items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "else")
_VALUES = ("enum", "const")


FIELDS = ("server", "tool", "description", "schema")
LARGEST_WEIGHT = 100


def weight_of(weight: float) -> Fraction:
    """The weight of a field, exact to hundredths.

    Raises:
        ValueError: It is negative, too large, or too small to count.
    """
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"expected a weight from 0 to {LARGEST_WEIGHT}, found {shown(weight)}")
    found = Fraction(round(weight * 100), 100)
    if weight and not found:
        raise ValueError(f"expected 0 or a weight of 0.01 at least, found {weight!r}")
    return found


def whole_weights(weights: Mapping[str, float]) -> tuple[dict[str, int], int]:
    """Return weights as whole numbers, and their common factor; fields of weight 0 are left out.

    Raises:
        ValueError: No field is read, a field is unknown, or its weight is invalid.
    """
    unknown = next((name for name in weights if name not in FIELDS), None)
    if unknown is not None:
        hint = suggestion(unknown, FIELDS) if isinstance(unknown, str) else ""
        raise ValueError(f"{shown(unknown)} is not a field of a tool{hint}: expected {choice(FIELDS)}")
    found = {name: weight_of(weight) for name, weight in weights.items()}
    if not any(found.values()):
        raise ValueError("no field of the tools is read: give one a weight above 0")
    scale = math.lcm(*(weight.denominator for weight in found.values()))
    return {name: int(weight * scale) for name, weight in found.items() if weight}, scale


def words_of(tool: CorpusTool, weights: Mapping[str, int]) -> list[str]:
    """The words of a tool's fields (``server``, ``tool``, ``description``, ``schema``).

    The words of a field stand there as many times as its weight says.
    """
    found: list[str] = []
    for name, weight in weights.items():
        text = "\n".join(schema_texts(tool.schema)) if name == "schema" else str(getattr(tool, name))
        found += words(text) * weight
    return found


def schema_texts(schema: Any) -> Iterator[str]:
    """Yield the texts of a JSON Schema: names of properties, titles, descriptions, and listed values."""
    if isinstance(schema, list):
        for inner in schema:
            yield from schema_texts(inner)
    if not isinstance(schema, Mapping):
        return
    yield from (schema[key] for key in _TEXTS if isinstance(schema.get(key), str))
    for key in _VALUES:
        values = schema.get(key)
        yield from (
            value for value in (values if isinstance(values, list) else [values]) if isinstance(value, str)
        )
    for key in _NAMED:
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            yield from (name for name in inner if key == "properties")
            yield from schema_texts(list(inner.values()))
    for key in _NESTED:
        yield from schema_texts(schema.get(key))


class _Embedded(ABC):
    """An index over a corpus, built when it is first needed."""

    def __init__(self, name: str, corpus: Corpus, weights: Mapping[str, float]) -> None:
        self._name = name
        self._corpus = corpus
        self._weights = {field: weight for field, weight in weights.items() if weight}
        # A word is repeated as often as its weight says, so weights must be whole numbers.
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
                # Neither library can index texts without words.
                self._is_empty = not any(documents)
                if not self._is_empty:
                    self._build(documents)
                self._is_open = True

    def close(self) -> None:
        """Release the index."""
        with self._lock:
            self._is_open = False

    def ask(self, request: Request) -> list[Hit]:
        """The tools that share a word with the ``query``, at most ``limit``."""
        import numpy as np

        self.open()
        said = words(request["query"])
        if self._is_empty or not said:
            return []
        scores = np.round(self._scores(said), _DIGITS)
        best = np.argsort(-scores, kind="stable")[: request["limit"]]
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

        self._vectorizer = TfidfVectorizer(analyzer=list)
        self._vectors = self._vectorizer.fit_transform(documents)

    def _scores(self, query: list[str]) -> Any:
        return (self._vectors @ self._vectorizer.transform([query]).T).toarray().ravel()
