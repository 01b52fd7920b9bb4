"""The metrics against trec_eval, ranx and scikit-learn, on thousands of random rankings."""

from __future__ import annotations

import random
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_mcpeval.kinds.retrieval.definitions import CUTOFFS, METRICS
from pytest_mcpeval.kinds.retrieval.metrics import Scores, evaluate_many
from pytest_mcpeval.kinds.retrieval.rankings import Ranking

EXACT = 1e-12
DEPTH = 20
COUNT = 4_000
SLOW = 2_000
"""scikit-learn takes its time: it gets so many of them."""
CORPUS = [f"server-{number % 7}:tool_{number}" for number in range(300)]

Run = dict[str, dict[str, float]]


def random_ranking(chance: random.Random, number: int) -> Ranking:
    """Empty, short, full or too long; with repetitions and foreign tools; relevant ones mostly on top."""
    length = chance.choice([0, 1, 2, 5, 9, 10, 11, DEPTH, DEPTH, DEPTH + 15])
    ranked = [*chance.sample(CORPUS, length)]
    labels = {tool: chance.choice([0, 1, 2]) for tool in chance.sample(CORPUS, chance.choice([1, 2, 4, 12]))}
    labels[chance.choice(CORPUS)] = chance.choice([1, 2])
    for tool in labels:
        if ranked and chance.random() < 0.7:
            ranked[min(int(chance.expovariate(0.2)), len(ranked) - 1)] = tool
    for _ in range(chance.choice([0, 0, 1, 6]) if ranked else 0):
        ranked[chance.randrange(length)] = chance.choice([*ranked, "elsewhere:unknown"])
    return Ranking(f"q{number}", ranked, labels)


@cache
def rankings() -> list[Ranking]:
    chance = random.Random(7)
    return [random_ranking(chance, number) for number in range(COUNT)]


@cache
def scores() -> Scores:
    return evaluate_many(rankings(), DEPTH)


def kept(ranking: Ranking) -> list[str]:
    """What counts of a list, in the plainest words there are."""
    found: list[str] = []
    for tool in ranking.ranked[:DEPTH]:
        if tool not in found:
            found.append(tool)
    return found


def as_run(given: list[Ranking]) -> Run:
    return {
        ranking.id: {tool: float(DEPTH - place) for place, tool in enumerate(kept(ranking))}
        for ranking in given
    }


def as_qrels(given: list[Ranking]) -> dict[str, dict[str, int]]:
    return {ranking.id: dict(ranking.labels) for ranking in given}


def furthest(ours: NDArray[np.float64], theirs: list[float]) -> float:
    return float(np.abs(ours - np.array(theirs)).max())


def test_the_rankings_hold_what_could_go_wrong() -> None:
    given = rankings()
    assert sum(not ranking.ranked for ranking in given) > 100
    assert sum(len(ranking.ranked) > DEPTH for ranking in given) > 100
    assert sum(len(kept(ranking)) < len(ranking.ranked[:DEPTH]) for ranking in given) > 500
    assert sum(0 in ranking.labels.values() for ranking in given) > 500
    assert sum("elsewhere:unknown" in ranking.ranked for ranking in given) > 50
    assert 0.2 < scores().means()["recall_at_10"] < 0.8


TREC_NAMES = {
    **{f"recall_at_{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"hit_at_{k}": f"success_{k}" for k in CUTOFFS},
    "mrr": "recip_rank",
    "ndcg_at_10": "ndcg_cut_10",
    "map": "map",
}


@pytest.mark.parametrize("metric", METRICS)
def test_trec_eval_agrees(metric: str) -> None:
    found = trec_eval()
    theirs = [found[ranking.id][TREC_NAMES[metric]] for ranking in rankings()]
    assert furthest(scores().of(metric), theirs) <= EXACT


@cache
def trec_eval() -> dict[str, dict[str, float]]:
    import pytrec_eval

    cutoffs = ",".join(map(str, CUTOFFS))
    measures = {f"recall.{cutoffs}", f"success.{cutoffs}", "recip_rank", "ndcg_cut.10", "map"}
    found: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(
        as_qrels(rankings()), measures
    ).evaluate(as_run(rankings()))
    return found


RANX_NAMES = {
    **{f"recall_at_{k}": f"recall@{k}" for k in CUTOFFS},
    **{f"hit_at_{k}": f"hit_rate@{k}" for k in CUTOFFS},
    "mrr": "mrr",
    "ndcg_at_10": "ndcg@10",
    "map": "map",
}


def test_ranx_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    # Compiled, ranx needs a minute before its first figure; as plain Python it computes the same.
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    ranx = import_module("ranx")
    given = rankings()
    qrels, run = ranx.Qrels(as_qrels(given)), ranx.Run(as_run(given))
    found = ranx.evaluate(qrels, run, list(RANX_NAMES.values()), return_mean=False)
    # ranx sorts its queries by id.
    order = np.argsort([ranking.id for ranking in given])
    distances = {
        metric: furthest(scores().of(metric)[order], found[name]) for metric, name in RANX_NAMES.items()
    }
    assert max(distances.values()) <= EXACT, distances


def test_scikit_learn_agrees_on_ndcg() -> None:
    """scikit-learn ranks every document; it is exact once those not returned stand below rank 10."""
    ndcg_score = import_module("sklearn.metrics").ndcg_score
    theirs = []
    for ranking in rankings()[:SLOW]:
        ranked = kept(ranking)
        missed = [tool for tool in ranking.labels if tool not in ranked]
        order = [*ranked, *(f"padding-{number}" for number in range(10)), *missed]
        gains = [ranking.labels.get(tool, 0) for tool in order]
        theirs.append(float(ndcg_score([gains], [list(range(len(order), 0, -1))], k=10)))
    assert furthest(scores().of("ndcg_at_10")[:SLOW], theirs) <= EXACT


def test_scikit_learn_agrees_on_average_precision() -> None:
    """scikit-learn takes every positive as retrieved; it is exact over those returned, times their share."""
    average_precision_score = import_module("sklearn.metrics").average_precision_score
    theirs = []
    for ranking in rankings()[:SLOW]:
        relevant = {tool for tool, relevance in ranking.labels.items() if relevance >= 1}
        ranked = kept(ranking)
        hits = [tool in relevant for tool in ranked]
        score = average_precision_score(hits, list(range(len(ranked), 0, -1))) if any(hits) else 0.0
        theirs.append(float(score) * sum(hits) / len(relevant))
    assert furthest(scores().of("map")[:SLOW], theirs) <= EXACT


def test_sets_have_the_means_of_trec_eval() -> None:
    means = scores().means()
    found = trec_eval()
    for metric, name in TREC_NAMES.items():
        assert means[metric] == pytest.approx(
            sum(values[name] for values in found.values()) / COUNT, abs=EXACT, rel=0
        )


@pytest.mark.parametrize("depth", [1, 3, 7, 1_000])
def test_trec_eval_agrees_at_any_depth(depth: int) -> None:
    import pytrec_eval

    given = [ranking for ranking in rankings() if len(set(ranking.ranked)) == len(ranking.ranked)][:500]
    run = {
        ranking.id: {tool: -float(place) for place, tool in enumerate(ranking.ranked[:depth])}
        for ranking in given
    }
    found = pytrec_eval.RelevanceEvaluator(as_qrels(given), {"map", "recip_rank"}).evaluate(run)
    ours = evaluate_many(given, depth)
    assert furthest(ours.of("map"), [found[query]["map"] for query in ours.ids]) <= EXACT
    assert furthest(ours.of("mrr"), [found[query]["recip_rank"] for query in ours.ids]) <= EXACT
