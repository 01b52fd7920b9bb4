"""Where the value of an argument was seen before."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcpeval.kinds.session.argument_sources import SeenValues

ISSUE = {
    "id": "ENG-1432",
    "url": "https://tracker.example/acme/app/issues/1432",
    "number": 1432,
    "owner": "Ada Lovelace",
    "slug": "fix-the-login",
    "created": "2026-11-22T01:02:03Z",
    "limit": 10,
    "state": "open",
}


def found(value: Any) -> list[str]:
    seen = SeenValues()
    seen.add("S1-001", {"issues": [ISSUE]})
    sources = seen.sources({"x": value})
    assert {source.entry_id for source in sources} <= {"S1-001"}
    return [f"{source.argument} {source.how}" for source in sources]


@pytest.mark.parametrize("value", ["ENG-1432", 1432, "1432", ISSUE["url"], "fix-the-login"], ids=repr)
def test_values_that_come_back_as_they_were(value: object) -> None:
    assert found(value) == ["x verbatim"]


@pytest.mark.parametrize("value", ["eng_1432", "ENG1432", "#1432", "issue:1432", "FIX_THE_LOGIN"])
def test_values_that_come_back_reshaped(value: object) -> None:
    assert found(value) == ["x reshaped"]


@pytest.mark.parametrize(
    "value",
    ["open", "Ada Lovelace", 10, "10", "2026-11-22", "2026", "acme", "other-1", "", None, True, 1.5],
    ids=repr,
)
def test_coincidences_are_no_sources(value: object) -> None:
    assert found(value) == []


def test_nested_arguments_are_told_by_their_place_and_the_latest_result() -> None:
    seen = SeenValues()
    seen.add("S1-001", ["ENG-1432"])
    seen.add("S1-002", {"again": "ENG-1432"})
    sources = seen.sources({"issues": [{"key": "ENG-1432"}], "token_ada@example.org": "ENG-1432"})
    assert [(source.argument, source.entry_id) for source in sources] == [
        ("issues[0].key", "S1-002"),
        ("<e-mail>", "S1-002"),
    ]


@pytest.mark.parametrize("value", [47, "47"], ids=repr)
def test_a_number_at_the_end_of_an_id_is_enough_unless_it_counts_something(value: object) -> None:
    seen = SeenValues()
    seen.add("S1-001", ["acme/app#47"])
    arguments = {"issue_number": value, "limit": value, "per_page": value, "headLines": value}
    assert [(source.argument, source.how) for source in seen.sources(arguments)] == [
        ("issue_number", "reshaped")
    ]
