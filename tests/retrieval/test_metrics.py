"""The metrics on rankings small enough to work out by hand, and what surrounds them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from pytest_mcpeval.kinds.retrieval.definitions import METRICS, definition, flat, nested
from pytest_mcpeval.kinds.retrieval.metrics import Scores, average, evaluate_many, score
from pytest_mcpeval.kinds.retrieval.rankings import Ranking, duplicates, foreign, from_ranks, locate, ranks_of
from pytest_mcpeval.kinds.retrieval.run import relevant_ranks

LABELS = {"git:log": 2, "git:diff": 1, "git:push": 0}


def values(*ranked: str, depth: int = 10) -> dict[str, float]:
    return scored(Ranking("q", ranked, LABELS), depth)


def scored(ranking: Ranking, depth: int = 10) -> dict[str, float]:
    """Every metric of one query, also those that look further than the depth."""
    return dict(zip(METRICS, evaluate_many([ranking], depth).values[0].tolist(), strict=True))


def test_a_query_worked_out_by_hand() -> None:
    found = values("git:push", "git:diff", "x:a", "git:log")
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert found == pytest.approx(
        {
            "recall_at_1": 0,
            "recall_at_3": 0.5,
            "recall_at_5": 1,
            "recall_at_10": 1,
            "hit_at_1": 0,
            "hit_at_3": 1,
            "hit_at_5": 1,
            "hit_at_10": 1,
            "mrr": 1 / 2,
            "ndcg_at_10": (1 / math.log2(3) + 2 / math.log2(5)) / ideal,
            "map": (1 / 2 + 2 / 4) / 2,
        },
        abs=1e-15,
    )


def test_the_best_ranking_scores_1_wherever_the_labels_allow() -> None:
    found = values("git:log", "git:diff")
    assert found.pop("recall_at_1") == 0.5
    assert set(found.values()) == {1.0}


def test_a_query_that_returned_nothing_scores_0() -> None:
    assert set(values().values()) == {0.0}
    assert evaluate_many([Ranking("q", (), LABELS)], 10).first_rank.tolist() == [0]


def test_graded_zeros_are_no_relevant_tools() -> None:
    assert set(values("git:push").values()) == {0.0}


def test_a_repeated_tool_counts_once_and_what_follows_moves_up() -> None:
    assert values("x:a", "x:a", "git:log") == values("x:a", "git:log")
    assert values("git:log", "git:log", "git:diff") == values("git:log", "git:diff")


def test_a_foreign_tool_keeps_its_rank() -> None:
    ranked = ["who:knows", "git:log"]
    assert relevant_ranks(LABELS, ranked) == {"git:log": 2, "git:diff": None}
    assert locate([Ranking("q", ranked, LABELS)], 10).rank == [2, 0]
    assert foreign(ranked, {"git:log", "git:diff"}) == ("who:knows",)


def test_what_is_odd_about_a_list_is_told() -> None:
    assert duplicates(["b:b", "a:a", "b:b", "a:a", "b:b"]) == ("b:b", "a:a")
    assert duplicates(["a", "b"]) == ()
    assert foreign(["a", "x", "b", "x"], {"a", "b"}) == ("x",)


def test_results_beyond_the_depth_do_not_count() -> None:
    assert values("x:a", "x:b", "git:log", depth=2) == values("x:a", "x:b")
    # A repetition does not let the next result in from beyond the depth.
    assert values("x:a", "x:a", "git:log", depth=2) == values("x:a")


def test_a_query_without_relevant_labels_is_named() -> None:
    with pytest.raises(ValueError, match="'empty' has no label with a relevance of 1"):
        evaluate_many([Ranking("fine", [], {"a": 1}), Ranking("empty", [], {"a": 0})], 10)


@given(
    some.lists(some.sampled_from("abcdefghij"), max_size=30),
    some.lists(some.sampled_from("abcdefghijkl"), max_size=12, unique=True),
)
def test_ranks_are_those_of_the_list_without_repetitions(ranked: list[str], tools: list[str]) -> None:
    once = [tool for place, tool in enumerate(ranked) if tool not in ranked[:place]]
    located = locate([Ranking("q", ranked, dict.fromkeys(tools, 1))], 100)
    assert located.rank == [once.index(tool) + 1 if tool in once else 0 for tool in tools]
    assert ranks_of(tools, ranked) == located.rank


def test_many_queries_score_as_each_alone() -> None:
    given = [
        Ranking("a", ["x", "r", "s"], {"r": 1, "s": 2}),
        Ranking("b", [], {"r": 2}),
        Ranking("c", ["r"] * 5, {"r": 1}),
        Ranking("d", list("opqrs"), {"s": 1, "o": 0}),
    ]
    together = evaluate_many(given, 10)
    for number, ranking in enumerate(given):
        assert dict(zip(METRICS, together.values[number], strict=True)) == scored(ranking)
    assert together.first_rank.tolist() == [2, 0, 1, 5]
    assert together.by_query("mrr") == {"a": 0.5, "b": 0.0, "c": 1.0, "d": 0.2}


def test_stored_ranks_give_the_same_scores_again() -> None:
    given = [Ranking("a", ["x", "r", "s"], {"r": 1, "s": 2, "z": 0}), Ranking("b", ["y"], {"r": 2, "t": 1})]
    stored = {
        one.id: {
            tool: rank for tool, rank in relevant_ranks(one.labels, one.ranked).items() if rank is not None
        }
        for one in given
    }
    labels = {ranking.id: ranking.labels for ranking in given}
    again = score(from_ranks([ranking.id for ranking in given], stored, labels))
    assert np.array_equal(again.values, score(locate(given, 10)).values)


def test_the_highest_recall_is_what_the_labels_allow() -> None:
    given = [Ranking("a", [], {"r": 1}), Ranking("b", [], dict.fromkeys("abcd", 1))]
    highest = evaluate_many(given, 10).highest_recalls()
    assert highest == {"recall_at_1": 0.625, "recall_at_3": 0.875, "recall_at_5": 1, "recall_at_10": 1}


def test_some_of_the_queries() -> None:
    given = [Ranking(name, ["r"] if name < "c" else [], {"r": 1}) for name in "abcd"]
    part = evaluate_many(given, 10).subset({"d", "b"})
    assert part.ids == ("b", "d")
    assert part.by_query("mrr") == {"b": 1.0, "d": 0.0}
    assert part.relevant.tolist() == [1, 1]
    assert part.first_rank.tolist() == [1, 0]


def test_no_queries_have_no_metrics() -> None:
    nothing = evaluate_many([], 10)
    assert nothing.means() == {}
    assert nothing.highest_recalls() == {}


def run_of(*firsts: int) -> Scores:
    """A run in which the only relevant tool of each query has this rank; 0 for not returned."""
    lists = [["x"] * 0 if first == 0 else [*map(str, range(first - 1)), "r"] for first in firsts]
    return evaluate_many([Ranking(f"q{number}", ranked, {"r": 1}) for number, ranked in enumerate(lists)], 10)


def test_runs_are_averaged_per_query_first() -> None:
    runs = [run_of(1, 2, 4), run_of(1, 1, 0)]
    mean = average(runs)
    assert mean.by_query("mrr") == {"q0": 1.0, "q1": 0.75, "q2": 0.125}
    assert mean.means()["mrr"] == pytest.approx((1 + 0.75 + 0.125) / 3)
    assert mean.first_rank.tolist() == [1, 2, 0]


def test_one_run_is_its_own_average() -> None:
    run = run_of(1, 2)
    assert average([run]) is run


def test_runs_of_other_queries_cannot_be_averaged() -> None:
    with pytest.raises(ValueError, match="the same queries"):
        average([run_of(1), run_of(1, 2)])
    with pytest.raises(ValueError, match="one at least"):
        average([])


def test_metrics_are_written_nested_and_read_flat() -> None:
    every = {name: float(number) for number, name in enumerate(METRICS)}
    assert flat(nested(every)) == every
    assert nested({"map": 0.1, "recall_at_5": 0.6}) == {"recall_at": {"5": 0.6}, "map": 0.1}


def test_a_baseline_in_its_flat_shape_is_read() -> None:
    seed = {"recall_at": {"1": 0.4, "5": 1}, "mrr": 0.5, "tolerance": {"recall_at_5": 0.05}, "security": {}}
    assert flat(seed) == {"recall_at_1": 0.4, "recall_at_5": 1.0, "mrr": 0.5}


def test_depth_is_part_of_the_definition() -> None:
    assert definition(10) != definition(20)
    assert definition(10) == definition(10)
