"""The proof that the measurement can fail, on a sound search and on searches that fool it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from pytest_mcpeval.kinds.retrieval.gate_input import GateSettings
from pytest_mcpeval.kinds.retrieval.rankings import Ranking
from pytest_mcpeval.kinds.retrieval.selftest import (
    Answers,
    Search,
    Subject,
    Tool,
    selftest,
    selftest_of_answers,
)
from pytest_mcpeval.kinds.retrieval.spec import GoldenQuery

NOUNS = ["invoice", "branch", "meeting", "photo", "ticket", "server", "contact", "playlist", "map", "table"]
VERBS = ["archive", "rename", "share", "merge", "delete"]
TOOLS: list[Tool] = [
    {
        "tool_id": f"{noun}s:t{number}",
        "server": f"{noun}s",
        "tool": f"t{number}",
        "description": f"{verb} the {noun}",
        "schema": {"properties": {f"{verb}_{noun}_id": {"type": "string"}}},
    }
    for number, (noun, verb) in enumerate(itertools.product(NOUNS, VERBS))
]
QUERIES = [
    GoldenQuery(f"q{number}", f"please {verb} this {noun}", {f"{noun}s:t{number}": 2})
    for number, (noun, verb) in enumerate(itertools.product(NOUNS, VERBS))
]


def by_words(*fields: str) -> Any:
    """A search that counts common words of the query and some fields of a tool."""

    def build(tools: Sequence[Tool]) -> Search:
        texts = {tool["tool_id"]: str([tool.get(name, "") for name in fields]) for tool in tools}

        def search(query: str, k: int) -> list[str]:
            found = {tool: sum(word in text for word in query.split()) for tool, text in texts.items()}
            return sorted((tool for tool in found if found[tool]), key=lambda tool: -found[tool])[:k]

        return search

    return build


def test_every_way_to_spoil_a_sound_search_is_noticed() -> None:
    found = selftest(Subject(QUERIES, TOOLS, by_words("description"), 10))
    assert [proof.holds for proof in found] == [True, True, True, True, None], found
    assert found[0].message == "all metrics of 50 queries are the same"
    assert found[1].message == "tried with 10 queries"
    assert "tripped: recall_at_5" in found[2].message
    assert "does not read schemas" in found[4].message


def test_schemas_that_matter_are_missed() -> None:
    found = selftest(Subject(QUERIES, TOOLS, by_words("schema"), 10))
    assert found[4].holds is True
    assert found[4].message.startswith("recall_at_5 1.0000 → 0.0000; tripped: ")


def test_schemas_that_do_no_good_prove_nothing() -> None:
    plain = by_words("description")

    def build(tools: Sequence[Tool]) -> Search:
        search: Search = plain(tools)
        noise = ["schemas:noise"] if "schema" in tools[0] else []
        return lambda query, k: [*noise, *search(query, k)][:k]

    proof = selftest(Subject(QUERIES, TOOLS, build, 10))[4]
    assert proof.holds is None
    assert proof.message == "recall_at_5 1.0000 → 1.0000; tripped: none"


def test_a_search_that_does_not_read_descriptions_shows() -> None:
    assert selftest(Subject(QUERIES, TOOLS, by_words("schema"), 10))[3].holds is False


def test_a_search_that_answers_otherwise_every_time_shows() -> None:
    calls = itertools.count()

    def build(tools: Sequence[Tool]) -> Search:
        return lambda query, k: [tool["tool_id"] for tool in tools[next(calls) % 7 :]][:k]

    proof = selftest(Subject(QUERIES, TOOLS, build, 10))[0]
    assert proof.holds is False
    assert "ranked otherwise" in proof.message


def test_a_search_over_an_index_that_is_never_rebuilt_shows() -> None:
    """Such a search still finds tools that are no longer there."""
    search = by_words("description")(TOOLS)
    proof = selftest(Subject(QUERIES, TOOLS, lambda tools: search, 10))[1]
    assert proof.holds is False
    assert proof.message == "these still score: q0, q1, q2, q3, q4, q5, q6, q7, q8, q9"


def test_gates_that_are_turned_off_notice_nothing() -> None:
    blind = GateSettings(tolerance={}, significance={}, max_lost=None)
    found = selftest(Subject(QUERIES, TOOLS, by_words("description"), 10, blind))
    assert [proof.holds for proof in found[2:4]] == [False, False]
    assert found[2].message.endswith("tripped: none")


def test_a_search_that_finds_nothing_proves_nothing() -> None:
    proof = selftest(Subject(QUERIES, TOOLS, lambda tools: lambda query, k: [], 10))[1]
    assert proof.holds is False
    assert proof.message == "no query finds a relevant tool, so none can be lost"


def test_a_floor_that_is_not_met_shows_on_the_unchanged_search() -> None:
    strict = GateSettings(floors={"recall_at_1": 1.5})
    proof = selftest(Subject(QUERIES, TOOLS, by_words("description"), 10, strict))[0]
    assert proof.holds is False
    assert proof.message == "these gates fail all the same: recall_at_1_floor"


def answers_of(search: Search) -> list[Ranking]:
    return [Ranking(query.id, search(query.text, 10), query.labels) for query in QUERIES]


def test_answers_of_a_search_with_an_index_of_its_own_are_spoilt() -> None:
    rankings = answers_of(by_words("description")(TOOLS))
    found = selftest_of_answers(Answers(rankings, rankings, 10))
    assert [proof.holds for proof in found] == [True, True, True, True, True, None], found
    assert found[1].message == "tried with 10 queries"
    assert found[4].message.startswith("recall_at_5 1.0000 → 0.0000; tripped: recall_at_5")
    blind = GateSettings(tolerance={}, significance={}, max_lost=None)
    unseen = selftest_of_answers(Answers(rankings, rankings, 10, blind))
    assert [proof.holds for proof in unseen] == [True, True, False, False, False, None]


def test_answers_that_differ_and_answers_without_a_hit_show() -> None:
    rankings = answers_of(by_words("description")(TOOLS))
    turned = [Ranking(one.id, one.ranked[::-1], one.labels) for one in rankings]
    assert selftest_of_answers(Answers(rankings, turned, 10))[0].holds is False
    nothing = answers_of(lambda query, k: [])
    found = selftest_of_answers(Answers(nothing, nothing, 10))
    # Shuffling lists that are empty shows neither the one nor the other.
    assert [proof.holds for proof in found] == [True, False, None, False, False, None]
