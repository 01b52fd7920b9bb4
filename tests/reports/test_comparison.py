"""``pytest-mcpeval compare``: two reports, what got worse or better, and which cases did it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.registry import declaration_of
from pytest_mcpeval.reports.comparison import Comparison, compared, numbers
from tests.support import Project, case, failing

GOLDEN, CORPUS, CALLS = "datasets/golden.json", "datasets/attacks.json", "datasets/calls.yaml"


def query(number: int, rank: int | None) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "outcome": "passed" if rank else "tolerated",
        "message": "" if rank else "no relevant tool within 10",
        "checks": [],
        "measured": {"labels": {"a:b": 2, "a:c": 0}, "ranks": {"a:b": rank}, "rank": rank, "depth": 10},
    }


def entry(number: int, label: str, right: bool) -> dict[str, Any]:
    return {
        "id": f"heuristics-{label}-{number}",
        "outcome": "passed" if right else "tolerated",
        "message": "",
        "checks": [],
        "measured": {"detector": "heuristics", "entry": f"e{number}", "label": label},
    }


def call(name: str, outcome: str = "passed") -> dict[str, Any]:
    return {"id": name, "outcome": outcome, "message": "wrong text", "checks": [], "measured": {}}


def suite(kind: str, cases: list[dict[str, Any]], **metrics: Any) -> dict[str, Any]:
    return {"kind": kind, "digest": "sha256:1", "missing": [], "metrics": metrics, "cases": cases}


def report(**changes: Any) -> dict[str, Any]:
    """A report of three suites, of which some are exchanged."""
    suites = {
        GOLDEN: suite("retrieval", [query(n, 1) for n in range(40)], recall_at={"5": 1.0}, mrr=1.0),
        CORPUS: suite(
            "security",
            [entry(n, label, True) for label in ("benign", "malicious") for n in range(20)],
            per_detector=[{"detector": "heuristics", "fpr": 0.0, "recall": 1.0}],
        ),
        CALLS: suite("scenario", [call("one"), call("two")], summary={"passRate": 100.0}),
    }
    return {"version": 1, "verdict": "passed", "gates": [], "run": {}, "suites": {**suites, **changes}}


def comparison(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    return compared(before, after, ("before", "after"), declaration_of)


def written(directory: Path, content: object) -> str:
    directory.mkdir(exist_ok=True)
    (directory / "report.json").write_text(json.dumps(content), "utf-8")
    return str(directory)


def test_equal_reports_say_so() -> None:
    found = comparison(report(), report())
    assert (found.change, found.headline) == ("same", "no change")
    assert not any(one.reasons for one in found.suites)


def test_a_fall_beyond_chance_is_worse_and_a_small_one_is_not() -> None:
    for lost, change in ((8, "worse"), (3, "changed")):
        cases = [query(n, None if n < lost else 1) for n in range(40)]
        share = 1 - lost / 40
        after = report(**{GOLDEN: suite("retrieval", cases, recall_at={"5": share}, mrr=share)})
        found = comparison(report(), after).suites[0]
        (recall, rank) = found.tests
        assert (recall.name, rank.name) == ("recall_at_5", "mrr")
        assert recall.p == pytest.approx(binomtest(lost, lost, 0.5, alternative="greater").pvalue)
        assert (recall.fell, recall.rose, recall.cases, recall.after) == (lost, 0, 40, share)
        assert found.change == change
        assert [one.id for one in found.lost] == [f"q{n}" for n in range(lost)]
        assert not found.new_failures
        back = comparison(after, report()).suites[0]
        assert back.change == ("better" if change == "worse" else "changed")
        assert [one.id for one in back.won] == [f"q{n}" for n in range(lost)]


def test_several_runs_of_a_case_are_compared_by_their_means() -> None:
    asked = query(0, 1) | {"runs": [query(0, rank) for rank in (1, None)]}
    after = report(**{GOLDEN: suite("retrieval", [asked, *(query(n, 1) for n in range(1, 40))])})
    recall = comparison(report(), after).suites[0].tests[0]
    assert recall.after == pytest.approx(39.5 / 40)


def test_malicious_and_benign_entries_are_tested_apart() -> None:
    cases = [entry(n, "benign", n >= 9) for n in range(20)] + [entry(n, "malicious", True) for n in range(20)]
    found = comparison(report(), report(**{CORPUS: suite("security", cases)})).suites[1]
    (test,) = found.tests
    assert test.name == "heuristics benign entries not flagged"
    assert (test.cases, test.fell, found.change) == (20, 9, "worse")


@pytest.mark.parametrize("outcome", ["failed", "error", "inconclusive", None])
def test_one_new_failure_is_worse(outcome: str | None) -> None:
    cases = [call("one")] if outcome is None else [call("one"), call("two", outcome)]
    after = report(**{CALLS: suite("scenario", cases, summary={"passRate": 50.0})})
    after["suites"][CALLS]["missing"] = ["two"] if outcome is None else []
    found = comparison(report(), after)
    (suite_found,) = [one for one in found.suites if one.change != "same"]
    assert found.headline == f"worse: {CALLS}: 1 new failure: two"
    assert [one.after for one in suite_found.new_failures] == [outcome or "missing"]
    assert comparison(after, report()).change == "better"


def test_a_gate_that_fails_is_named_first() -> None:
    before, after = report(), report()
    gate = {"suite": GOLDEN, "name": "recall_at_5", "verdict": "passed", "message": "as in the baseline"}
    before["gates"] = [gate]
    after["gates"] = [gate | {"verdict": "failed", "message": "0.58, wanted 0.6"}]
    after["suites"][CALLS]["cases"][0]["outcome"] = "failed"
    headline = comparison(before, after).headline
    assert headline == f"worse: {GOLDEN}: gate recall_at_5 failed: 0.58, wanted 0.6; and 1 other suite"


def test_a_suite_that_is_gone_is_worse_and_cases_that_are_gone_are_named() -> None:
    after = report()
    del after["suites"][CORPUS]
    after["suites"][CALLS] |= {"digest": "sha256:2", "cases": [call("one"), call("three")]}
    found = comparison(report(), after)
    assert found.headline == f"worse: {CORPUS} is in the first report only"
    calls = found.suites[-1]
    assert (calls.added, calls.removed, calls.data_changed) == (["three"], ["two"], True)
    assert calls.change == "changed"
    assert comparison(after, report()).change == "changed"


def test_answers_that_changed_are_named() -> None:
    before, after = report(), report()
    for one, text in ((before, "old"), (after, "new")):
        one["run"] = {"suites": {CALLS: {"cases": {"two": {"answers": [{"text": text, "latencyMs": 1.0}]}}}}}
    assert comparison(before, after).suites[-1].changed_answers == ["two"]
    before["run"]["suites"][CALLS]["cases"]["two"]["answers"] = [{"text": "new", "latencyMs": 9.0}]
    assert comparison(before, after).change == "same"


def test_numbers_have_the_names_they_have_in_the_report() -> None:
    metrics = {"a": {"5": 0.5}, "flag": True, "list": [{"detector": "x", "fpr": 0.1}, 3], "text": "y"}
    assert dict(numbers(metrics)) == {"a.5": 0.5, "list.x.fpr": 0.1}


def test_figures_know_which_way_is_better() -> None:
    metrics = {"per_detector": [{"detector": "heuristics", "fpr": 0.2, "recall": 1.0}]}
    after = report(**{CORPUS: suite("security", [], **metrics)})
    figures = {one.name: one for one in comparison(report(), after).suites[1].figures}
    assert figures["per_detector.heuristics.fpr"].change == "worse"
    assert figures["per_detector.heuristics.recall"].change == "same"


def test_a_kind_of_a_third_party_is_compared_by_its_outcomes_and_numbers() -> None:
    before = report(**{CALLS: suite("mine", [call("one")], speed=1.0)})
    after = report(**{CALLS: suite("mine", [call("one", "failed")], speed=2.0)})
    found = comparison(before, after).suites[-1]
    assert found.change == "worse"
    assert [(one.name, one.better) for one in found.figures] == [("speed", None)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "holds no report.json: run pytest --mcpeval --mcpeval-report=DIR, and name DIR"),
        ([], "is not a report of pytest --mcpeval"),
        ({"version": 9, "verdict": "passed", "suites": {}}, "is of version 9, and this reads version 1"),
        ({"version": 1, "verdict": "passed", "suites": {"a": {}}, "gates": []}, "a report is damaged"),
    ],
)
def test_what_is_no_report_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, words: str
) -> None:
    one = written(tmp_path / "one", content)
    if content is None:
        (tmp_path / "one" / "report.json").unlink()
    assert main(["compare", one, one]) == 2
    assert words in capsys.readouterr().err


def test_hostile_texts_stay_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    after = report()
    after["suites"][CALLS]["cases"][0] |= {
        "outcome": "failed",
        "message": "<script>alert(1)</script>\x1b[31m",
    }
    paths = written(tmp_path / "a", report()), written(tmp_path / "b", after)
    for form in ("text", "markdown", "html"):
        assert main(["compare", *paths, "--format", form]) == 1
        shown = capsys.readouterr().out
        assert "\x1b" not in shown
        assert "alert(1)" in shown.replace("\\", "")
        assert form == "text" or "<script>" not in shown.replace("\\<script>", "")


def test_a_run_that_got_worse_is_compared_as_its_user_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.at(tmp_path)
    project.suite("calls.yaml", case("steady"), case("breaks"), failing("known"))
    assert project.run("--mcpeval-report=first").status == 1
    project.suite("calls.yaml", case("steady"), failing("breaks"), case("known"))
    assert project.run("--mcpeval-report=second").status == 1
    paths = str(tmp_path / "first"), str(tmp_path / "second")
    assert main(["compare", *paths]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"new failures \(1\):\n    breaks: passed → failed: \S", shown), shown
    assert re.search(r"won \(1\):\n    known: failed → passed", shown), shown
    assert "the data file changed" in shown
    assert shown.splitlines()[-1] == "compare: worse: datasets/calls.yaml: 1 new failure: breaks"
    assert main(["compare", paths[0], paths[0]]) == 0
    assert capsys.readouterr().out == "no change in 1 of 1 suites\ncompare: no change\n"
    assert main(["compare", *paths, "--format", "json", "--output", str(tmp_path / "c.json")]) == 1
    found = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert found["change"] == "worse"
    assert [one["id"] for one in found["suites"]["datasets/calls.yaml"]["newFailures"]] == ["breaks"]
