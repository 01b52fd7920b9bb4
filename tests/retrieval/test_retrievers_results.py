"""What searches return, and what becomes of it: order, cut, duplicates, foreign tools, odd scores, errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pytest_mcpeval.kinds.retrieval.retrievers import Hit, ask
from pytest_mcpeval.kinds.retrieval.retrievers.results import (
    MOST_HITS,
    AnswerModel,
    hits_of,
    template_problem,
)
from pytest_mcpeval.targets import AnswerError, Request

CORPUS = frozenset({"git:log", "git:diff", "mail:send", "mail:list"})


class Fixed:
    """A retriever that always finds the same."""

    name = "fixed"

    def __init__(self, *hits: str | Hit) -> None:
        self.hits = [hit if isinstance(hit, Hit) else Hit(hit) for hit in hits]

    def open(self) -> None: ...

    def close(self) -> None: ...

    def ask(self, request: Request) -> Sequence[Hit]:
        if request["query"] == "refuse":
            raise AnswerError("refused", "HTTP 403", stderr_tail="no")
        return self.hits


def test_a_plain_list_is_measured_as_it_is() -> None:
    found = ask(Fixed(Hit("git:log", 0.25), "git:diff"), "history", 10, CORPUS)
    assert found.ranked == ["git:log", "git:diff"]
    assert [hit.score for hit in found.hits] == [0.25, None]
    assert (found.problems, found.error, found.returned) == ((), None, 2)
    assert found.seconds >= 0


def test_the_target_s_order_counts_and_not_its_scores() -> None:
    found = ask(Fixed(Hit("git:log", 1.0), Hit("git:diff", 7.0)), "q", 10, CORPUS)
    assert found.ranked == ["git:log", "git:diff"]


def test_more_than_was_asked_for_is_cut_and_told() -> None:
    found = ask(Fixed("git:log", "git:diff", "mail:send"), "q", 2, CORPUS)
    assert found.ranked == ["git:log", "git:diff"]
    assert found.returned == 3
    assert found.problems == ("returned 3 tools, asked for 2: the rest is ignored",)


def test_nothing_found_is_told() -> None:
    found = ask(Fixed(), "q", 5, CORPUS)
    assert (found.ranked, found.problems, found.error) == ([], ("returned nothing",), None)


def test_fewer_than_asked_for_is_no_problem() -> None:
    assert ask(Fixed("git:log"), "q", 5, CORPUS).problems == ()


def test_duplicates_and_foreign_tools_keep_their_places_and_are_named() -> None:
    found = ask(Fixed("git:log", "slack:post", "git:log", "mail:list"), "q", 5, CORPUS)
    assert found.ranked == ["git:log", "slack:post", "git:log", "mail:list"]
    assert found.problems == (
        "named more than once, where the first place counts: git:log",
        "not in the corpus, but keeps its place: slack:post",
    )


def test_many_foreign_tools_are_counted_and_their_names_shortened() -> None:
    found = ask(Fixed(*("x" * 100 + str(number) for number in range(8))), "q", 10, CORPUS)
    (problem,) = found.problems
    assert problem.endswith("… and 3 more")
    assert len(problem) < 400


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_finite_number_is_left_out_and_told(score: float) -> None:
    found = ask(Fixed(Hit("git:log", 2.0), Hit("git:diff", score)), "q", 5, CORPUS)
    assert [hit.score for hit in found.hits] == [2.0, None]
    assert found.problems == ("the score is not a finite number at rank 2",)


def test_a_failed_search_is_in_the_result() -> None:
    found = ask(Fixed("git:log"), "refuse", 5, CORPUS)
    assert (found.ranked, found.problems) == ([], ("HTTP 403",))
    assert found.error is not None
    assert (found.error.reason, found.error.is_incident, found.error.stderr_tail) == ("refused", True, "no")


@pytest.mark.parametrize(
    "returned",
    [
        ["git:log", "git:diff"],
        ("git:log", "git:diff"),
        iter(["git:log", "git:diff"]),
        [("git:log", None), ["git:diff", None]],
        [{"tool_id": "git:log"}, {"tool_id": "git:diff", "score": None, "server": "git"}],
        [Hit("git:log"), Hit("git:diff")],
        np.array(["git:log", "git:diff"]),
    ],
)
def test_every_form_of_a_list(returned: Any) -> None:
    hits = hits_of(returned)
    assert hits == [Hit("git:log"), Hit("git:diff")]
    assert all(type(hit.tool_id) is str for hit in hits)


def test_scores_of_every_type() -> None:
    hits = hits_of([("a", 1), ("b", np.float32(0.5)), ("c", "0.9"), ("d", True), ("e", math.inf)])
    scores = [hit.score for hit in hits]
    assert scores[:2] == [1.0, 0.5]
    assert [type(score) for score in scores] == [float] * 5
    assert math.isnan(scores[2] or 0)
    assert math.isnan(scores[3] or 0)
    assert scores[4] == math.inf
    assert hits_of([("a", 10**400)])[0].score == math.inf


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returned null: expected a list of tool ids, or of (id, score) pairs"),
        ("git:log", 'returned "git:log": expected a list'),
        (7, "returned 7: expected a list"),
        ({"git:log": 1.0}, "returned dict: expected a list"),
        (["git:log", 7], "entry 2 of the list is 7: expected a list"),
        (["git:log", None], "entry 2 of the list is null: expected a list"),
        (["git:log", ""], 'entry 2 of the list is "": expected a list'),
        ([(1.0, "git:log")], "entry 1 of the list is 1.0: expected a list"),
        ([{"id": "git:log"}], "entry 1 of the list is a mapping without tool_id: expected a list"),
        ([["git:log"]], "entry 1 of the list is list: expected a list"),
        ([b"git:log"], "entry 1 of the list is bytes: expected a list"),
    ],
)
def test_what_is_no_ranked_list(returned: Any, message: str) -> None:
    with pytest.raises(AnswerError) as raised:
        hits_of(returned)
    assert raised.value.message.startswith(message)
    assert (raised.value.reason, raised.value.is_incident) == ("answer", False)


def test_an_endless_list_is_given_up() -> None:
    def forever() -> Any:
        while True:
            yield "git:log"

    with pytest.raises(AnswerError, match=f"more than {MOST_HITS:,} tools"):
        hits_of(forever())
    assert len(hits_of(["git:log"] * MOST_HITS)) == MOST_HITS


PROXY_ANSWER = {
    "success": True,
    "data": {
        "results": [
            {"tool": {"name": "log", "server_name": "git"}, "score": 3.5},
            {"tool": {"name": "send", "server_name": "mail"}, "score": "high"},
            {"tool": {"name": "list", "server_name": "mail"}},
        ]
    },
}


@pytest.mark.parametrize("path", ["$.data.results", "$.data.results[*]", "$..results"])
def test_tools_are_found_in_a_json_answer(path: str) -> None:
    hits = AnswerModel(result=path, tool_id="{tool.server_name}:{tool.name}", score="score").hits(
        PROXY_ANSWER, {}
    )
    assert [hit.tool_id for hit in hits] == ["git:log", "mail:send", "mail:list"]
    assert hits[0].score == 3.5
    assert math.isnan(hits[1].score or 0)
    assert hits[2].score is None


def test_entries_that_are_texts_or_have_a_tool_id_need_no_template() -> None:
    assert AnswerModel(result="$").hits(["a:b", {"tool_id": "c:d"}], {}) == [Hit("a:b"), Hit("c:d")]
    assert AnswerModel(result="$", tool_id="demo:{}").hits(["b"], {}) == [Hit("demo:b")]


def test_several_lists_are_one_after_the_other() -> None:
    answer = {"groups": [{"tools": ["a:b"]}, {"tools": ["c:d", "e:f"]}]}
    assert [hit.tool_id for hit in AnswerModel(result="$.groups[*].tools[*]").hits(answer, {})] == [
        "a:b",
        "c:d",
        "e:f",
    ]


def test_an_empty_list_and_null_are_empty_results() -> None:
    assert AnswerModel(result="$.tools").hits({"tools": []}, {}) == []
    assert AnswerModel(result="$.tools").hits({"tools": None}, {}) == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            {"error": "x", "code": 5},
            'the answer has nothing at $.tools; it is a mapping with "error", "code"',
        ),
        ([], "the answer has nothing at $.tools; it is a list with 0 entries"),
        ({"tools": "git:log"}, '$.tools in the answer is "git:log", expected a list'),
        ({"tools": {"a": 1}}, '$.tools in the answer is a mapping with "a", expected a list'),
        (
            {"tools": [{"server": "git", "tool": "log"}, {"server": "git"}]},
            "$.tools[1] in the answer: tool is missing, expected a text",
        ),
        (
            {"tools": [{"server": 5, "tool": "log"}]},
            "$.tools[0] in the answer: server is 5, expected a text",
        ),
        ({"tools": ["git:log"]}, "$.tools[0] in the answer: server is missing, expected a text"),
    ],
)
def test_an_answer_without_the_list_is_an_error_and_not_an_empty_result(answer: Any, message: str) -> None:
    with pytest.raises(AnswerError) as raised:
        AnswerModel(result="$.tools", tool_id="{server}:{tool}").hits(answer, {})
    assert raised.value.message == message


def test_an_entry_that_is_no_text_where_a_text_is_wanted() -> None:
    with pytest.raises(AnswerError, match="the entry itself is 5, expected a text"):
        AnswerModel(result="$").hits([5], {})


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{server}:{tool.name}", None),
        ("demo:{}", None),
        ("git:log", "names no field"),
        ("{server", "a brace without its partner"),
        ("{server}}:{tool}", "a brace without its partner"),
        ("{a b}", '"a b" is not the name of a field'),
        ("{a..b}", '"a..b" is not the name of a field'),
    ],
)
def test_templates(template: str, problem: str | None) -> None:
    found = template_problem(template)
    assert found is None if problem is None else problem in (found or "")
