"""Golden sets run through pytest: what becomes of each query, and which gates notice.

Most golden sets are run together: those that pass in one run (`passing`), those that fail in another
(`failing`), and those whose rankings are compared with a baseline in every mode (`modes`). Each has a folder
of its own, with settings and a search.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.retrieval.golden import QUERIES, GoldenProject, gates, golden_in, outcomes, query, rank, tool
from tests.support import Project, Run

GOLDEN = "datasets/golden_v1.json"
MODES = [["-p", "no:xdist"], ["-n0"], ["-n2"]]
NO_BASELINE: dict[str, Any] = {"baseline": None, "gates": {"floors": {"recall_at_5": 0.1}}}

FLAT = {
    "recall_at": {"1": 1.0, "5": 1.0},
    "mrr": 1.0,
    "ndcg_at_10": 1.0,
    "map": 1.0,
    "tolerance": {"recall_at_5": 0.1, "fpr": 0.1},
    "security": {"per_detector": []},
}
"""A baseline of another make."""

LISTED = [
    {"tool_id": tool("one"), "relevance": 2},
    {"tool_id": tool("two"), "relevance": 0},
    {"tool_id": tool("twelve"), "relevance": 1},
]

FIXTURE = """
import pytest


@pytest.fixture
def my_search():
    from search_fixture import search

    return lambda query, k: search(query, k)[::-1]
"""

MEETING = """
import threading

barrier = threading.Barrier(4)


def search(query, k):
    barrier.wait(60)
    return ["numbers:one"]
"""


def judged(project: Project, name: str, **settings: Any) -> GoldenProject:
    """A golden set whose lists are looked at closely."""
    made = GoldenProject.within(project, name, strict=True, expect=2, **settings)
    made.golden([{"id": "q0", "query": "goal 0", "labels": LISTED, "notes": "hard-negative: looks alike"}])
    return made


@pytest.fixture(scope="module")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, GoldenProject]:
    """Golden sets of one project that were blessed, all with one command."""
    project = Project.at(tmp_path_factory.mktemp("blessed"))
    three = GoldenProject.within(project, "three")
    three.golden([query(0), query(1, notes="hard-negative: looks alike"), query(2)])
    mixed = GoldenProject.within(project, "mixed")
    mixed.ranking({1: 4, 2: None})
    made = {
        "plain": GoldenProject.within(project, "plain"),
        "listed": judged(project, "listed"),
        "three": three,
        "mixed": mixed,
    }
    done = project.run("--mcpeval-bless", *map(golden_in, made))
    assert done.status == 0, done.out
    return made


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory, blessed: Mapping[str, GoldenProject]) -> Run:
    """Golden sets that pass, run together."""
    project = Project.at(tmp_path_factory.mktemp("passing"))
    GoldenProject.within(project, "hits", **NO_BASELINE).ranking({0: 10, 1: None})
    GoldenProject.within(project, "expect", **NO_BASELINE, expect=3).ranking({0: 3, 1: 4})

    GoldenProject.within(project, "same").held_to(blessed["plain"])
    pinned = GoldenProject.within(project, "layout").held_to(blessed["plain"])
    rows = [query(n, **({"must_hit": 5} if n == 3 else {})) for n in range(QUERIES)]
    pinned.golden(rows, __by="me", description="x")

    GoldenProject.within(project, "flat")
    project.write_json("datasets/flat/baseline_v1.json", FLAT)

    settings: dict[str, Any] = {"baseline": None, "gates": {"floors": {"recall_at_10": 1}}, "concurrency": 4}
    GoldenProject.within(project, "fixture", **settings, retriever={"fixture": "my_search"})
    project.write("datasets/fixture/conftest.py", FIXTURE)
    project.write("pytest.ini", "[pytest]\npythonpath = datasets/fixture\n")

    settings = {"baseline": None, "gates": {"floors": {"recall_at_5": 0.1}}, "concurrency": 4}
    ahead = GoldenProject.within(project, "ahead", **settings)
    project.write(f"{ahead.folder}/{ahead.module}.py", MEETING)
    ahead.golden([query(number) for number in range(4)])
    arguments = ("-v", "--mcpeval-report", "report", "--junitxml", "junit.xml")
    return project.run("datasets", *arguments, columns=120)


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory, blessed: Mapping[str, GoldenProject]) -> Run:
    """Golden sets that fail for different reasons, run together; and one that does not."""
    project = Project.at(tmp_path_factory.mktemp("failing"))
    GoldenProject.within(project, "strict", **NO_BASELINE, strict=True).ranking({1: None})
    judged(project, "listed").held_to(blessed["listed"]).ranking({0: 3})

    pinned = GoldenProject.within(project, "pinned", **NO_BASELINE)
    pinned.golden([query(0, must_hit=2), query(1)])
    pinned.ranking({0: 3})

    GoldenProject.within(project, "raising", **NO_BASELINE).ranking({2: "raise"})
    odd = GoldenProject.within(project, "odd", **NO_BASELINE, strict=True, expect=2)
    odd.ranking({0: [tool("two"), tool("two"), "other:tool", tool("one")]})

    GoldenProject.within(project, "unblessed")

    other = GoldenProject.within(project, "golden").held_to(blessed["plain"])
    other.golden([query(0, query="another goal"), *(query(n) for n in range(1, QUERIES))])
    path = project.path / "datasets/golden/ranking.txt"
    path.write_text(json.dumps({**json.loads(path.read_text()), "another goal": rank(0, 1)}))
    GoldenProject.within(project, "corpus").held_to(blessed["plain"])
    path = project.path / "datasets/corpus/tools_v1.json"
    path.write_text(path.read_text().replace("The number one.", "The first number."))
    GoldenProject.within(project, "metrics", depth=20).held_to(blessed["plain"])

    GoldenProject.within(project, "flat").ranking({1: None, 2: None})
    project.write_json("datasets/flat/baseline_v1.json", FLAT)
    return project.run("datasets", "--mcpeval-report", "report", columns=120)


@pytest.fixture(scope="module")
def modes(
    tmp_path_factory: pytest.TempPathFactory, blessed: Mapping[str, GoldenProject]
) -> Mapping[str, Run]:
    """Golden sets that are held to a baseline, in every mode."""
    path = tmp_path_factory.mktemp("modes")
    project = Project.at(path)
    GoldenProject.within(project, "same").held_to(blessed["plain"])
    lost = dict.fromkeys((3, 4, 5, 6, 7), None)
    GoldenProject.within(project, "degraded").held_to(blessed["plain"]).ranking(lost)
    GoldenProject.within(project, "mixed").held_to(blessed["plain"]).ranking({1: 4, 2: None})
    made = {}
    for number, mode in enumerate(MODES):
        place = project.path / str(number)
        files = ("--junitxml", f"{place}/junit.xml", "--html", f"{place}/report.html")
        done = project.run("datasets", *mode, "--mcpeval-report", f"{place}/report", *files, columns=120)
        made[" ".join(mode)] = Run(place, done.status, done.out, done.err)
    return made


def test_exit_codes_and_verdicts_are_those_of_all_golden_sets(passing: Run, failing: Run) -> None:
    assert passing.status == 0, passing.out
    assert passing.report()["verdict"] == "passed"
    assert "5 missed" in passing.last_line
    assert failing.status == 1
    assert failing.report()["verdict"] == "error"


# Each of them


def test_hits_pass_and_misses_are_tolerated(passing: Run) -> None:
    hits = golden_in("hits")
    assert "PASSED" in passing.line_with(f"{hits}::q0 ")
    assert "MISSED" in passing.line_with(f"{hits}::q1 ")
    expected = {f"q{n}": "tolerated" if n == 1 else "passed" for n in range(QUERIES)}
    assert outcomes(passing, hits) == expected
    rows = {(row.get("classname"), row.get("name")): row for row in passing.junit_cases()}
    assert rows["datasets.hits.golden_v1.json", "q1"].find("skipped") is not None


def test_expect_is_the_rank_that_counts(passing: Run) -> None:
    found = outcomes(passing, golden_in("expect"))
    assert {n: o for n, o in found.items() if o != "passed"} == {"q1": "tolerated"}


def test_strict_turns_a_miss_into_a_failure(failing: Run) -> None:
    assert f"FAILED {golden_in('strict')}::q1" in failing.out
    assert outcomes(failing, golden_in("strict"))["q1"] == "failed"
    assert "no relevant tool among the 10 returned, wanted within 10" in failing.out


def test_a_failure_shows_the_ranked_list_with_labels_and_the_old_rank(failing: Run) -> None:
    (section,) = (
        part for part in failing.out.split("\n____") if "rank 1 in the baseline, rank 3 now" in part
    )
    run = Run(failing.path, failing.status, section, "")
    assert "first relevant tool: rank 1 in the baseline, rank 3 now" in run.out
    assert run.line_with("3  numbers:one").endswith("relevant (2)")
    assert run.line_with("1  numbers:two").endswith("judged irrelevant")
    assert run.line_with("not returned: numbers:twelve").endswith("relevant (1)")
    assert "notes: hard-negative: looks alike" in run.out
    assert '"id": "q0"' in run.out


def test_a_pinned_query_that_is_lost_fails_and_trips_its_gate(failing: Run) -> None:
    pinned = golden_in("pinned")
    assert outcomes(failing, pinned)["q0"] == "failed"
    assert gates(failing, pinned)["pinned"]["verdict"] == "failed"
    assert "1 of 1 pinned queries lost: q0 (rank 3, wanted within 2)" in failing.out


def test_a_search_that_raises_fails_its_query_and_counts_as_nothing_found(failing: Run) -> None:
    raising = golden_in("raising")
    assert outcomes(failing, raising)["q2"] == "failed"
    assert "the index is gone" in failing.out
    assert failing.report()["suites"][raising]["metrics"]["hit_at"]["10"] == pytest.approx(11 / 12)


def test_another_search_than_the_configured_one_is_never_blessed(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path)
    run = made.run("--mcpeval-bless", "--mcpeval-retriever", "bm25")
    assert run.status == 4
    assert "would commit the numbers of another search" in run.err
    assert not list(tmp_path.rglob("baseline*"))


def test_odd_lists_are_measured_and_told(failing: Run) -> None:
    (case,) = (c for c in failing.report()["suites"][golden_in("odd")]["cases"] if c["id"] == "q0")
    assert case["measured"]["rank"] == 3
    assert "note: named more than once, where the first place counts: numbers:two" in failing.out
    assert "note: not in the corpus, but keeps its place: other:tool" in failing.out


@pytest.mark.parametrize("mode", [" ".join(mode) for mode in MODES])
def test_degraded_search_fails_and_names_metric_gate_and_queries(modes: Mapping[str, Run], mode: str) -> None:
    run, degraded = modes[mode], golden_in("degraded")
    assert run.status == 1
    same = {name: gate["verdict"] for name, gate in gates(run, golden_in("same")).items()}
    assert same == {
        "recall_at_5": "passed",
        "recall_at_5_sign_flip": "passed",
        "max_lost": "passed",
        "pinned": "not_set",
    }
    assert {name: gate["verdict"] for name, gate in gates(run, degraded).items()} == {
        "recall_at_5": "failed",
        "recall_at_5_sign_flip": "failed",
        "max_lost": "passed",
        "pinned": "not_set",
    }
    # Five of twelve lost and none won: p = 1/32.
    text = " ".join(run.out.split())
    assert f"FAILED {degraded}::gates::recall_at_5" in text
    assert "recall_at_5 0.5833, 0.4167 below the baseline's 1; tolerance 0.05 = 0.6 of 12 queries" in text
    assert "lost 5: q3, q4, q5, q6, q7; won 0; tied 7" in text
    assert "a fall this large happens by chance in 3.1 of 100 runs" in text
    rows = {(row.get("classname"), row.get("name")): row for row in run.junit_cases()}
    for folder, has_failed in {"degraded": True, "same": False}.items():
        row = rows[f"datasets.{folder}.golden_v1.json.gates", "recall_at_5"]
        assert (row.find("failure") is not None) == has_failed
    assert any(node.endswith(f"{degraded}::gates::recall_at_5_sign_flip") for node, _ in run.html_rows())
    delta = run.report()["suites"][degraded]["baseline_delta"]
    assert delta["metrics"]["recall_at_5"] == pytest.approx(-5 / 12)
    assert delta["queries"]["lost"] == ["q3", "q4", "q5", "q6", "q7"]


def test_reports_are_the_same_serially_and_distributed(modes: Mapping[str, Run]) -> None:
    reports = []
    for run in modes.values():
        found = run.report()
        timed = found.pop("run")["suites"][golden_in("mixed")]["cases"]
        assert timed.keys() == {f"q{n}" for n in range(QUERIES)}
        reports.append(json.dumps(found))
    assert reports[0] == reports[1] == reports[2]


def test_without_a_baseline_the_run_fails_with_the_command_that_writes_it(failing: Run) -> None:
    unblessed = golden_in("unblessed")
    assert gates(failing, unblessed)["baseline"]["verdict"] == "failed"
    assert f"pytest --mcpeval --mcpeval-bless {unblessed}" in " ".join(failing.out.split())


@pytest.mark.parametrize(
    ("folder", "change"),
    [("golden", "golden set"), ("corpus", "corpus"), ("metrics", "metric definitions")],
)
def test_a_baseline_made_from_something_else_is_an_error(failing: Run, folder: str, change: str) -> None:
    found = gates(failing, golden_in(folder))["baseline"]
    assert found["verdict"] == "error"
    assert f"was made from another {change}, so the two cannot be compared" in found["message"]
    assert f"was made from another {change}, so the two cannot be compared" in " ".join(failing.out.split())


def test_layout_provenance_and_pins_do_not_make_another_golden_set(passing: Run) -> None:
    verdicts = {gate["verdict"] for gate in gates(passing, golden_in("layout")).values()}
    assert verdicts == {"passed"}


def test_a_flat_baseline_is_read_and_its_missing_gates_are_named(passing: Run, failing: Run) -> None:
    flat = golden_in("flat")
    assert {name: gate["verdict"] for name, gate in gates(passing, flat).items()} == {
        "recall_at_5": "passed",
        "recall_at_5_sign_flip": "not_set",
        "max_lost": "not_set",
        "pinned": "not_set",
    }
    assert gates(failing, flat)["recall_at_5"]["verdict"] == "failed"
    delta = failing.report()["suites"][flat]["baseline_delta"]
    assert delta["metrics"]["mrr"] == pytest.approx(-2 / 12)


def test_blessing_keeps_what_a_run_does_not_make(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path)
    made.project.write_json("datasets/baseline_v1.json", {"__by": "me", **FLAT})
    assert made.run("-q", "-k", "q1").out.count("  NOT EVALUATED ") == 4
    # Without the tolerance, the gates would be others.
    blessed = made.run("--mcpeval-bless", "-q")
    assert "(12 cases; __by, tolerance, security kept)" in blessed.out
    content = json.loads(made.baseline.read_text())
    assert {key: content[key] for key in ("tolerance", "security")} == {
        key: FLAT[key] for key in ("tolerance", "security")
    }
    assert content["cases"]
    assert made.run().status == 0


def test_a_shallow_search_has_no_deep_metrics(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, depth=3)
    made.bless()
    content = json.loads(made.baseline.read_text())
    assert content["recall_at"] == {"1": 1.0, "3": 1.0, "5": None, "10": None}
    assert content["ndcg_at_10"] is None
    made.ranking(dict.fromkeys((3, 4, 5, 6, 7), None))
    run = made.run("-v", "--mcpeval-report", "report")
    assert run.status == 1
    assert run.gates() == {
        "golden_v1::recall_at_3": "failed",
        "golden_v1::recall_at_3_sign_flip": "failed",
        "golden_v1::max_lost": "passed",
        "golden_v1::pinned": "not_set",
    }
    metrics = run.report()["suites"][GOLDEN]["metrics"]
    assert metrics["hit_at"] == {"1": 7 / 12, "3": 7 / 12, "5": None, "10": None}
    assert metrics["highest_recall_at"].keys() == {"1", "3"}
    assert run.line_with("all queries").split()[2:] == [
        "12",
        "0.583",
        "0.583",
        "–",
        "–",
        "0.583",
        "–",
        "0.583",
    ]
    assert "Recall@5" not in made.run("-q").line_with("mcpeval: ")
    content["tolerance"] = {"recall_at_5": 0.1}
    made.baseline.write_text(json.dumps(content))
    assert "tolerance.recall_at_5: recall_at_5 needs more results than the `depth` of 3" in made.run().out


def test_a_search_that_skips_fails_its_query(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE, runs=2)
    made.golden([query(0), query(1)])
    made.project.write(
        "datasets/search.py",
        "import pytest\n\n\ndef search(query, k):\n    if query == 'goal 1':\n"
        "        pytest.skip('hard')\n    return ['numbers:one']\n",
    )
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert outcomes(run, GOLDEN) == {"q0": "passed", "q1": "failed"}
    assert "raised Skipped: hard" in run.out
    assert run.report()["suites"][GOLDEN]["metrics"]["recall_at"]["1"] == 0.5


def test_a_fixture_can_be_the_search(passing: Run) -> None:
    metrics = passing.report()["suites"][golden_in("fixture")]["metrics"]
    assert metrics["mrr"] == pytest.approx(0.1)


def test_concurrency_asks_ahead(passing: Run) -> None:
    found = outcomes(passing, golden_in("ahead"))
    assert found == {"q0": "passed", **dict.fromkeys(["q1", "q2", "q3"], "tolerated")}


# Runs of their own


@pytest.mark.parametrize("arguments", [["-k", "q1"], ["::q1"], ["--mcpeval-tag", "hard-negative"]])
def test_gates_of_a_filtered_run_are_not_evaluated(
    blessed: Mapping[str, GoldenProject], arguments: list[str]
) -> None:
    three = blessed["three"]
    three.ranking({1: None})
    golden = golden_in("three")
    selected = [f"{golden}{arguments[0]}"] if "::" in arguments[0] else [golden, *arguments]
    run = three.project.run(*selected, "--mcpeval-report", "report")
    assert run.status == 0, run.out
    assert outcomes(run, golden) == {"q1": "wrong"}
    assert set(run.gates().values()) == {"not_evaluated"}
    assert run.report()["verdict"] == "not_evaluated"


def test_stopped_runs_are_not_evaluated(tmp_path: Path, blessed: Mapping[str, GoldenProject]) -> None:
    made = GoldenProject.at(tmp_path, strict=True).held_to(blessed["plain"])
    made.ranking({1: None})
    run = made.run("-x", "--mcpeval-report", "report")
    assert run.status == 1
    assert set(run.gates().values()) == {"not_evaluated"}


def test_blessing_is_the_same_twice_and_refused_for_parts(blessed: Mapping[str, GoldenProject]) -> None:
    made = blessed["mixed"]
    first = made.baseline.read_bytes()
    golden = golden_in("mixed")
    assert made.project.run("--mcpeval-bless", golden).status == 0
    assert made.baseline.read_bytes() == first
    refused = made.project.run("--mcpeval-bless", golden, "-k", "q1")
    assert refused.status == 1
    assert "refused to write baseline_v1.json: the run is filtered" in refused.out
    assert made.baseline.read_bytes() == first
    content = json.loads(first)
    assert content["recall_at"]["5"] == pytest.approx(11 / 12)
    assert content["cases"]["q1"] == {"outcome": "passed", "ranks": {tool("two"): 4}}
    assert content["cases"]["q2"] == {"outcome": "failed", "ranks": {}}
    assert content["definition"]["depth"] == 10
    assert list(content["cases"]) == sorted(content["cases"])


def test_tables_show_slices_and_the_highest_recall_the_labels_allow(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE)
    both = [{"tool_id": tool(name), "relevance": 1} for name in ("one", "two")]
    made.golden([query(0, labels=both), query(1, notes="hard-negative: x"), query(2)])
    made.ranking({1: 2})
    lines = made.run("-v", columns=80).section()
    assert any(line.startswith("golden_v1.json ") for line in lines)
    figures = {line[:16].strip(): line.split()[-8:] for line in lines}
    assert figures["all queries"][:4] == ["3", "0.500", "1.000", "1.000"]
    assert figures["hard-negative"][:3] == ["1", "0.000", "1.000"]
    assert "0.833" in next(line for line in lines if "highest possible" in line)
    assert all(len(line) <= 80 for line in lines)
