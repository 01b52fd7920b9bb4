"""The gates of a retrieval set: when they fail, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_mcpeval import GateResult
from pytest_mcpeval.core.baseline import differing_digests
from pytest_mcpeval.core.gate import Completeness, fail_closed
from pytest_mcpeval.core.verdict import overall
from pytest_mcpeval.kinds.retrieval.gate_input import BaselineScores, GateInput, GateSettings
from pytest_mcpeval.kinds.retrieval.gates import compared, gate_names, in_queries, judge_gates
from pytest_mcpeval.kinds.retrieval.metrics import Scores, average, evaluate_many
from pytest_mcpeval.kinds.retrieval.rankings import Ranking

COMMAND = "pytest --mcpeval --mcpeval-bless golden.json"


def scores(ranks: Sequence[int]) -> Scores:
    """Queries q0, q1, … whose one relevant tool has these ranks; 0 for not returned."""
    lists = [["x:x"] if rank == 0 else [*(f"x:{place}" for place in range(1, rank)), "r:r"] for rank in ranks]
    return evaluate_many(
        [Ranking(f"q{number}", ranked, {"r:r": 1}) for number, ranked in enumerate(lists)], 10
    )


def judged(
    new: Sequence[int] | Scores, old: Sequence[int] | BaselineScores | None, **settings: Any
) -> dict[str, GateResult]:
    baseline = BaselineScores.of(scores(old)) if isinstance(old, (list, tuple)) else old
    assert baseline is None or isinstance(baseline, BaselineScores)
    given = GateInput(
        suite="golden.json",
        settings=GateSettings(**settings),
        scores=new if isinstance(new, Scores) else scores(new),
        baseline=baseline,
        bless_command=COMMAND,
    )
    return {gate.name: gate for gate in judge_gates(given)}


def verdicts(gates: Mapping[str, GateResult]) -> dict[str, str]:
    return {name: gate.verdict for name, gate in gates.items()}


def flat(**metrics: float) -> BaselineScores:
    """A baseline that holds the metrics of the set alone."""
    return BaselineScores(metrics)


def test_an_unchanged_set_passes_every_gate() -> None:
    ranks = [1, 2, 0, 7] * 10
    gates = judged(ranks, ranks, pinned={"q0": 1}, floors={"mrr": 0.4})
    assert verdicts(gates) == {
        "recall_at_5": "passed",
        "recall_at_5_sign_flip": "passed",
        "max_lost": "passed",
        "pinned": "passed",
        "mrr_floor": "passed",
    }
    assert all(gate.suite == "golden.json" for gate in gates.values())


def test_the_gates_are_known_by_name_before_they_are_judged() -> None:
    ranks = [1] * 20
    for settings in (
        GateSettings(),
        GateSettings(tolerance={"mrr": 0.1, "map": 0.1}, floors={"hit_at_1": 0.5}, pinned={"q0": 1}),
        GateSettings(tolerance={}, significance={}, max_lost=None),
    ):
        gates = judge_gates(GateInput("s", settings, scores(ranks), BaselineScores.of(scores(ranks))))
        assert [gate.name for gate in gates] == gate_names(settings)


class TestTolerance:
    def test_a_fall_beyond_it_fails_and_is_said_in_queries(self) -> None:
        gate = judged([0, 0, 0, *[1] * 44], [1] * 47)["recall_at_5"]
        assert gate.verdict == "failed"
        assert gate.value == pytest.approx(44 / 47)
        assert gate.baseline == 1.0
        assert gate.limit == pytest.approx(0.95)
        assert gate.message == (
            "recall_at_5 0.9362, 0.06383 below the baseline's 1; tolerance 0.05 = 2.35 of 47 queries; "
            "lost 3: q0, q1, q2; won 0; tied 44"
        )

    def test_a_fall_within_it_passes(self) -> None:
        gates = judged([0, 0, *[1] * 45], [1] * 47)
        assert gates["recall_at_5"].verdict == "passed"
        assert "lost 2: q0, q1" in gates["recall_at_5"].message

    def test_a_fall_of_exactly_as_much_passes(self) -> None:
        assert 0.4 - 0.05 > 0.35
        assert judged([1] * 7 + [0] * 13, [1] * 8 + [0] * 12)["recall_at_5"].verdict == "passed"
        assert judged([1] * 7 + [0] * 13, flat(recall_at_5=0.4001))["recall_at_5"].verdict == "failed"

    def test_won_queries_make_up_for_lost_ones(self) -> None:
        gate = judged([0, 0, 0, 1, 1, 1, *[1] * 14], [1, 1, 1, 0, 0, 0, *[1] * 14])["recall_at_5"]
        assert gate.verdict == "passed"
        assert gate.message.startswith(
            "recall_at_5 0.85, as in the baseline; tolerance 0.05 = 1 of 20 queries"
        )
        assert "won 3: q3, q4, q5" in gate.message

    def test_a_rise_is_called_one(self) -> None:
        assert "0.05 above the baseline's 0.95" in judged([1] * 20, [0, *[1] * 19])["recall_at_5"].message

    def test_any_metric_can_have_one(self) -> None:
        gates = judged([2] * 10, [1] * 10, tolerance={"mrr": 0.4, "hit_at_3": 0.0}, significance={})
        assert verdicts(gates)["mrr"] == "failed"
        assert verdicts(gates)["hit_at_3"] == "passed"
        assert "recall_at_5" not in gates

    def test_that_of_the_baseline_counts_unless_one_is_set(self) -> None:
        strict = BaselineScores({"recall_at_5": 1.0}, tolerance={"recall_at_5": 0.01})
        ranks = [0, *[1] * 24]
        assert judged(ranks, strict)["recall_at_5"].verdict == "failed"
        assert judged(ranks, strict, tolerance={"recall_at_5": 0.05})["recall_at_5"].verdict == "passed"
        assert judged(ranks, flat(recall_at_5=1.0))["recall_at_5"].verdict == "passed"

    def test_a_metric_the_baseline_does_not_hold_is_an_error(self) -> None:
        gate = judged([1], flat(mrr=1.0))["recall_at_5"]
        assert gate.verdict == "error"
        assert gate.message == f"the baseline holds no recall_at_5: bless a new one with {COMMAND}"

    def test_one_that_any_value_is_within_is_an_error(self) -> None:
        gate = judged([0] * 4, flat(recall_at_5=0.3), tolerance={"recall_at_5": 0.3})["recall_at_5"]
        assert gate.verdict == "error"
        assert gate.message == "any value is within the tolerance 0.3 of the baseline's 0.3: lower it"

    def test_no_queries_fail(self) -> None:
        assert judged(scores([]), flat(recall_at_5=0.5))["recall_at_5"].verdict == "failed"


class TestSignFlip:
    def test_losses_that_are_no_chance_fail_within_the_tolerance(self) -> None:
        gates = judged([0] * 5 + [1] * 295, [1] * 300)
        assert gates["recall_at_5"].verdict == "passed"
        gate = gates["recall_at_5_sign_flip"]
        assert gate.verdict == "failed"
        assert (gate.value, gate.limit) == (1 / 32, 0.04)
        assert gate.message == (
            "recall_at_5 0.9833, 0.01667 below the baseline's 1; a fall this large happens by chance in 3.1 "
            "of 100 runs, and fails below 4 of 100 (paired sign-flip test, exact; 5 queries differ); "
            "lost 5: q0, q1, q2, q3, q4; won 0; tied 295"
        )

    def test_losses_that_may_be_chance_pass(self) -> None:
        assert judged([0] * 5 + [1] * 5, [1] * 5 + [0] + [1] * 4)["recall_at_5_sign_flip"].verdict == "passed"

    def test_gains_pass(self) -> None:
        assert judged([1] * 30, [0] * 30)["recall_at_5_sign_flip"].verdict == "passed"

    def test_too_few_differing_queries_are_called_that(self) -> None:
        gate = judged([0] * 4 + [1] * 96, [1] * 100)["recall_at_5_sign_flip"]
        assert gate.verdict == "passed"
        few = "4 queries differ, and at least 5 must differ to show that a fall is not chance"
        assert few in gate.message
        assert "1 query differs" in judged([0, 1], [1, 1])["recall_at_5_sign_flip"].message

    def test_more_than_twenty_are_drawn(self) -> None:
        gate = judged([0] * 21 + [1] * 500, [1] * 521)["recall_at_5_sign_flip"]
        assert gate.verdict == "failed"
        assert "by chance in less than 1 of 10,000 runs" in gate.message
        assert "(paired sign-flip test, 10,000 draws, seed 20260531; 21 queries differ)" in gate.message

    def test_it_can_watch_another_metric(self) -> None:
        gates = judged([2] * 10, [1] * 10, significance={"mrr": 0.001})
        assert gates["mrr_sign_flip"].verdict == "failed"
        assert "recall_at_5_sign_flip" not in gates

    def test_runs_beyond_those_of_the_baseline_do_not_count(self) -> None:
        # Of searches that hit in nine of ten runs: five times four of five hits, against one hit of one.
        hits = [scores([int(run != number) for number in range(5)]) for run in range(5)]
        gate = judged(average(hits), BaselineScores.of(scores([1] * 5)))["recall_at_5_sign_flip"]
        assert gate.verdict == "passed"
        assert "1 query differs" in gate.message


class TestMaxLost:
    def test_more_lost_queries_fail_though_others_were_won(self) -> None:
        gate = judged([0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1], max_lost=1)["max_lost"]
        assert gate.verdict == "failed"
        assert (gate.value, gate.limit) == (2.0, 1.0)
        assert gate.message == (
            "by recall_at_5, at most 1 may be lost; lost 2: q0, q1; won 2: q2, q3; tied 2"
        )

    def test_so_many_pass(self) -> None:
        assert judged([0, 0, 1], [1, 1, 1], max_lost=2)["max_lost"].verdict == "passed"
        assert judged([0, 1, 1], [1, 1, 1], max_lost=0)["max_lost"].verdict == "failed"

    @pytest.mark.parametrize(
        ("lost", "won", "verdict"), [(2, 0, "passed"), (6, 0, "passed"), (7, 0, "failed"), (7, 3, "passed")]
    )
    def test_by_default_more_must_be_lost_than_tolerated_and_than_chance_explains(
        self, lost: int, won: int, verdict: str
    ) -> None:
        # 0.05 of 47 queries are 2.35; of seven queries that differ, all are lost by chance in 1 of 128 runs.
        new = [0] * lost + [1] * (47 - lost)
        gate = judged(new, [1] * (47 - won) + [0] * won)["max_lost"]
        assert (gate.verdict, gate.limit) == (verdict, 2.0)
        explained = {
            6: "6 or more are lost by chance in 1.6 of 100",
            7: "lost by chance in 7.8 of 1,000 runs",
        }
        if won == 0:
            assert explained.get(lost, "at most 2 may be lost; lost 2") in gate.message
        assert ("set `max_lost: 2`" in gate.message) == (lost > 2 and verdict == "passed")

    def test_with_several_runs_queries_that_were_exchanged_are_no_chance(self) -> None:
        # The mean is the same; each query changed in all of three runs, by chance in 1 of 20 × 2 cases.
        old, new = [1] * 4 + [0] * 4 + [1] * 12, [0] * 4 + [1] * 4 + [1] * 12
        gates = judged(average([scores(new)] * 3), BaselineScores.of(average([scores(old)] * 3)))
        assert verdicts(gates)["max_lost"] == "failed"
        assert verdicts(gates)["recall_at_5_sign_flip"] == "passed"
        assert judged(new, old)["max_lost"].verdict == "passed"
        assert judged(new, old, max_lost=3)["max_lost"].verdict == "failed"

    def test_a_whole_number_of_queries_is_not_lost_to_float_arithmetic(self) -> None:
        # 0.29 * 100 is the float 28.999999999999996.
        gates = judged([0] * 29 + [1] * 71, [1] * 100, tolerance={"recall_at_5": 0.29})
        assert gates["max_lost"].limit == 29

    def test_a_query_that_gave_no_answer_is_lost(self) -> None:
        some = scores([1] * 30).subset({f"q{number}" for number in range(27)})
        gates = judged(some, [1] * 30, max_lost=2)
        assert gates["max_lost"].verdict == "failed"
        assert "lost 3: q27, q28, q29" in gates["max_lost"].message

    def test_it_can_be_turned_off(self) -> None:
        assert "max_lost" not in judged([0], [1], max_lost=None)


class TestPinned:
    def test_a_pinned_query_below_its_k_fails_and_is_named(self) -> None:
        gate = judged([5, 6, 0, 1], [5, 5, 5, 1], pinned={"q0": 5, "q1": 5, "q2": 5, "q3": 1})["pinned"]
        assert gate.verdict == "failed"
        assert gate.value == 2.0
        assert gate.message == (
            "2 of 4 pinned queries lost: q1 (rank 6, wanted within 5), q2 (not found, wanted within 5)"
        )

    def test_it_needs_no_baseline(self) -> None:
        assert judged([1, 0], None, pinned={"q1": 3})["pinned"].verdict == "failed"

    def test_a_pinned_query_without_scores_is_lost(self) -> None:
        gate = judged([1], [1], pinned={"gone": 3})["pinned"]
        assert gate.verdict == "failed"
        assert "gone (not found, wanted within 3)" in gate.message

    def test_without_pinned_queries_it_is_not_set(self) -> None:
        assert judged([1], [1])["pinned"].verdict == "not_set"


class TestFloors:
    def test_a_value_below_fails(self) -> None:
        gates = judged([1, 0, 0, 0], [1, 0, 0, 0], floors={"recall_at_5": 0.5, "mrr": 0.25})
        assert gates["recall_at_5_floor"].verdict == "failed"
        assert gates["recall_at_5_floor"].message == "0.25, wanted at least 0.5"
        assert gates["mrr_floor"].verdict == "passed"

    def test_a_floor_the_labels_do_not_allow_is_told(self) -> None:
        halved = evaluate_many([Ranking("q0", ["r:r"], {"r:r": 1, "s:s": 1})], 10)
        gate = judged(halved, None, floors={"recall_at_1": 0.6})["recall_at_1_floor"]
        assert gate.verdict == "failed"
        assert gate.message == "0.5, wanted at least 0.6; the labels allow at most 0.5"


class TestBaselines:
    def test_a_missing_one_fails_with_the_command_that_writes_it(self) -> None:
        gates = judged([1], None)
        assert gates["baseline"].verdict == "failed"
        assert gates["baseline"].message == f"no baseline yet: write it with {COMMAND}"
        assert verdicts(gates)["recall_at_5"] == "not_set"
        assert verdicts(gates)["recall_at_5_sign_flip"] == "not_set"
        assert verdicts(gates)["max_lost"] == "not_set"

    def test_a_missing_one_is_no_failure_when_floors_are_set(self) -> None:
        gates = judged([1], None, floors={"mrr": 0.5})
        assert set(verdicts(gates).values()) == {"not_set", "passed"}
        assert "baseline" not in gates
        assert COMMAND in gates["recall_at_5"].message

    def test_one_without_single_queries_leaves_gates_not_set(self) -> None:
        gates = judged([0, *[1] * 9], flat(recall_at_5=0.9))
        assert verdicts(gates) == {
            "recall_at_5": "passed",
            "recall_at_5_sign_flip": "not_set",
            "max_lost": "not_set",
            "pinned": "not_set",
        }
        assert gates["recall_at_5"].message.endswith("; the baseline names no queries")
        assert COMMAND in gates["max_lost"].message
        assert gates["recall_at_5_sign_flip"].message.startswith("not set: the baseline holds no recall_at_5")

    def test_one_made_from_other_data_is_an_error_that_names_it(self) -> None:
        old = BaselineScores.of(scores([1]), {"corpus": "sha256:1", "golden set": "sha256:2"})
        given = GateInput(
            "golden.json",
            GateSettings(floors={"mrr": 0.5}),
            scores([1]),
            old,
            {"corpus": "sha256:9", "golden set": "sha256:2"},
            COMMAND,
        )
        gates = {gate.name: gate for gate in judge_gates(given)}
        assert gates["baseline"].verdict == "error"
        assert gates["baseline"].message.startswith("was made from another corpus, so")
        assert COMMAND in gates["baseline"].message
        assert gates["recall_at_5"].verdict == "not_set"
        assert gates["mrr_floor"].verdict == "passed"

    def test_digests_are_compared_part_by_part(self) -> None:
        assert differing_digests({"a": "1", "b": "2"}, {"a": "1", "b": "2"}) == []
        assert differing_digests({"a": "1"}, {"a": "1", "b": "2"}) == ["b"]
        assert differing_digests({"a": "1", "b": "2"}, {"a": "3"}) == ["a", "b"]
        assert differing_digests({}, {"a": "1"}) == []

    def test_a_new_one_is_blessed_without_comparing_with_the_old(self) -> None:
        settings = GateSettings(floors={"mrr": 0.5}, pinned={"q0": 1})
        for old in (None, BaselineScores.of(scores([1, 1]))):
            given = GateInput("golden.json", settings, scores([1, 0]), old)
            gates = judge_gates(given, blessing=True)
            assert [gate.name for gate in gates] == ["pinned", "mrr_floor"]

    def test_it_holds_every_value_of_every_query(self) -> None:
        old = BaselineScores.of(scores([1, 2]))
        assert old.by_run("mrr") == {"q0": [1.0], "q1": [0.5]}
        assert old.metrics["mrr"] == 0.75
        twice = BaselineScores.of(average([scores([1, 2]), scores([2, 2])]))
        assert twice.by_run("mrr") == {"q0": [1.0, 0.5], "q1": [0.5, 0.5]}
        assert twice.without({"q1"}).metrics["mrr"] == 0.75
        assert flat(mrr=1.0).by_run("mrr") is None
        assert BaselineScores.of(replace(scores([1]), depth=3)).by_run("recall_at_5") is None


def test_what_changed_is_plain_data_and_names_every_query() -> None:
    old = BaselineScores.of(scores([1, 1, 0, 2]), {"corpus": "1"})
    found = compared(GateInput("s", GateSettings(), scores([1, 0, 1, 2]), old, {"corpus": "1"}))
    assert found["queries"] == {"by": "recall_at_5", "won": ["q2"], "lost": ["q1"], "tied": ["q0", "q3"]}
    assert found["metrics"]["recall_at_5"] == 0.0
    assert compared(GateInput("s", GateSettings(), scores([1]), old, {"corpus": "2"})) == {}
    assert compared(GateInput("s", GateSettings(), scores([1]), None)) == {}


def test_shares_are_said_in_queries() -> None:
    assert in_queries(0.05, 47) == "2.35 of 47 queries"
    assert in_queries(0.05, 300) == "15 of 300 queries"
    assert in_queries(0.05, 1) == "0.05 of 1 query"


def test_a_gate_that_is_not_set_spoils_nothing_and_hides_nothing() -> None:
    unset = GateResult("s", "max_lost", "not_set", "not set: why")
    fine = GateResult("s", "mrr", "passed", "")
    assert overall([unset, fine], failed=False, errors=False, partial=False) == "passed"
    short = Completeness(expected=2, measured=1, missing=("b",))
    assert [gate.verdict for gate in fail_closed([unset, fine], short)] == ["not_set", "failed"]
    partial = Completeness(expected=2, measured=1, deselected=1)
    assert [gate.verdict for gate in fail_closed([unset, fine], partial)] == ["not_set", "not_evaluated"]
