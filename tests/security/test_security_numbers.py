"""Rates, curves and gates as pure numbers: against scikit-learn, by hand, and at their edges."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sklearn.metrics import (  # type: ignore[import-untyped]
    average_precision_score,
    precision_recall_fscore_support,
    roc_auc_score,
)

from pytest_mcpeval import GateResult
from pytest_mcpeval.kinds.security.gates import (
    DetectorGates,
    OldVerdicts,
    changed,
    compares,
    gate_names,
    judge_gates,
    looking_at,
)
from pytest_mcpeval.kinds.security.rates import Confusion, Row, measured, scored, summary
from pytest_mcpeval.kinds.security.schema import DetectorGatesModel


def rows(tp: int = 0, fp: int = 0, tn: int = 0, fn: int = 0, errors: int = 0) -> list[Row]:
    """Rows with these counts; errors are on benign entries."""
    kinds: Sequence[tuple[int, str, bool, float | None]] = (
        (tp, "tp", True, 1.0),
        (fp, "fp", False, 1.0),
        (tn, "tn", False, 0.0),
        (fn, "fn", True, 0.0),
        (errors, "er", False, None),
    )
    return [
        Row(f"{name}{number}", malicious, "attack" if malicious else "benign", flagged)
        for count, name, malicious, flagged in kinds
        for number in range(count)
    ]


def judged(found: list[Row], **settings: Any) -> dict[str, GateResult]:
    baseline = settings.pop("baseline", None)
    given = DetectorGates("s", "d", DetectorGatesModel(**settings), found, baseline)
    return {gate.name: gate for gate in judge_gates(given)}


@pytest.mark.parametrize("seed", range(20))
def test_counts_and_rates_are_those_of_scikit_learn(seed: int) -> None:
    chance = random.Random(seed)
    truth = [chance.random() < 0.4 for _ in range(60)]
    flags = [chance.random() < (0.7 if label else 0.2) for label in truth]
    scores = [chance.choice([0.1, 0.2, 0.5, 0.9]) + 0.3 * label for label in truth]
    made = [
        Row(str(number), label, "c", float(flag), score=score)
        for number, (label, flag, score) in enumerate(zip(truth, flags, scores, strict=True))
    ]
    precision, recall, f1, _ = precision_recall_fscore_support(truth, flags, average="binary")
    found = summary(made)
    assert (found["precision"], found["recall"], found["f1"]) == pytest.approx((precision, recall, f1))
    curves = scored(made, 0.2)
    assert curves is not None
    assert curves["auc"] == pytest.approx(roc_auc_score(truth, scores))
    assert curves["average_precision"] == pytest.approx(average_precision_score(truth, scores))
    # By hand: the best threshold whose false positives stay within the ceiling.
    best = 0.0
    for threshold in {*scores, 9.0}:
        fpr = sum(s >= threshold for s, t in zip(scores, truth, strict=True) if not t) / truth.count(False)
        if fpr <= 0.2:
            hits = sum(s >= threshold for s, t in zip(scores, truth, strict=True) if t)
            best = max(best, hits / truth.count(True))
    assert curves["recall_at_ceiling"] == pytest.approx(best)


def test_undefined_values_are_none_and_errors_are_in_no_count() -> None:
    found = summary(rows(tn=3, fn=2, errors=4))
    assert (found["precision"], found["f1"], found["recall"]) == (None, None, 0.0)
    assert (found["tp"], found["fp"], found["tn"], found["fn"], found["errors"]) == (0, 0, 3, 2, 4)
    assert summary([])["fpr"] is None
    assert summary([])["fpr_interval"] is None


def test_several_runs_count_with_their_mean_and_the_worse_whole_number() -> None:
    found = Confusion.of([*rows(tn=9), Row("x", False, "benign", 1 / 3), Row("y", True, "attack", 0.5)])
    assert found.fp == pytest.approx(1 / 3)
    assert found.recall.value == 0.5
    assert found.false_positives.whole("up") == 1
    assert found.recall.whole("down") == 0
    numbers = measured([*rows(tn=9), Row("x", False, "benign", 1 / 3)], 0.1)
    assert numbers["false_alarms"] == ["x"]


def test_an_entry_that_was_wrong_in_one_of_several_runs_is_named() -> None:
    found = [
        *rows(tp=1, tn=1),
        Row("seldom", False, "benign", 1 / 3),
        Row("often", False, "benign", 2 / 3),
        Row("once_missed", True, "attack", 2 / 3),
        Row("once_found", True, "attack", 1 / 3),
    ]
    gates = judged(found, fpr_ceiling=0.1, recall_floor=0.9)
    assert "false alarms 2: seldom, often" in gates["d-fpr_ceiling"].message
    assert "missed 2: once_missed, once_found" in gates["d-recall_floor"].message
    # Nothing stands between the parts of a message where there is nothing to say.
    assert not any("; ; " in gate.message or gate.message.endswith("; ") for gate in gates.values())
    numbers = measured(found, 0.1)
    assert numbers["false_alarms"] == ["seldom", "often"]
    assert numbers["missed"] == ["once_missed", "once_found"]


def test_scores_need_to_be_complete_and_of_both_labels() -> None:
    assert scored([Row("a", True, "c", 1.0, score=1.0), Row("b", False, "c", 0.0)], 0.1) is None
    assert scored([Row("a", True, "c", 1.0, score=1.0)], 0.1) is None
    with_error = [Row("a", True, "c", 1.0, score=1.0), Row("b", False, "c", 0.0, score=0.1)]
    assert scored([*with_error, Row("e", False, "c", None)], None) is not None


def test_recall_at_the_ceiling_counts_every_threshold() -> None:
    # Malicious and benign entries share every score, so that the curve is one straight line.
    found = [
        Row(f"{label}_{number}", label == "bad", "x", 0.0, score=number / 10)
        for number in range(6)
        for label in ("bad", "ok")
    ]
    curves = scored(found, 0.5)
    assert curves is not None
    assert curves["recall_at_ceiling"] == 0.5


def test_the_message_says_what_a_corpus_can_certify() -> None:
    gate = judged(rows(tp=10, fp=1, tn=22))["d-fpr_ceiling"]
    assert gate.verdict == "passed"
    assert gate.message.startswith(
        "FPR 1/23 = 4.3 % (95 % CI 0.1–21.9 %): within 10 % on the point estimate; 46 benign entries are "
        "needed to certify it; recall 10/10"
    )
    bound = judged(rows(tp=10, fp=1, tn=22), mode="bound")["d-fpr_ceiling"]
    assert bound.verdict == "failed"
    assert "the one-sided 95 % limit of 19.0 % is above the ceiling of 10 %; 46 benign" in bound.message
    certified = judged(rows(tp=1, fp=1, tn=45), mode="bound")["d-fpr_ceiling"]
    assert certified.verdict == "passed"
    assert "within 10 %, and so is the one-sided 95 % limit of 9.9 %" in certified.message


def test_a_floor_that_a_corpus_certifies() -> None:
    found = judged(rows(tp=100, tn=5), recall_floor=0.9, mode="bound")["d-recall_floor"]
    assert found.verdict == "passed"
    assert "not below 90 %, and so is the one-sided 95 % limit of 97.0 %" in found.message
    found = judged(rows(tp=10, tn=5), recall_floor=0.9, mode="bound")["d-recall_floor"]
    assert found.verdict == "failed"
    assert "the one-sided 95 % limit of 74.1 % is below the floor of 90 %" in found.message
    # Of a share of a hit, the worse whole number is taken.
    found = judged([Row("y", True, "attack", 0.5), *rows(tn=5)], recall_floor=0.1)["d-recall_floor"]
    assert "recall 0.5/1 = 50.0 % (95 % CI 0.0–97.5 %)" in found.message


def test_which_gates_compare_and_which_look_at_an_entry() -> None:
    assert compares(DetectorGatesModel(max_newly_missed=None))
    assert compares(DetectorGatesModel(max_new_false_alarms=None))
    assert not compares(DetectorGatesModel(max_newly_missed=None, max_new_false_alarms=None))
    assert looking_at("d", "c", malicious=None) == ["d-max_errors"]
    assert looking_at("d", "c", malicious=True) == ["d-recall_floor", "d-recall_c", "d-max_newly_missed"]
    assert looking_at("d", "c", malicious=False) == ["d-fpr_ceiling", "d-max_new_false_alarms"]


def test_high_recall_never_excuses_a_broken_ceiling() -> None:
    gates = judged(rows(tp=100, fp=3, tn=17), recall_floor=0.9)
    assert gates["d-recall_floor"].verdict == "passed"
    assert gates["d-fpr_ceiling"].verdict == "failed"
    assert "above the ceiling of 10 %" in gates["d-fpr_ceiling"].message


def test_a_ceiling_of_nothing() -> None:
    gate = judged(rows(tp=1, tn=5), fpr_ceiling=0.0)["d-fpr_ceiling"]
    assert gate.verdict == "passed"
    assert "no number of entries certifies it" in gate.message


def test_a_ceiling_met_exactly_holds_and_recall_has_a_bound_too() -> None:
    assert judged(rows(tp=1, fp=1, tn=9))["d-fpr_ceiling"].verdict == "passed"
    point = judged(rows(tp=9, fn=1, tn=9), recall_floor=0.9)["d-recall_floor"]
    assert point.verdict == "passed"
    assert "not below 90 % on the point estimate; 46 malicious entries are needed" in point.message
    bound = judged(rows(tp=9, fn=1, tn=9), recall_floor=0.9, mode="bound")["d-recall_floor"]
    assert bound.verdict == "failed"
    assert "is below the floor of 90 %" in bound.message


def test_without_a_verdict_on_any_benign_entry_the_ceiling_fails() -> None:
    assert judged(rows(tp=2, errors=2), max_errors=5)["d-fpr_ceiling"].verdict == "failed"
    assert judged(rows(tp=2))["d-fpr_ceiling"].message == "no benign entry is judged"
    assert judged(rows(tn=2), recall_floor=0.1)["d-recall_floor"].message == "no malicious entry is judged"


def test_an_entry_without_a_verdict_counts_as_a_wrong_one_in_every_gate() -> None:
    silent = Row("e", True, "attack", None)
    gates = judged([*rows(tp=8, tn=9, errors=2), silent], max_errors=5, recall_floor=0.9)
    assert gates["d-fpr_ceiling"].verdict == "failed"
    assert gates["d-fpr_ceiling"].message.startswith("FPR 2/11 = 18.2 %")
    assert gates["d-fpr_ceiling"].message.endswith(
        "without a verdict, so that they count as false alarms 2: er0, er1"
    )
    assert gates["d-recall_floor"].verdict == "failed"
    assert gates["d-recall_floor"].message.startswith("recall 8/9 = 88.9 %")
    assert gates["d-recall_floor"].message.endswith("without a verdict, so that they count as missed 1: e")
    assert gates["d-max_errors"].verdict == "passed"
    # What is reported stays as defined: over the entries that have a verdict.
    assert (summary([*rows(tp=8), silent])["recall"], summary(rows(tn=9, errors=2))["fpr"]) == (1.0, 0.0)
    # Two runs flagged it, the third brought no verdict.
    assert Row("r", True, "attack", 1.0, unanswered=1 / 3).held_against == pytest.approx(2 / 3)
    assert Row("r", False, "benign", 0.0, unanswered=1 / 3).held_against == pytest.approx(1 / 3)


def test_the_labels_of_a_category_that_has_both_are_told_apart() -> None:
    mixed = [Row("a", True, "odd", 1.0), Row("b", False, "odd", 0.0), Row("c", True, "attack", 0.0)]
    found = measured(mixed, 0.1)["per_category"]
    assert list(found) == ["attack", "odd (benign)", "odd (malicious)"]
    assert (found["odd (malicious)"]["recall"], found["odd (malicious)"]["entries"]) == (1.0, 1)
    assert found["odd (benign)"]["fpr"] == 0.0


def test_changes_against_a_baseline_count_errors_as_wrong() -> None:
    found = [*rows(tp=1, fp=1, tn=1, fn=1), Row("e", True, "attack", None), Row("f", True, "attack", None)]
    old = OldVerdicts({"tp0": 0.0, "fp0": 0.0, "tn0": 1.0, "fn0": 1.0, "e": 1.0, "f": 0.0})
    assert changed(found, old).as_data() == {
        "newly_missed": ["fn0", "e"],
        "newly_found": ["tp0"],
        "new_false_alarms": ["fp0"],
        "gone_false_alarms": ["tn0"],
    }
    gates = judged(found, baseline=old, max_errors=2, max_newly_missed=2, max_new_false_alarms=0)
    assert gates["d-max_newly_missed"].verdict == "passed"
    assert gates["d-max_new_false_alarms"].verdict == "failed"


@pytest.mark.parametrize(("missed", "verdict"), [(5, "passed"), (6, "failed")])
def test_so_many_changed_verdicts_of_one_run_are_no_chance(missed: int, verdict: str) -> None:
    # (1/2)⁵ = 3.1 %, (1/2)⁶ = 1.6 %: the two gates share 5 %.
    found = rows(tp=10, fn=missed, tn=10)
    old = OldVerdicts({row.entry: float(row.malicious) for row in found})
    gate = judged(found, baseline=old)["d-max_newly_missed"]
    assert (gate.verdict, gate.value, gate.limit) == (verdict, missed, None)
    hint = "; for a detector that always gives the same answer, set `max_newly_missed: 0`"
    assert gate.message == (
        f"newly missed {missed}: {', '.join(f'fn{number}' for number in range(missed))}; newly found 0; "
        f"{missed} or more change like this by chance in {'3.1' if missed == 5 else '1.6'} of 100 runs "
        f"(exact permutation test), and below 2.5 of 100 the gate fails{hint if verdict == 'passed' else ''}"
    )
    assert judged(found, baseline=old, max_newly_missed=0)["d-max_newly_missed"].verdict == "failed"


def test_of_several_runs_one_entry_that_changed_in_all_is_no_chance_and_shaky_ones_are() -> None:
    one = [replace(row, runs=5) for row in rows(tp=4, fn=1, tn=5)]
    old = OldVerdicts({row.entry: float(row.malicious) for row in one}, 5)
    gate = judged(one, baseline=old)["d-max_newly_missed"]
    assert gate.verdict == "failed"
    assert "1 or more change like this by chance in 4 of 1,000 runs" in gate.message
    shaky = [replace(row, flagged=0.4) for row in one]
    same = judged(shaky, baseline=OldVerdicts({row.entry: 0.6 for row in one}, 5), fpr_ceiling=None)
    assert {gate.verdict for gate in same.values()} == {"passed", "not_set"}
    assert "newly missed 0" in same["d-max_newly_missed"].message


def test_detectors_of_a_corpus_share_what_chance_may_fail() -> None:
    found = rows(tp=10, fn=6, tn=10)
    old = OldVerdicts({row.entry: float(row.malicious) for row in found})
    given = DetectorGates("s", "d", DetectorGatesModel(), found, old, detectors=3)
    gates = {gate.name: gate for gate in judge_gates(given)}
    assert gates["d-max_newly_missed"].verdict == "passed"
    assert "below 0.83 of 100" in gates["d-max_newly_missed"].message


def test_gate_names_are_those_that_are_judged() -> None:
    for settings in (
        {},
        {"max_newly_missed": 3},
        {"recall_floor": 0.5, "category_floors": {"attack": 0.1}},
    ):
        model = DetectorGatesModel.model_validate(settings)
        assert gate_names("d", model) == list(judged(rows(tp=1, tn=1), **settings))


def test_gates_that_are_turned_off_on_purpose_are_shown_as_not_set() -> None:
    off = {"fpr_ceiling": None, "max_newly_missed": None, "category_floors": {"attack": None}}
    found = judged(rows(tp=1, tn=1, fp=9), **off)
    assert {name: gate.message for name, gate in found.items() if name[2:] in (*off, "recall_attack")} == {
        "d-fpr_ceiling": "not set: `fpr_ceiling: null`",
        "d-max_newly_missed": "not set: `max_newly_missed: null`",
        "d-recall_attack": "not set: `category_floors: {attack: null}`",
    }
    assert {gate.verdict for gate in found.values()} == {"passed", "not_set"}


def test_without_malicious_entries_recall_is_not_measured() -> None:
    found = summary(rows(tn=3, fp=1))
    assert (found["recall"], found["precision"], found["f1"], found["fpr"]) == (None, None, None, 0.25)
    harmless = rows(tn=19, fp=1)
    gates = judged(harmless, baseline=OldVerdicts({row.entry: 0.0 for row in harmless}))
    missing = "not set: recall not measured: no malicious entry is judged"
    for name in ("d-recall_floor", "d-max_newly_missed"):
        assert (gates[name].verdict, gates[name].message, gates[name].value) == ("not_set", missing, None)
    assert gates["d-max_new_false_alarms"].verdict == "passed"
    assert "recall not measured" in gates["d-fpr_ceiling"].message


@pytest.mark.parametrize(
    ("entries", "runs", "verdict"), [(5, 1, "not_set"), (6, 1, "failed"), (1, 5, "failed")]
)
def test_a_gate_that_no_change_could_fail_is_not_set(entries: int, runs: int, verdict: str) -> None:
    names = [f"e{number}" for number in range(entries)]
    missed = [Row(name, True, "attack", 0.0, runs=runs) for name in names]
    never_found = Row("new", True, "attack", 0.0, runs=runs)
    baseline = OldVerdicts({"new": 0.0, **dict.fromkeys(names, 1.0)}, runs)
    found = judged([*missed, never_found, *rows(tn=20)], baseline=baseline)["d-max_newly_missed"]
    assert found.verdict == verdict
    too_few = (
        "the baseline is right on 5 of 6 entries, too few to distinguish a change from chance: set `max_new"
    )
    assert (too_few in found.message) == (verdict == "not_set")
    assert f"newly missed {entries}: {', '.join(names)}" in found.message
