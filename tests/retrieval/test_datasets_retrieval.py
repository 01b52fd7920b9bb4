"""The bundled golden set: no leaks, no copies, hard enough to tell rankers apart."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from pytest_mcpeval.kinds.retrieval.definitions import flat
from pytest_mcpeval.kinds.retrieval.words import names_the_tool, words
from pytest_mcpeval.retrieval import GoldenSet, evaluate

DIRECTORY = Path(__file__).resolve().parents[2] / "datasets" / "retrieval"
CORPUS = DIRECTORY / "tools_v1.json"
NUMBERS = {4: "Four", 5: "Five", 6: "Six"}
WEIGHTS = {"tool": 1, "description": 1, "schema": 1}


@cache
def golden() -> GoldenSet:
    return GoldenSet.load(DIRECTORY / "golden_v1.json", corpus=CORPUS)


def data(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def trigrams(text: str) -> frozenset[tuple[str, ...]]:
    said = words(text)
    return frozenset(zip(said, said[1:], said[2:], strict=False))


def test_counts() -> None:
    tools, queries = golden().corpus.tools, golden().queries
    assert len(tools) >= 300
    assert len({tool.server for tool in tools}) >= 30
    assert len(queries) >= 300
    assert sum(query.is_hard_negative for query in queries) >= 80
    assert all(tool.schema is not None for tool in tools)


def test_every_server_is_asked_for() -> None:
    relevant = {tool.partition(":")[0] for q in golden().queries for tool, r in q.labels.items() if r >= 1}
    assert relevant == {tool.server for tool in golden().corpus.tools}


def test_no_query_names_its_tool() -> None:
    leaks = [
        query.id
        for query in golden().queries
        for tool, relevance in query.labels.items()
        if relevance >= 1 and names_the_tool(query.text, tool.partition(":")[2])
    ]
    assert leaks == []


def test_no_two_queries_are_alike() -> None:
    seen: dict[tuple[str, ...], str] = {}
    alike = []
    for query in golden().queries:
        key = tuple(sorted(words(query.text)))
        if key in seen:
            alike.append((seen[key], query.id))
        seen[key] = query.id
    assert alike == []


def test_descriptions_overlap_only_where_declared() -> None:
    declared = {frozenset(pair) for pair in data(CORPUS)["__near_duplicates"]}
    assert all(pair <= golden().corpus.ids and len(pair) == 2 for pair in declared)
    grams = [(tool.tool_id, trigrams(tool.description)) for tool in golden().corpus.tools]
    close = {
        frozenset((a, b))
        for (a, one), (b, other) in combinations(grams, 2)
        if one & other and len(one & other) > 0.5 * len(one | other)
    }
    assert close <= declared


def test_queries_do_not_copy_descriptions() -> None:
    described = {tool.tool_id: trigrams(tool.description) for tool in golden().corpus.tools}
    copied = []
    for query in golden().queries:
        said = trigrams(query.text)
        for tool, relevance in query.labels.items():
            if relevance >= 1 and len(said & described[tool]) > 0.2 * len(said):
                copied.append((query.id, tool))
    assert copied == []


def test_bm25_solves_part_of_it_and_less_of_the_hard_negatives() -> None:
    found = evaluate(golden().bm25(WEIGHTS), golden())
    everything = found.metrics["recall_at_5"]
    hard = found.slices["difficulty"]["hard-negative"]["recall_at"]["5"]
    assert 0.45 <= everything <= 0.85
    assert hard < everything - 0.1


def test_baseline_holds_what_bm25_reaches() -> None:
    metrics = evaluate(golden().bm25(WEIGHTS), golden()).metrics
    baseline = data(DIRECTORY / "baseline_v1.json")
    assert {k: metrics[f"recall_at_{k}"] for k in ("1", "3", "5", "10")} == baseline["recall_at"]
    assert [metrics[name] for name in ("mrr", "ndcg_at_10", "map")] == [
        baseline[name] for name in ("mrr", "ndcg_at_10", "map")
    ]


@pytest.mark.parametrize("retriever", ["bm25", "tfidf"])
def test_the_card_says_what_is_measured(retriever: str) -> None:
    from pytest_mcpeval.kinds.retrieval.retrievers.asking import make_retriever
    from pytest_mcpeval.kinds.retrieval.retrievers.settings import retriever_from_text

    search = make_retriever(retriever_from_text(retriever, DIRECTORY), golden().corpus)
    found = evaluate(lambda query, k: search.ask({"query": query, "limit": k}), golden())
    card = (DIRECTORY / "README.md").read_text("utf-8")
    groups = {"all": found.metrics} | {
        name: flat(group) for name, group in found.slices["difficulty"].items()
    }
    for name, metrics in groups.items():
        (row,) = re.findall(rf"^\| `{retriever}` \| {name} \|.*$", card, re.MULTILINE)
        figures = [cell.strip() for cell in row.split("|")[3:-1]]
        assert figures == [f"{metrics[f'recall_at_{k}']:.3f}" for k in (1, 3, 5, 10)]


def test_the_card_counts_right() -> None:
    card = " ".join((DIRECTORY / "README.md").read_text("utf-8").split())
    tools, queries = golden().corpus.tools, golden().queries
    labels = Counter(relevance for query in queries for relevance in query.labels.values())
    several = sum(sum(relevance >= 1 for relevance in query.labels.values()) > 1 for query in queries)
    lengths = [len(tool.description) for tool in tools]
    foreign = sum(query.notes.startswith("lang:") for query in queries)
    said = [
        f"`golden_v1.json` has {len(queries)} queries",
        f"{len(tools)} tools of {len({tool.server for tool in tools})} servers",
        f"have {min(lengths)} to {max(lengths)} characters (median {math.ceil(median(lengths))})",
        f"{NUMBERS[len(data(CORPUS)['__near_duplicates'])]} pairs are declared as near-duplicates",
        f"some with typos or slang, {foreign} not in English",
        f"{labels[2]} of relevance 2",
        f"{labels[1]} of relevance 1",
        f"{labels[0]} of relevance 0",
        f"{several} queries have more than one relevant tool",
        f"{sum(query.is_hard_negative for query in queries)} queries whose `notes` begin",
    ]
    assert [one for one in said if one not in card] == []
    allowed = highest_recalls()
    assert f"at most {allowed[1]:.3f} at 1, {allowed[3]:.3f} at 3, and 1 from 5 on" in card
    assert allowed[5] == allowed[10] == 1


def highest_recalls() -> dict[int, float]:
    """k → the highest Recall@k that the labels allow."""
    counts = [sum(r >= 1 for r in query.labels.values()) for query in golden().queries]
    return {k: sum(min(k, count) / count for count in counts) / len(counts) for k in (1, 3, 5, 10)}
