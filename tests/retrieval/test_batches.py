"""Several queries in one item: what a person sees, and that every number stays one of single queries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mcpeval.kinds.base import Case, CaseMarks
from pytest_mcpeval.kinds.cases import batches
from pytest_mcpeval.ledger import Selection
from tests.retrieval.golden import GoldenProject, query
from tests.support import Run

GOLDEN = "datasets/golden_v1.json"
FLOOR = {"baseline": None, "gates": {"floors": {"recall_at_5": 0.1}}}


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


@dataclass(frozen=True)
class Pair:
    """The same rankings, query by query and in batches."""

    single: Run
    batched: Run


def pair(made: GoldenProject, *arguments: str, size: int = 5, **settings: object) -> Pair:
    made.settings(**settings)
    single = made.run("--mcpeval-report", "single", *arguments)
    made.settings(**settings, batch=size)
    return Pair(single, made.run("--mcpeval-report", "batched", *arguments))


def without_run(run: Run, directory: str) -> object:
    return {name: value for name, value in run.report(directory).items() if name != "run"}


@pytest.mark.parametrize("mode", [["-p", "no:xdist"], ["-n2"]], ids=" ".join)
def test_reports_and_gates_are_those_of_single_queries(tmp_path: Path, mode: list[str]) -> None:
    made = GoldenProject.at(tmp_path)
    made.bless()
    before = made.baseline.read_bytes()
    made.ranking({1: 4, 2: None, 7: None})
    files = ["--junitxml", "junit.xml", "--html", "report.html"]
    found = pair(made, *mode, *files, "-v", concurrency=3)
    assert found.batched.status == found.single.status == 1
    assert without_run(found.batched, "batched") == without_run(found.single, "single")
    out = found.batched.out
    assert found.batched.line_with("::q0-to-q4", "MISSED")
    assert found.batched.line_with("::q10-to-q11", "PASSED")
    assert "2 missed" in found.batched.last_line
    assert "lost 2: q2, q7" in " ".join(out.split())
    skipped = found.batched.junit()["q0-to-q4"].find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "tolerated: 1 of 5 cases MISSED: q2"
    rows = dict(found.batched.html_rows())
    assert f"{GOLDEN}::q5-to-q9" in {node.removesuffix("::call") for node in rows}
    made.ranking({})
    made.bless()
    assert made.baseline.read_bytes() == before


def test_a_failed_item_names_every_query_and_shows_its_list(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **FLOOR, batch=6)
    made.golden([query(0, must_hit=1), *(query(n) for n in range(1, 6))])
    made.ranking({0: 2, 3: None, 4: "raise"})
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert f"FAILED {GOLDEN}::q0-to-q5 - 2 of 6 cases FAILED: q0, q4; 1 MISSED: q3" in run.out
    assert "── q0 (FAILED)" in run.out
    assert "── q3 (MISSED)" in run.out
    assert "the index is gone" in run.out
    assert run.line_with("2  numbers:one").endswith("relevant (2)")
    suite = run.report()["suites"][GOLDEN]
    assert (suite["expected"], suite["measured"]) == (6, 6)
    assert {c["id"]: c["outcome"] for c in suite["cases"] if c["outcome"] != "passed"} == {
        "q0": "failed",
        "q3": "tolerated",
        "q4": "failed",
    }


def test_a_killed_worker_loses_the_batch_and_the_gates_name_it(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path)
    made.bless()
    made.settings(batch=4)
    made.ranking({5: "die"})
    run = made.run("-n2", "--mcpeval-report", "report")
    assert run.status == 1
    gates = {gate["name"]: gate for gate in run.report()["gates"]}
    assert gates["recall_at_5"]["verdict"] == "failed"
    assert gates["recall_at_5"]["message"].startswith("4 of 12 cases missing: q4, q5, q6, q7")
    assert run.report()["suites"][GOLDEN]["measured"] == 8


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


def test_what_ends_an_item_early_leaves_the_queries_before(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **FLOOR, batch=4)
    made.project.write(
        "datasets/conftest.py",
        "import pytest\nfrom pytest_mcpeval.kinds.retrieval.kind import RetrievalKind\n\n"
        "@pytest.fixture(autouse=True)\n"
        "def stop(monkeypatch):\n"
        "    real = RetrievalKind.ask\n"
        "    def stopping(self, suite, case, runtime):\n"
        "        if case.id == 'q2':\n            pytest.skip('no licence')\n"
        "        return real(self, suite, case, runtime)\n"
        "    monkeypatch.setattr(RetrievalKind, 'ask', stopping)\n",
    )
    made.golden([query(n) for n in range(4)])
    run = made.run("--mcpeval-report", "report")
    cases = {c["id"]: c["outcome"] for c in run.report()["suites"][GOLDEN]["cases"]}
    # What is asked must not set its own cases aside.
    assert cases == {"q0": "passed", "q1": "passed", "q2": "error", "q3": "error"}, run.out
    assert "raised Skipped while it was asked: no licence" in run.out
