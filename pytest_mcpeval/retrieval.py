"""Golden sets without pytest: score any search over the files that the plugin runs, with the same numbers.

golden = GoldenSet.load("golden_v1.json", corpus="tools_v1.json")
print(evaluate(golden.bm25({"tool": 2, "description": 1}), golden).metrics["recall_at_5"])
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_mcpeval.kinds.retrieval.corpus import Corpus, CorpusTool
from pytest_mcpeval.kinds.retrieval.spec import GoldenData, GoldenQuery
from pytest_mcpeval.targets.base import AnswerError

__all__ = [
    "AnswerError",
    "Corpus",
    "CorpusTool",
    "GoldenQuery",
    "GoldenSet",
    "RetrievalResult",
    "Search",
    "evaluate",
]

DEEPEST = 1000

Search = Callable[[str, int], Iterable[Any]]
"""A query and how many results are wanted → tool ids, or ``(id, score)`` pairs, best first."""


@dataclass(frozen=True)
class GoldenSet:
    """Queries with labelled tools, and the corpus that is searched. ``depth`` results are asked for."""

    data: GoldenData
    depth: int

    @classmethod
    def load(
        cls, path: str | Path, corpus: str | Path | None = None, *, depth: int | None = None
    ) -> GoldenSet:
        """A golden file; ``corpus`` is needed when the file does not name its own with ``corpus:``.

        ``depth`` is how many results are asked for, where it is not the file's own, or 10. A ``mcpeval.yaml``
        is not read.

        Raises:
            DataFileError: With every problem of the files; it can be imported from `pytest_mcpeval`.
            ValueError: ``depth`` is not from 1 to 1000.
        """
        from pytest_mcpeval.core.suite import Place
        from pytest_mcpeval.kinds.retrieval.load import load_suite
        from pytest_mcpeval.loading import load

        settings = {} if corpus is None else {"corpus": str(Path(corpus).absolute())}
        suite = load_suite(load(Path(path)), Place(Path(path).name, settings, {}))
        return cls(suite.golden, _checked_depth(suite.settings.depth if depth is None else depth))

    @property
    def queries(self) -> tuple[GoldenQuery, ...]:
        """The queries, in the order of the file."""
        return tuple(self.data.queries)

    @property
    def corpus(self) -> Corpus:
        """The tools that are searched."""
        return self.data.corpus

    def bm25(self, weights: Mapping[str, float], k1: float = 1.5, b: float = 0.75) -> Search:
        """The embedded BM25 over this corpus.

        ``weights`` maps a field (``server``, ``tool``, ``description``, ``schema``) to how many times its
        words count, to two decimals.

        Raises:
            ValueError: No field has a weight, one is unknown, or a weight, ``k1`` or ``b`` is out of range.
        """
        from pytest_mcpeval.kinds.retrieval.retrievers.embedded import Bm25

        index = Bm25(self.corpus, weights, k1, b)
        return lambda query, k: index.ask({"query": query, "limit": k})


@dataclass(frozen=True)
class RetrievalResult:
    """A search, scored.

    ``metrics`` maps each metric of the set (``recall_at_5``, ``mrr``, ``ndcg_at_10``, ``map``, …) to its
    value, without those that look further than ``depth``; ``queries`` maps query id to the same metrics of
    one query; ``slices`` has them for groups of queries. ``problems`` maps query id to sentences on what is
    odd about its list. Of several runs, these are the means of each query; ``deviations`` maps each metric
    to its sample standard deviation over the runs, and ``changed`` are the queries that were not ranked
    alike in all of them.
    """

    metrics: Mapping[str, float]
    queries: Mapping[str, Mapping[str, float]]
    slices: Mapping[str, Any]
    problems: Mapping[str, tuple[str, ...]]
    deviations: Mapping[str, float] = field(default_factory=dict)
    changed: tuple[str, ...] = ()


def evaluate(
    search: Search,
    golden: GoldenSet,
    ids: Collection[str] | None = None,
    *,
    runs: int = 1,
    depth: int | None = None,
) -> RetrievalResult:
    """Put every query to a search, or those with the given ids, and score what it returns.

    ``runs`` is how many times each is asked, ``depth`` how many results are asked for (default: as the set
    says). What the search raises comes through.

    Raises:
        AnswerError: The search returned something that is not a ranked list.
        ValueError: ``runs`` is not a whole number from 1, ``depth`` not from 1 to 1000, or ``ids`` names no
            query of the set, or one that it has not.
    """
    from pytest_mcpeval.core.repeating import standard_deviations
    from pytest_mcpeval.kinds.retrieval.metrics import average, evaluate_many, sliced
    from pytest_mcpeval.kinds.retrieval.rankings import Ranking
    from pytest_mcpeval.kinds.retrieval.retrievers.asking import measured
    from pytest_mcpeval.kinds.retrieval.retrievers.results import hits_of
    from pytest_mcpeval.kinds.retrieval.spec import slices

    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise ValueError(f"runs: expected a whole number from 1, found {runs!r}")
    if depth is not None:
        golden = replace(golden, depth=_checked_depth(depth))
    queries = _chosen(golden, ids)
    depth, corpus = golden.depth, golden.corpus.ids
    found = [
        [measured(hits_of(search(query.text, depth)), depth, corpus) for query in queries]
        for _ in range(runs)
    ]
    each = [
        evaluate_many(
            [Ranking(q.id, result.ranked, q.labels) for q, result in zip(queries, results, strict=True)],
            depth,
        )
        for results in found
    ]
    scores = average(each)
    by_query = list(zip(queries, zip(*found, strict=True), strict=True))
    problems = {
        query.id: tuple(dict.fromkeys(problem for result in of_runs for problem in result.problems))
        for query, of_runs in by_query
    }
    return RetrievalResult(
        metrics=scores.means(),
        queries=scores.rows(),
        slices=sliced(scores, slices(queries)),
        problems={query: sentences for query, sentences in problems.items() if sentences},
        deviations=standard_deviations([one.means() for one in each]) if runs > 1 else {},
        changed=tuple(q.id for q, (first, *rest) in by_query if any(r.ranked != first.ranked for r in rest)),
    )


def _checked_depth(depth: int) -> int:
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= DEEPEST:
        raise ValueError(f"depth: expected a number from 1 to {DEEPEST}, found {depth!r}")
    return depth


def _chosen(golden: GoldenSet, ids: Collection[str] | None) -> list[GoldenQuery]:
    if ids is None:
        return list(golden.queries)
    if isinstance(ids, str) or not ids:
        raise ValueError(f"ids: expected ids of queries, such as {{{golden.queries[0].id!r}}}, found {ids!r}")
    unknown = sorted(set(ids) - golden.data.by_id.keys())
    if unknown:
        raise ValueError(f"ids: the set has no query {', '.join(map(repr, unknown))}")
    return [query for query in golden.queries if query.id in ids]
