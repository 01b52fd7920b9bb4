"""Ranked search over sections with BM25, and how far its result can be trusted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import bm25s

from examples.docs_server.pages import Section
from examples.docs_server.words import terms

# A term in a heading says more about a section than one in its text: such fields are counted several times.
# The terms of code count once: names repeat in code without saying more.
FIELD_REPETITIONS = {"heading": 3, "title": 2, "topics": 2}


@dataclass(frozen=True)
class Hit:
    """A section that shares terms with the query; a higher score is better."""

    section: Section
    score: float
    matched: frozenset[str]


@dataclass(frozen=True)
class Findings:
    """The hits of one query, best first, and the evidence for them.

    ``weights`` are the inverse document frequencies of the query's terms, also of those no section has.
    ``margin`` (0 to 1) tells how far the best section stands above the typical one.
    """

    hits: tuple[Hit, ...]
    weights: dict[str, float]
    margin: float

    @property
    def confidence(self) -> int:
        """0 to 100: 60 % coverage by all hits, 40 % by the best one, lowered where nothing stands out."""
        if not self.hits:
            return 0
        together = self.coverage(frozenset().union(*(hit.matched for hit in self.hits)))
        alone = self.coverage(self.hits[0].matched)
        return round(100 * (0.6 * together + 0.4 * alone) * (0.6 + 0.4 * self.margin))

    def coverage(self, matched: Iterable[str]) -> float:
        """The share (0 to 1) of the query's weight that these terms carry."""
        total = sum(self.weights.values())
        return sum(self.weights[term] for term in matched) / total if total else 0.0

    def best(self, limit: int, at_least: float = 0.0) -> Findings:
        """The first ``limit`` hits that reach the share ``at_least`` of the best score."""
        floor = at_least * self.hits[0].score if self.hits else 0.0
        kept = tuple(hit for hit in self.hits[:limit] if hit.score >= floor)
        return Findings(kept, self.weights, self.margin)


class SectionIndex:
    """A BM25 index over the sections of one project."""

    def __init__(self, sections: Sequence[Section]) -> None:
        documents = [_weighted_terms(section) for section in sections]
        self.sections = tuple(sections)
        self._terms = [frozenset(document) for document in documents]
        self._frequencies = Counter(term for document in self._terms for term in document)
        self._ranker = bm25s.BM25(method="lucene", k1=1.2, b=0.5)
        self._ranker.index(documents, show_progress=False)

    def search(self, query: str, keep: Callable[[Section], bool] = lambda section: True) -> Findings:
        """All sections that share a term with the query, best first; equal scores keep the pages' order."""
        wanted = dict.fromkeys(terms(query))
        weights = {term: self._weight(term) for term in wanted}
        known = [term for term in wanted if term in self._frequencies]
        if not known:
            return Findings((), weights, 0.0)
        scored = [
            Hit(section, round(float(score), 4), self._terms[number] & wanted.keys())
            for number, (section, score) in enumerate(
                zip(self.sections, self._ranker.get_scores(known), strict=True)
            )
            if keep(section)
        ]
        hits = sorted((hit for hit in scored if hit.matched), key=lambda hit: -hit.score)
        return Findings(tuple(hits), weights, _margin([hit.score for hit in scored]))

    def _weight(self, term: str) -> float:
        having = self._frequencies[term]
        return math.log(1 + (len(self.sections) - having + 0.5) / (having + 0.5))


def _margin(scores: list[float]) -> float:
    best = max(scores, default=0.0)
    return 1 - median(scores) / best if best > 0 else 0.0


def _weighted_terms(section: Section) -> list[str]:
    fields = {
        "heading": section.heading,
        "title": section.title,
        "topics": " ".join(section.topics),
    }
    repeated = [" ".join([text] * FIELD_REPETITIONS[field]) for field, text in fields.items()]
    prose = terms("\n".join([*repeated, *section.paragraphs]))
    return prose + sorted({term for block in section.code for term in terms(block.code)})
