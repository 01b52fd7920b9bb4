"""Samples of several runs of a case: the one they make together, and how much they differ."""

from __future__ import annotations

from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

from pytest_mcpeval import Case, Document, Sample, Suite
from pytest_mcpeval.core.repeating import (
    changed,
    combined,
    ended,
    judged_otherwise,
    mean_over_runs,
    number_of_runs,
    of_each_run,
    share_of_runs,
    standard_deviations,
)
from pytest_mcpeval.core.sample import Outcome, samples_from_json, samples_to_json
from pytest_mcpeval.kinds.scenario.tables import tables
from tests.runtimes import KINDS, runtime_at


def sample(outcome: Outcome, message: str = "", milliseconds: float = 1.0, case: str = "c") -> Sample:
    return Sample("s", "k", case, outcome, message=message, run={"processingTimeMs": milliseconds})


def has_passed(one: Sample) -> bool:
    return one.outcome == "passed"


def test_a_single_run_stays_as_it_is() -> None:
    one = sample("failed", "why")
    assert combined([one]) is one


def test_the_first_of_the_worst_stands_for_all() -> None:
    runs = [sample("passed", "", 1), sample("wrong", "first", 2), sample("wrong", "second", 6)]
    found = combined(runs)
    assert (found.outcome, found.message, found.runs) == ("wrong", "first (2 of 3 runs)", tuple(runs))
    assert found.run["processingTimeMs"] == 3
    assert [run["processingTimeMs"] for run in found.run["runs"]] == [1, 2, 6]
    assert combined([sample("error", "down"), sample("failed", "wrong")]).outcome == "failed"
    assert combined([sample("error", "down"), sample("passed")]).outcome == "error"
    assert combined([sample("passed"), sample("passed")]).message == ""


def test_samples_of_several_runs_survive_the_way_as_json() -> None:
    found = combined([sample("passed"), sample("failed", "why")])
    assert samples_from_json(samples_to_json([found, sample("passed")])) == [found, sample("passed")]


def test_runs_stand_side_by_side_and_a_case_without_them_is_in_each() -> None:
    twice, never = combined([sample("passed"), sample("failed", "x")]), sample("error", "down", case="n")
    assert number_of_runs([twice, never]) == 2
    assert [[one.outcome for one in run] for run in of_each_run([twice, never])] == [
        ["passed", "error"],
        ["failed", "error"],
    ]
    assert number_of_runs([]) == 1
    assert of_each_run([]) == [[]]


def test_shares_and_changes() -> None:
    steady, unsteady = combined([sample("passed")] * 2), combined([sample("passed"), sample("failed")])
    assert [share_of_runs(one, has_passed) for one in (steady, unsteady, sample("passed"))] == [1, 0.5, 1]
    assert changed([steady, unsteady], lambda one: one.outcome) == ["c"]
    assert changed([sample("passed")], lambda one: one.outcome) == []


def test_means_are_over_the_runs_that_have_a_value() -> None:
    reported: list[dict[str, int | None]] = [{"x": 1}, {"x": 4}, {}, {"x": None}]
    runs = [Sample("s", "k", "c", "passed", measured=found) for found in reported]
    assert mean_over_runs(combined(runs), lambda run: run.measured.get("x")) == 2.5
    assert mean_over_runs(runs[0], lambda run: run.measured.get("x")) == 1
    assert mean_over_runs(runs[2], lambda run: run.measured.get("x")) is None


def test_cases_count_as_failed_and_in_error_by_the_share_of_their_runs() -> None:
    halves = [combined([sample("passed"), sample("error", "down")])]
    assert (ended(halves, "error"), ended([*halves, *halves], "error"), ended([], "error")) == (0.5, 1, 0)
    (totals, *_) = tables({"s": halves})
    cells = {row.cells[0]: row.cells[1] for row in totals.rows}
    assert (cells["passed"], cells["failed"], cells["in error"]) == ("0.50", "0", "0.50")


def test_another_outcome_is_that_of_every_run() -> None:
    found = judged_otherwise(combined([sample("passed"), sample("passed")]), "error", "tear-down failed")
    assert [one.outcome for one in (found, *found.runs)] == ["error"] * 3
    assert share_of_runs(found, has_passed) == 0


def test_deviations_are_those_of_floats_in_every_run() -> None:
    runs = [
        {"a": {"x": 0.5, "n": 3, "words": "w"}, "f1": 0.2, "gone": None, "list": [1.0], "empty": {"n": 1}},
        {"a": {"x": 1.0, "n": 5, "words": "w"}, "f1": 0.6, "gone": 1.0, "list": [2.0], "empty": {"n": 1}},
    ]
    found = standard_deviations(runs)
    assert found == {"a": {"x": pytest.approx(stdev([0.5, 1.0]))}, "f1": pytest.approx(stdev([0.2, 0.6]))}


@pytest.mark.parametrize("name", list(KINDS))
def test_agents_and_sessions_are_asked_once(tmp_path: Path, name: str) -> None:
    runtime = runtime_at(tmp_path, runs=3)
    document = Document(tmp_path / "a.yaml", {}, "")
    suite: Suite[Any] = Suite("a.yaml", name, document, (Case("one", 1, (), object),), None)
    assert runtime.prefetch.runs(suite) == (1 if name in ("agent", "session") else 3)
