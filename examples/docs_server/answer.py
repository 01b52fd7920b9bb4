"""Answers, assembled from the sections a search found: nothing is said that no page says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from examples.docs_server.models import Answer, SearchResult, SearchResults, Source
from examples.docs_server.pages import Section
from examples.docs_server.search import Findings, Hit, SectionIndex
from examples.docs_server.words import terms

# Below this confidence the best section answers some other question.
LOWEST_CONFIDENCE = 35
NOTHING_FOUND = (
    "The documentation has nothing on this. Rephrase it with the terms of the project, or list the projects."
)
EXCERPT_LENGTH = 240
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def ask(index: SectionIndex, question: str) -> Answer:
    """The best sections on a question, with their code."""
    return _assemble(index.search(question).best(4, at_least=0.45))


def working_example(index: SectionIndex, task: str) -> Answer:
    """The best sections that hold code."""
    return _assemble(index.search(task, keep=lambda section: bool(section.code)).best(2, at_least=0.6))


def explain_error(index: SectionIndex, error: str, context: str = "") -> Answer:
    """The best sections on an error message, then what the documentation says about where it happened.

    The confidence is that of the error message; without a section on it there is no answer.
    """
    about_error = index.search(error, keep=lambda section: section.troubleshooting)
    confidence = about_error.best(3).confidence
    ranked = index.search(f"{error} {context}", keep=lambda section: section.troubleshooting)
    about_context = index.search(context, keep=lambda section: not section.troubleshooting).best(1)
    hits = ranked.best(3, at_least=0.5).hits
    if about_context.confidence >= LOWEST_CONFIDENCE:
        hits += about_context.hits
    return _assemble(Findings(hits, ranked.weights, ranked.margin), confidence)


def search(index: SectionIndex, query: str, limit: int) -> SearchResults:
    """The best ``limit`` sections, as a list."""
    findings = index.search(query).best(limit)
    results = [_result(hit, query) for hit in findings.hits]
    return SearchResults(results=results, confidence=findings.confidence)


def search_text(results: SearchResults) -> str:
    """Search results as a numbered Markdown list."""
    if not results.results:
        return NOTHING_FOUND
    return "\n\n".join(
        f"[{number}] **{result.title} › {result.section}** ({result.path}, score {result.score:.2f})\n"
        f"{result.excerpt}"
        for number, result in enumerate(results.results, start=1)
    )


def _assemble(findings: Findings, confidence: int | None = None) -> Answer:
    confidence = findings.confidence if confidence is None else confidence
    if confidence < LOWEST_CONFIDENCE:
        return Answer(answer=NOTHING_FOUND, confidence=confidence, sources=[])
    sections = [hit.section for hit in findings.hits]
    parts = [_cited(section, number) for number, section in enumerate(sections, start=1)]
    sources = _sources(sections)
    listing = [
        f"- [Source {source.number}] {source.title} › {source.section} ({source.path})" for source in sources
    ]
    text = "\n\n".join([*parts, "## Sources", "\n".join(listing)])
    return Answer(answer=text, confidence=confidence, sources=sources)


def _cited(section: Section, number: int) -> str:
    title = f"## {section.title}: {section.heading}"
    paragraphs = [f"{paragraph} [Source {number}]" for paragraph in section.paragraphs]
    code = [f"```{block.language}\n{block.code}\n```" for block in section.code]
    return "\n\n".join([title, *paragraphs, *code])


def _sources(sections: Sequence[Section]) -> list[Source]:
    return [
        Source(number=number, title=section.title, section=section.heading, path=section.path)
        for number, section in enumerate(sections, start=1)
    ]


def _result(hit: Hit, query: str) -> SearchResult:
    section = hit.section
    return SearchResult(
        title=section.title,
        path=section.path,
        section=section.heading,
        score=hit.score,
        excerpt=_excerpt(section, frozenset(terms(query))),
    )


def _excerpt(section: Section, wanted: frozenset[str]) -> str:
    """The first of the sentences that share most terms with the query."""
    sentences = [
        " ".join(sentence.split())
        for paragraph in section.paragraphs
        for sentence in SENTENCE_END.split(paragraph)
    ]
    nearest = max(sentences, key=lambda sentence: len(wanted.intersection(terms(sentence))), default="")
    return nearest if len(nearest) <= EXCERPT_LENGTH else f"{nearest[:EXCERPT_LENGTH]}…"
