"""Golden sets without pytest: a search scored over the files, once and several times."""

from __future__ import annotations

import itertools
from statistics import stdev

import pytest

from pytest_mcpeval.retrieval import GoldenSet, Search, evaluate
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


def test_no_run_is_a_mistake(golden: GoldenSet) -> None:
    with pytest.raises(ValueError, match="one at least"):
        evaluate(turning(1), golden, runs=0)


def test_what_is_odd_in_any_run_is_told_once(golden: GoldenSet) -> None:
    lists = itertools.cycle([[], ["other:tool"], ["other:tool"]])
    found = evaluate(lambda query, k: next(lists), golden, {"q0"}, runs=3)
    assert found.problems == {
        "q0": ("returned nothing", "not in the corpus, but keeps its place: other:tool")
    }
