"""Golden sets without pytest: a search scored over the files, once and several times."""

from __future__ import annotations

import itertools
from pathlib import Path
from statistics import stdev

import pytest

from pytest_mcpeval import DataFileError
from pytest_mcpeval.retrieval import AnswerError, GoldenSet, Search, evaluate
from tests.retrieval.golden import QUERIES, GoldenProject, rank


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> GoldenSet:
    path = tmp_path_factory.mktemp("library")
    GoldenProject.at(path)
    return GoldenSet.load(path / "datasets/golden_v1.json", corpus=path / "datasets/tools_v1.json")


def turning(*places: int | None) -> Search:
    """A search that finds the tool of query 0 at another place each time, and all others at once."""
    turns = itertools.cycle(places)

    def search(query: str, k: int) -> list[str]:
        number = int(query.rpartition(" ")[2])
        return rank(number, next(turns) if number == 0 else 1)[:k]

    return search


def test_one_run(golden: GoldenSet) -> None:
    found = evaluate(turning(2), golden)
    assert found.metrics["mrr"] == pytest.approx((QUERIES - 0.5) / QUERIES)
    assert found.queries["q0"]["mrr"] == 0.5
    assert (found.deviations, found.changed, found.problems) == ({}, (), {})
    assert evaluate(turning(2), golden, {"q0"}).metrics["mrr"] == 0.5


def test_several_runs_are_averaged_query_by_query(golden: GoldenSet) -> None:
    found = evaluate(turning(1, 4, None), golden, {"q0", "q1"}, runs=3)
    per_run = [1, (0.25 + 1) / 2, 0.5]
    assert found.metrics["mrr"] == pytest.approx(sum(per_run) / 3)
    assert found.deviations["mrr"] == pytest.approx(stdev(per_run))
    assert found.queries["q0"]["mrr"] == pytest.approx(1.25 / 3)
    assert found.changed == ("q0",)


def test_what_is_odd_in_any_run_is_told_once(golden: GoldenSet) -> None:
    lists = itertools.cycle([[], ["other:tool"], ["other:tool"]])
    found = evaluate(lambda query, k: next(lists), golden, {"q0"}, runs=3)
    assert found.problems == {
        "q0": ("returned nothing", "not in the corpus, but keeps its place: other:tool")
    }


def test_depth_and_ids_are_what_they_say(golden: GoldenSet) -> None:
    asked: list[int] = []

    def search(query: str, k: int) -> list[str]:
        asked.append(k)
        return rank(0, 3)

    assert evaluate(search, golden, {"q0"}, depth=2).metrics["mrr"] == 0
    shallow = evaluate(search, golden, {"q0"}, depth=3)
    assert shallow.metrics["mrr"] == pytest.approx(1 / 3)
    assert shallow.metrics.keys() == shallow.queries["q0"].keys()
    assert {"recall_at_5", "ndcg_at_10"}.isdisjoint(shallow.metrics)
    assert evaluate(search, golden, {"q0"}).metrics["hit_at_3"] == 1
    assert asked == [2, 3, 10]
    for depth in (0, 1001, True, 2.5):
        with pytest.raises(ValueError, match="depth: expected a number from 1 to 1000"):
            evaluate(search, golden, depth=depth)  # type: ignore[arg-type]
    for runs in (0, True, 1.5):
        with pytest.raises(ValueError, match="runs: expected a whole number from 1"):
            evaluate(search, golden, runs=runs)  # type: ignore[arg-type]
    for ids, message in {
        ("q0", "q99"): "the set has no query 'q99'",
        (): "expected ids",
        "q0": "expected ids",
    }.items():
        with pytest.raises(ValueError, match=message):
            evaluate(search, golden, ids)


def test_a_golden_set_is_loaded_with_a_depth(tmp_path: Path) -> None:
    GoldenProject.at(tmp_path)
    files = (tmp_path / "datasets/golden_v1.json", tmp_path / "datasets/tools_v1.json")
    assert GoldenSet.load(*files, depth=3).depth == 3
    with pytest.raises(ValueError, match="depth"):
        GoldenSet.load(*files, depth=0)
    with pytest.raises(DataFileError, match="no corpus is named"):
        GoldenSet.load(files[0])


def test_what_is_no_ranked_list_raises_what_the_documentation_names(golden: GoldenSet) -> None:
    with pytest.raises(AnswerError, match="expected a list of tool ids"):
        evaluate(lambda query, k: 3, golden)  # type: ignore[arg-type, return-value]


def test_fractions_as_weights(golden: GoldenSet) -> None:
    assert evaluate(golden.bm25({"tool": 0.5, "description": 1}), golden).metrics["mrr"] >= 0
    with pytest.raises(ValueError, match="no field"):
        golden.bm25({})
