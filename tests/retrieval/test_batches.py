"""Several queries in one item: what a person sees, and that every number stays one of single queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import Case
from pytest_mcpeval.core.case import CaseMarks, batches
from pytest_mcpeval.core.sample_store import Selection
from tests.retrieval.golden import GoldenProject, gates, golden_in, outcomes, query
from tests.support import Project, Run

GOLDEN = "datasets/golden_v1.json"
FLOOR: dict[str, Any] = {"baseline": None, "gates": {"floors": {"recall_at_5": 0.1}}}


def case(case_id: str, **fields: object) -> Case[None]:
    return Case(case_id, 1, (), lambda: None, **fields)  # type: ignore[arg-type]


def names_of(*cases: Case[None], size: int) -> list[str]:
    return [batch.name for batch in batches(cases, size)]


def test_neighbours_go_together_and_the_rest_stays() -> None:
    cases = [case(name) for name in "abcde"]
    assert names_of(*cases, size=1) == list("abcde")
    assert names_of(*cases, size=2) == ["a-to-b", "c-to-d", "e"]
    assert names_of(*cases, size=9) == ["a-to-e"]
    assert [batch.ids for batch in batches(cases, 3)] == [["a", "b", "c"], ["d", "e"]]


def test_a_case_with_marks_or_fixtures_of_its_own_stays_alone() -> None:
    skipped = case("c", marks=CaseMarks(skip="why"))
    needy = case("e", fixtures=("one",))
    assert names_of(case("a"), case("b"), skipped, case("d"), needy, size=9) == ["a-to-b", "c", "d", "e"]


def test_names_of_batches_are_ids_and_unlike_any_other() -> None:
    long = [case(f"{letter * 78}.{letter}") for letter in "abcd"]
    long_names = names_of(*long, size=2)
    assert [len(name) for name in long_names] == [70, 70]
    assert names_of(case("a"), case("b"), case("a-to-b"), size=2) == ["a-to-b-2", "a-to-b"]
    alike = [case(f"{'x' * 40}{n}{'y' * 39}") for n in range(4)]
    assert len(set(names_of(*alike, size=2))) == 2


STOPPING = """
import pytest
from pytest_mcpeval.kinds.retrieval.kind import RetrievalKind


@pytest.fixture(autouse=True)
def stop(monkeypatch):
    real = RetrievalKind.ask

    def stopping(self, suite, case, runtime):
        if case.id == "q2":
            pytest.skip("no licence")
        return real(self, suite, case, runtime)

    monkeypatch.setattr(RetrievalKind, "ask", stopping)
"""


HARMING = """
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    yield
    if item.name == "q0-to-q1":
        raise RuntimeError("a limit of this machine was exceeded")
"""


@pytest.fixture(scope="module")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> GoldenProject:
    """A golden set whose every query finds its tool at rank 1, blessed so."""
    made = GoldenProject.at(tmp_path_factory.mktemp("blessed"))
    made.bless()
    return made


MODES = [["-p", "no:xdist"], ["-n2"]]


@pytest.fixture(scope="module")
def modes(tmp_path_factory: pytest.TempPathFactory, blessed: GoldenProject) -> Mapping[str, Run]:
    """The same rankings query by query and in batches, a batch that fails, and one that is ended early."""
    project = Project.at(tmp_path_factory.mktemp("modes"))
    for name, settings in {"single": {}, "batched": {"batch": 5}}.items():
        made = GoldenProject.within(project, name, concurrency=3, **settings).held_to(blessed)
        made.ranking({1: 4, 2: None, 7: None})
    failing = GoldenProject.within(project, "failing", **FLOOR, batch=6)
    failing.golden([query(0, must_hit=1), *(query(n) for n in range(1, 6))])
    failing.ranking({0: 2, 3: None, 4: "raise"})
    ended = GoldenProject.within(project, "ended", **FLOOR, batch=4)
    ended.golden([query(n) for n in range(4)])
    project.write("datasets/ended/conftest.py", STOPPING)
    harmed = GoldenProject.within(project, "harmed", **FLOOR, batch=2)
    harmed.golden([query(n) for n in range(4)])
    project.write("datasets/harmed/conftest.py", HARMING)
    made_runs = {}
    for number, mode in enumerate(MODES):
        place = project.path / str(number)
        files = ("--junitxml", f"{place}/junit.xml", "--html", f"{place}/report.html")
        arguments = (*mode, *files, "-v", "--mcpeval-report", f"{place}/report")
        done = project.run("datasets", *arguments, columns=120)
        made_runs[" ".join(mode)] = Run(place, done.status, done.out, done.err)
    return made_runs


def measured(run: Run, folder: str) -> tuple[Any, Any]:
    """The measurements and gates of a golden set, without its name."""
    golden = golden_in(folder)
    text = json.dumps([run.report()["suites"][golden], gates(run, golden)])
    suite, judged = json.loads(text.replace(golden, "golden"))
    items = {case["id"]: case.pop("item") for case in suite["cases"] if "item" in case}
    assert items.get("q4") == ("q0-to-q4" if folder == "batched" else None)
    return suite, judged


@pytest.mark.parametrize("mode", [" ".join(mode) for mode in MODES])
def test_reports_and_gates_are_those_of_single_queries(modes: Mapping[str, Run], mode: str) -> None:
    run, batched = modes[mode], golden_in("batched")
    assert run.status == 1
    assert measured(run, "batched") == measured(run, "single")
    assert measured(run, "single") == measured(modes["-p no:xdist"], "single")
    assert run.line_with(f"{batched}::q0-to-q4", "MISSED")
    assert run.line_with(f"{batched}::q10-to-q11", "PASSED")
    assert "lost 2: q2, q7" in gates(run, batched)["max_lost"]["message"]
    assert "lost 2: q2, q7" in " ".join(run.out.split())
    rows = {(row.get("classname"), row.get("name")): row for row in run.junit_cases()}
    skipped = rows["datasets.batched.golden_v1.json", "q0-to-q4"].find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "wrong, left to the gates: 1 of 5 cases MISSED: q2"
    html = dict(run.html_rows())
    assert f"{batched}::q5-to-q9" in {node.removesuffix("::call") for node in html}


def test_every_missed_query_of_a_batch_is_counted(modes: Mapping[str, Run]) -> None:
    # Of each of the two golden sets q2 and q7; and q3 of the one that fails is in an item that fails.
    assert "4 missed" in modes["-p no:xdist"].last_line


def test_baselines_are_those_of_single_queries(tmp_path: Path, blessed: GoldenProject) -> None:
    made = GoldenProject.at(tmp_path, batch=5)
    made.bless()
    assert made.baseline.read_bytes() == blessed.baseline.read_bytes()


@pytest.mark.parametrize("mode", [" ".join(mode) for mode in MODES])
def test_a_failed_item_names_every_query_and_shows_its_list(modes: Mapping[str, Run], mode: str) -> None:
    run, failing = modes[mode], golden_in("failing")
    assert f"FAILED {failing}::q0-to-q5 - 2 of 6 cases FAILED: q0, q4; 1 MISSED: q3" in run.out
    assert "── q0 (FAILED)" in run.out
    assert "── q3 (MISSED)" in run.out
    assert "the index is gone" in run.out
    assert run.line_with("2  numbers:one").endswith("relevant (2)")
    suite = run.report()["suites"][failing]
    assert (suite["expected"], suite["measured"]) == (6, 6)
    assert {name: outcome for name, outcome in outcomes(run, failing).items() if outcome != "passed"} == {
        "q0": "failed",
        "q3": "tolerated",
        "q4": "failed",
    }


@pytest.mark.parametrize("mode", [" ".join(mode) for mode in MODES])
def test_what_ends_an_item_early_leaves_the_queries_before(modes: Mapping[str, Run], mode: str) -> None:
    found = outcomes(modes[mode], golden_in("ended"))
    # What is asked must not set its own cases aside.
    assert found == {"q0": "passed", "q1": "passed", "q2": "error", "q3": "error"}
    assert "raised Skipped while it was asked: no licence" in modes[mode].out


@pytest.mark.parametrize("mode", [" ".join(mode) for mode in MODES])
def test_no_query_of_a_batch_passes_that_was_judged_whole_and_then_harmed(
    modes: Mapping[str, Run], mode: str
) -> None:
    found = outcomes(modes[mode], golden_in("harmed"))
    assert found == {"q0": "error", "q1": "error", "q2": "passed", "q3": "passed"}
    gate = gates(modes[mode], golden_in("harmed"))["recall_at_5_floor"]
    assert gate["verdict"] == "failed"
    assert gate["message"].startswith("2 of 4 cases in error: q0, q1; ")


def test_a_killed_worker_loses_its_query_or_batch_and_the_gates_name_it(
    tmp_path: Path, blessed: GoldenProject
) -> None:
    project = Project.at(tmp_path)
    single = GoldenProject.within(project, "single").held_to(blessed)
    batched = GoldenProject.within(project, "batched", batch=2).held_to(blessed)
    for made in (single, batched):
        made.ranking({5: "die"})
    run = project.run("datasets", "-v", "-n2", "--mcpeval-report", "report", columns=120)
    assert run.status == 1
    lost = gates(run, golden_in("single"))["recall_at_5"]
    assert lost["verdict"] == "failed"
    assert lost["message"].startswith("1 of 12 cases missing: q5")
    assert "lost 1: q5" in lost["message"]
    lost = gates(run, golden_in("batched"))["recall_at_5"]
    assert lost["verdict"] == "failed"
    assert lost["message"].startswith("2 of 12 cases missing: q4, q5")
    suites = run.report()["suites"]
    assert (suites[golden_in("single")]["measured"], suites[golden_in("batched")]["measured"]) == (11, 10)
    # What is shown is what the gates judge: nobody knows what the query would have found.
    metrics = suites[golden_in("single")]["metrics"]
    assert (metrics["queries"], metrics["missing"]) == (12, ["q5"])
    assert metrics["recall_at"]["5"] == pytest.approx(11 / 12)
    assert "missing, counted as 0" in run.out


def test_workers_that_die_before_any_report_lose_every_query_of_their_batches(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **FLOOR, batch=5)
    made.project.write("datasets/search.py", "import os, signal\n\nos.kill(os.getpid(), signal.SIGKILL)\n")
    run = made.run("-n2", "--mcpeval-report", "report")
    assert run.status == 1
    suite = run.report()["suites"][GOLDEN]
    assert (suite["expected"], suite["measured"]) == (12, 0)
    assert suite["missing"] == [f"q{number}" for number in range(12)]


def test_the_cases_of_items_are_known_by_their_node_ids() -> None:
    selection = Selection(
        "s.json", "k", None, "", "abcd", "abcd", {"a-to-b": ["a", "b"], "c-to-d": ["c", "d"]}
    )
    assert selection.cases_of({"s.json::c-to-d", "other.json::a-to-b"}) == ["c", "d"]
    assert Selection("s.json", "k", None, "", "ab", "ab").cases_of({"s.json::b"}) == ["b"]


def test_k_finds_the_batch_of_a_query_and_tags_cut_it_down(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **FLOOR, batch=4)
    made.golden([query(n, **({"notes": "hard-negative: x"} if n in (1, 5) else {})) for n in range(12)])
    named = made.run("-k", "q6", "--mcpeval-report", "report")
    assert "1 passed" in named.last_line
    assert [c["id"] for c in named.report()["suites"][GOLDEN]["cases"]] == ["q4", "q5", "q6", "q7"]
    assert set(named.gates().values()) == {"not_evaluated"}
    tagged = made.run("--mcpeval-tag", "hard-negative", "--mcpeval-report", "report")
    assert [c["id"] for c in tagged.report()["suites"][GOLDEN]["cases"]] == ["q1", "q5"]
    assert "2 of 12 cases selected" in tagged.out
