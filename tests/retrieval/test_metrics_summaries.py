"""The numbers of a set as plain data: slices, runs, comparisons."""

from __future__ import annotations

import json

import pytest

from pytest_mcpeval.kinds.retrieval.gate_input import compare
from pytest_mcpeval.kinds.retrieval.metrics import Scores, evaluate_many, sliced, summary
from pytest_mcpeval.kinds.retrieval.rankings import Ranking
from pytest_mcpeval.kinds.retrieval.spec import GoldenQuery, kind_of_notes, servers_of, slices

QUERIES = [
    GoldenQuery("a", "who changed this", {"git:log": 2, "hub:commits": 1, "mail:search": 0}),
    GoldenQuery("b", "send it", {"mail:send": 2}, "hard-negative: calendars send invitations too"),
    GoldenQuery("c", "snd it", {"mail:send": 2}, "typo: a letter is missing"),
    GoldenQuery("d", "never mind", {"git:reset": 1}, "a remark without a kind"),
]


def scores(**ranked: list[str]) -> Scores:
    return evaluate_many([Ranking(one.id, ranked.get(one.id, []), one.labels) for one in QUERIES], 10)


def test_queries_are_grouped_by_difficulty_server_and_notes() -> None:
    assert slices(QUERIES) == {
        "difficulty": {"hard-negative": {"b"}, "other": {"a", "c", "d"}},
        "server": {"git": {"a", "d"}, "hub": {"a"}, "mail": {"b", "c"}},
        "notes": {"hard-negative": {"b"}, "typo": {"c"}},
    }
    assert "notes" not in slices(QUERIES[:1])


def test_a_hard_negative_says_so_at_the_beginning() -> None:
    assert QUERIES[1].is_hard_negative
    for notes in ("Hard-Negative: x", "  hard-negative: x", "HARD-NEGATIVE : x"):
        query = GoldenQuery("e", "", {"s:t": 1}, notes)
        assert query.is_hard_negative
        assert slices([query])["notes"] == {"hard-negative": {"e"}}
    assert not GoldenQuery("e", "", {}, "not a hard-negative: it is easy").is_hard_negative


@pytest.mark.parametrize(
    ("notes", "kind"),
    [
        ("hard-negative: why", "hard-negative"),
        ("multi intent : two tools", "multi intent"),
        ("no kind", None),
        ("", None),
        (": nothing", None),
        ("a sentence that goes on and on for longer than any name would: x", None),
    ],
)
def test_notes_name_their_kind_before_a_colon(notes: str, kind: str | None) -> None:
    assert kind_of_notes(notes) == kind


def test_a_query_belongs_to_the_servers_of_its_relevant_tools() -> None:
    assert servers_of({"b:x": 1, "a:y": 2, "a:z:more": 1, "c:z": 0}) == ["a", "b"]


def test_a_summary_is_plain_data_with_the_highest_recall() -> None:
    found = summary(scores(a=["git:log"], b=["mail:send"]))
    assert found["queries"] == 4
    assert found["recall_at"]["1"] == pytest.approx((0.5 + 1) / 4)
    assert found["highest_recall_at"]["1"] == pytest.approx(3.5 / 4)
    assert found["mrr"] == 0.5
    assert list(found) == [
        "queries",
        "recall_at",
        "hit_at",
        "mrr",
        "ndcg_at_10",
        "map",
        "highest_recall_at",
    ]
    assert json.loads(json.dumps(found)) == found


def test_slices_have_summaries_of_their_own() -> None:
    found = sliced(scores(b=["mail:send"], c=["x", "mail:send"]), slices(QUERIES))
    assert found["difficulty"]["hard-negative"]["mrr"] == 1.0
    assert found["server"]["mail"]["mrr"] == 0.75
    assert found["server"]["mail"]["queries"] == 2
    assert found["difficulty"]["other"]["mrr"] == pytest.approx(0.5 / 3)


def test_slices_without_a_scored_query_are_left_out() -> None:
    assert sliced(scores().subset({"b"}), slices(QUERIES))["server"].keys() == {"mail"}


def test_queries_are_won_lost_or_tied() -> None:
    old = {"a": [0.5], "b": [0.5 + 1e-12], "c": [1.0], "d": [0.2], "f": [0.5]}
    found = compare("mrr", {"a": [1.0], "b": [0.5], "c": [0.3], "e": [1.0], "f": [0.5 + 1e-12]}, old)
    assert found.as_data() == {"won": ["a"], "lost": ["c", "d"], "tied": ["b", "f"]}
    assert found.words() == "lost 2: c, d; won 1: a; tied 2; not in the baseline 1: e"


def test_a_message_counts_ties_and_names_none() -> None:
    same = {f"q{number}": [1.0] for number in range(47)}
    assert compare("mrr", same, same).words() == "lost 0; won 0; tied 47"
