"""``pytest-mcpeval selftest`` on golden sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mcpeval.cli.asking import cases_asked_twice

if TYPE_CHECKING:
    from pytest_mcpeval.core.proof import Proof
    from pytest_mcpeval.kinds.retrieval.retrievers.settings import RetrieverModel
    from pytest_mcpeval.kinds.retrieval.selftest import Search, Tool
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite

EMBEDDED = ("bm25", "tfidf")


def proofs_of(suite: RetrievalSuite, root: Path) -> dict[str, Sequence[Proof]]:
    """Headline → proofs of a golden set.

    Raises:
        NotAsked: Queries are without an answer.
    """
    way = suite.settings.retriever.way
    proofs = _proofs_of_embedded(suite) if way in EMBEDDED else _proofs_of_answers(suite, root)
    return {f"{len(suite.golden.queries)} queries, {way}": proofs}


def _proofs_of_embedded(suite: RetrievalSuite) -> Sequence[Proof]:
    from pytest_mcpeval.kinds.retrieval.gate_input import gate_settings
    from pytest_mcpeval.kinds.retrieval.selftest import Subject, selftest

    build = _builder(suite.settings.retriever)
    tools, settings = suite.golden.corpus.rows, gate_settings(suite)
    return selftest(Subject(suite.golden.queries, tools, build, suite.settings.depth, settings))


def _builder(model: RetrieverModel) -> Callable[[Sequence[Tool]], Search]:
    from pytest_mcpeval.kinds.retrieval.corpus import Corpus
    from pytest_mcpeval.kinds.retrieval.retrievers.asking import make_retriever

    def build(tools: Sequence[Tool]) -> Search:
        retriever = make_retriever(model, Corpus.of(tools))
        return lambda query, k: [hit.tool_id for hit in retriever.ask({"query": query, "limit": k})]

    return build


def _proofs_of_answers(suite: RetrievalSuite, root: Path) -> Sequence[Proof]:
    from pytest_mcpeval.kinds.retrieval.gate_input import gate_settings
    from pytest_mcpeval.kinds.retrieval.rankings import Ranking
    from pytest_mcpeval.kinds.retrieval.selftest import Answers, selftest_of_answers

    asked = _asked_twice(suite, root)
    first, second = (
        [Ranking(query.id, asked[query.id][turn], query.labels) for query in suite.golden.queries]
        for turn in (0, 1)
    )
    return selftest_of_answers(Answers(first, second, suite.settings.depth, gate_settings(suite)))


def _asked_twice(suite: RetrievalSuite, root: Path) -> dict[str, list[list[str]]]:
    """Query id → its two ranked lists."""
    wanted = [query.id for query in suite.golden.queries]
    cases = cases_asked_twice(suite.path, suite.key, root, wanted, "queries")
    return {case: [run["measured"]["ranked"] for run in found["runs"]] for case, found in cases.items()}
