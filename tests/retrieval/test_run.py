"""Golden sets run through pytest: what becomes of each query, and which gates notice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.retrieval.golden import QUERIES, GoldenProject, query, rank, tool
from tests.support import Run

GOLDEN = "datasets/golden_v1.json"
MODES = [["-p", "no:xdist"], ["-n0"], ["-n2"]]
NO_BASELINE = {"baseline": None, "gates": {"floors": {"recall_at_5": 0.1}}}


@pytest.fixture(scope="module")
def blessed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose every query finds its tool at rank 1, blessed so."""
    path = tmp_path_factory.mktemp("blessed")
    GoldenProject.at(path).bless()
    return path


@pytest.fixture
def blessed(blessed_once: Path, tmp_path: Path) -> GoldenProject:
    """A copy of it."""
    return GoldenProject.copied(blessed_once, tmp_path)


def outcomes(run: Run) -> dict[str, str]:
    """Query → outcome, from ``report.json``."""
    return {case["id"]: case["outcome"] for case in run.report()["suites"][GOLDEN]["cases"]}


def test_hits_pass_and_misses_are_tolerated(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE)
    made.ranking({0: 10, 1: None})
    run = made.run("-v", "--mcpeval-report", "report", "--junitxml", "junit.xml")
    assert run.status == 0, run.out
    assert "PASSED" in run.line_with("::q0 ")
    assert "MISSED" in run.line_with("::q1 ")
    assert "1 missed" in run.last_line
    assert outcomes(run) == {f"q{n}": "tolerated" if n == 1 else "passed" for n in range(QUERIES)}
    assert run.junit()["q1"].find("skipped") is not None


def test_expect_is_the_rank_that_counts(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE, expect=3)
    made.ranking({0: 3, 1: 4})
    run = made.run("--mcpeval-report", "report")
    assert {n: o for n, o in outcomes(run).items() if o != "passed"} == {"q1": "tolerated"}


def test_strict_turns_a_miss_into_a_failure(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE, strict=True)
    made.ranking({1: None})
    run = made.run()
    assert run.status == 1
    assert "FAILED datasets/golden_v1.json::q1" in run.out
    assert "no relevant tool among the 10 returned, wanted within 10" in run.out


def test_a_failure_shows_the_ranked_list_with_labels_and_the_old_rank(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, strict=True, expect=2)
    labels = [
        {"tool_id": tool("one"), "relevance": 2},
        {"tool_id": tool("two"), "relevance": 0},
        {"tool_id": tool("twelve"), "relevance": 1},
    ]
    made.golden([{"id": "q0", "query": "goal 0", "labels": labels, "notes": "hard-negative: looks alike"}])
    made.bless()
    made.ranking({0: 3})
    run = made.run()
    assert "first relevant tool: rank 1 in the baseline, rank 3 now" in run.out
    assert run.line_with("3  numbers:one").endswith("relevant (2)")
    assert run.line_with("1  numbers:two").endswith("judged irrelevant")
    assert run.line_with("not returned: numbers:twelve").endswith("relevant (1)")
    assert "notes: hard-negative: looks alike" in run.out
    assert '"id": "q0"' in run.out


def test_a_pinned_query_that_is_lost_fails_and_trips_its_gate(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE)
    made.golden([query(0, must_hit=2), query(1)])
    made.ranking({0: 3})
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert outcomes(run)["q0"] == "failed"
    assert run.gates()["golden_v1::pinned"] == "failed"
    assert "1 of 1 pinned queries lost: q0 (rank 3, wanted within 2)" in run.out


def test_a_search_that_raises_fails_its_query_and_counts_as_nothing_found(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE)
    made.ranking({2: "raise"})
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert outcomes(run)["q2"] == "failed"
    assert "the index is gone" in run.out
    assert run.report()["suites"][GOLDEN]["metrics"]["hit_at"]["10"] == pytest.approx(11 / 12)


def test_another_search_than_the_configured_one_is_never_blessed(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path)
    run = made.run("--mcpeval-bless", "--mcpeval-retriever", "bm25")
    assert run.status == 4
    assert "would commit the numbers of another search" in run.err
    assert not list(tmp_path.rglob("baseline*"))


def test_odd_lists_are_measured_and_told(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE, strict=True, expect=2)
    made.ranking({0: [tool("two"), tool("two"), "other:tool", tool("one")]})
    run = made.run("--mcpeval-report", "report")
    (case,) = (c for c in run.report()["suites"][GOLDEN]["cases"] if c["id"] == "q0")
    assert case["measured"]["rank"] == 3
    assert "note: named more than once, where the first place counts: numbers:two" in run.out
    assert "note: not in the corpus, but keeps its place: other:tool" in run.out


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_degraded_search_exits_1_and_names_metric_gate_and_queries(
    blessed: GoldenProject, mode: list[str]
) -> None:
    made = blessed
    assert made.run(*mode).status == 0
    made.ranking(dict.fromkeys((3, 4, 5, 6, 7), None))
    run = made.run(*mode, "--mcpeval-report", "report", "--junitxml", "junit.xml", "--html", "report.html")
    assert run.status == 1
    assert run.gates() == {
        "golden_v1::recall_at_5": "failed",
        "golden_v1::recall_at_5_sign_flip": "failed",
        "golden_v1::max_lost": "failed",
        "golden_v1::pinned": "not_set",
    }
    # Five of twelve lost and none won: p = 1/32.
    text = " ".join(run.out.split())
    assert f"FAILED {GOLDEN}::gates::recall_at_5" in text
    assert "recall_at_5 0.5833, 0.4167 below the baseline's 1; tolerance 0.05 = 0.6 of 12 queries" in text
    assert "lost 5: q3, q4, q5, q6, q7; won 0; tied 7" in text
    assert "p = 0.03125" in text
    assert run.junit()["recall_at_5"].find("failure") is not None
    assert any(node.endswith("::gates::max_lost") for node, _ in run.html_rows())
    delta = run.report()["suites"][GOLDEN]["baseline_delta"]
    assert delta["metrics"]["recall_at_5"] == pytest.approx(-5 / 12)
    assert delta["queries"]["lost"] == ["q3", "q4", "q5", "q6", "q7"]


def test_reports_are_the_same_serially_and_distributed(blessed: GoldenProject) -> None:
    made = blessed
    made.ranking({1: 4, 2: None})
    reports = []
    for mode in MODES:
        run = made.run(*mode, "--mcpeval-report", "report")
        found = run.report()
        assert found.pop("run")["suites"][GOLDEN]["cases"].keys() == {f"q{n}" for n in range(QUERIES)}
        reports.append(json.dumps(found))
    assert reports[0] == reports[1] == reports[2]


@pytest.fixture(scope="module")
def three_queries(tmp_path_factory: pytest.TempPathFactory) -> GoldenProject:
    """A project of three queries, one a hard negative, that was blessed and has lost that one since."""
    made = GoldenProject.at(tmp_path_factory.mktemp("three"))
    made.golden([query(0), query(1, notes="hard-negative: looks alike"), query(2)])
    made.bless()
    made.ranking({1: None})
    return made


@pytest.mark.parametrize("arguments", [["-k", "q1"], [f"{GOLDEN}::q1"], ["--mcpeval-tag", "hard-negative"]])
def test_gates_of_a_filtered_run_are_not_evaluated(
    three_queries: GoldenProject, arguments: list[str]
) -> None:
    targets = [] if "::" in arguments[0] else ["datasets"]
    run = three_queries.project.run(*targets, *arguments, "--mcpeval-report", "report")
    assert run.status == 0, run.out
    assert set(run.gates().values()) == {"not_evaluated"}
    assert run.report()["verdict"] == "not_evaluated"


def test_a_worker_that_is_killed_fails_the_gates_and_names_its_query(blessed: GoldenProject) -> None:
    made = blessed
    made.ranking({5: "die"})
    run = made.run("-n2", "--mcpeval-report", "report")
    assert run.status == 1
    gates = {gate["name"]: gate for gate in run.report()["gates"]}
    assert gates["recall_at_5"]["verdict"] == "failed"
    assert gates["recall_at_5"]["message"].startswith("1 of 12 cases missing: q5")
    assert "lost 1: q5" in gates["recall_at_5"]["message"]
    # What is shown is what the gates judge: nobody knows what the query would have found.
    metrics = run.report()["suites"][GOLDEN]["metrics"]
    assert (metrics["queries"], metrics["missing"]) == (12, ["q5"])
    assert metrics["recall_at"]["5"] == gates["recall_at_5"]["value"] == pytest.approx(11 / 12)
    assert run.line_with("all queries").split()[2] == "12"
    assert "golden_v1.json: missing, counted as 0" in run.out
    quiet = made.run("-n2", "-q").line_with("mcpeval: ")
    assert "over 12 queries (1 missing, counted as 0)" in quiet
    assert quiet.endswith("3 of 3 gates failed (1 not set)")


def test_stopped_runs_are_not_evaluated(blessed: GoldenProject) -> None:
    made = blessed
    made.settings(strict=True)
    made.ranking({1: None})
    run = made.run("-x", "--mcpeval-report", "report")
    assert run.status == 1
    assert set(run.gates().values()) == {"not_evaluated"}


def test_without_a_baseline_the_run_fails_with_the_command_that_writes_it(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path)
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert run.gates()["golden_v1::baseline"] == "failed"
    command = f"pytest --mcpeval --mcpeval-bless {GOLDEN}"
    assert command in " ".join(run.out.split())
    assert made.project.run(*command.split()[2:]).status == 0
    assert made.run().status == 0


def test_blessing_is_the_same_twice_and_refused_for_parts(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path)
    made.ranking({1: 4, 2: None})
    made.bless()
    first = made.baseline.read_bytes()
    made.bless()
    assert made.baseline.read_bytes() == first
    refused = made.run("--mcpeval-bless", "-k", "q1")
    assert refused.status == 1
    assert "refused to write baseline_v1.json: the run is filtered" in refused.out
    assert made.baseline.read_bytes() == first
    content = json.loads(first)
    assert content["recall_at"]["5"] == pytest.approx(11 / 12)
    assert content["cases"]["q1"] == {"outcome": "passed", "ranks": {tool("two"): 4}}
    assert content["cases"]["q2"] == {"outcome": "failed", "ranks": {}}
    assert content["definition"]["depth"] == 10
    assert list(content["cases"]) == sorted(content["cases"])


@pytest.mark.parametrize("change", ["golden set", "corpus", "metric definitions"])
def test_a_baseline_made_from_something_else_is_an_error(blessed: GoldenProject, change: str) -> None:
    made = blessed
    if change == "golden set":
        made.golden([query(0, query="another goal"), *(query(n) for n in range(1, QUERIES))])
        ranking = json.loads((made.project.path / "datasets/ranking.txt").read_text())
        made.project.write("datasets/ranking.txt", json.dumps({**ranking, "another goal": rank(0, 1)}))
    elif change == "corpus":
        path = made.project.path / "datasets/tools_v1.json"
        path.write_text(path.read_text().replace("The number one.", "The first number."))
    else:
        made.settings(depth=20)
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert run.report()["verdict"] == "error"
    assert f"was made from another {change}, so the two cannot be compared" in " ".join(run.out.split())


def test_layout_provenance_and_pins_do_not_make_another_golden_set(blessed: GoldenProject) -> None:
    made = blessed
    made.golden(
        [query(n, **({"must_hit": 5} if n == 3 else {})) for n in range(QUERIES)], __by="me", description="x"
    )
    assert made.run().status == 0


def test_a_flat_baseline_is_read_and_its_missing_gates_are_named(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path)
    flat = {
        "recall_at": {"1": 1.0, "5": 1.0},
        "mrr": 1.0,
        "ndcg_at_10": 1.0,
        "map": 1.0,
        "tolerance": {"recall_at_5": 0.1, "fpr": 0.1},
        "security": {"per_detector": []},
    }
    made.project.write_json("datasets/baseline_v1.json", flat)
    run = made.run("--mcpeval-report", "report")
    assert run.status == 0, run.out
    assert run.gates() == {
        "golden_v1::recall_at_5": "passed",
        "golden_v1::recall_at_5_sign_flip": "not_set",
        "golden_v1::max_lost": "not_set",
        "golden_v1::pinned": "not_set",
    }
    assert made.run("-q", "-k", "q1").line_with("mcpeval: ").endswith("no gate was judged (4 not evaluated)")
    # What a run does not make is kept: without the tolerance, the gates would be others.
    blessed = made.run("--mcpeval-bless", "-q")
    assert "(12 cases; tolerance, security kept)" in blessed.out
    content = json.loads(made.baseline.read_text())
    assert {key: content[key] for key in ("tolerance", "security")} == {
        key: flat[key] for key in ("tolerance", "security")
    }
    assert content["cases"]
    assert made.run().status == 0

    made.project.write_json("datasets/baseline_v1.json", {"__by": "me", **flat})
    made.ranking({1: None, 2: None})
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert run.gates()["golden_v1::recall_at_5"] == "failed"
    assert run.report()["suites"][GOLDEN]["baseline_delta"]["metrics"]["mrr"] == pytest.approx(-2 / 12)


def test_a_shallow_search_has_no_deep_metrics(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, depth=3)
    made.bless()
    content = json.loads(made.baseline.read_text())
    assert content["recall_at"] == {"1": 1.0, "3": 1.0, "5": None, "10": None}
    assert content["ndcg_at_10"] is None
    made.ranking(dict.fromkeys((3, 4, 5, 6, 7), None))
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert run.gates() == {
        "golden_v1::recall_at_3": "failed",
        "golden_v1::recall_at_3_sign_flip": "failed",
        "golden_v1::max_lost": "failed",
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
    assert "tolerance.recall_at_5: recall_at_5 looks further than the `depth` of 3" in made.run().out


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
    assert outcomes(run) == {"q0": "passed", "q1": "failed"}
    assert "raised Skipped: hard" in run.out
    assert run.report()["suites"][GOLDEN]["metrics"]["recall_at"]["1"] == 0.5


def test_a_fixture_can_be_the_search(tmp_path: Path) -> None:
    gates = {"floors": {"recall_at_10": 1}}
    search = {"fixture": "my_search"}
    made = GoldenProject.at(tmp_path, baseline=None, gates=gates, retriever=search, concurrency=4)
    made.project.write(
        "datasets/conftest.py",
        "import pytest\n\n@pytest.fixture\ndef my_search():\n"
        "    from search import search\n    return lambda query, k: search(query, k)[::-1]\n",
    )
    made.project.write("pytest.ini", "[pytest]\npythonpath = datasets\n")
    run = made.run("--mcpeval-report", "report")
    assert run.status == 0, run.out
    metrics = run.report()["suites"][GOLDEN]["metrics"]
    assert metrics["mrr"] == pytest.approx(0.1)


def test_tables_show_slices_and_the_highest_recall_the_labels_allow(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE)
    both = [{"tool_id": tool(name), "relevance": 1} for name in ("one", "two")]
    made.golden([query(0, labels=both), query(1, notes="hard-negative: x"), query(2)])
    made.ranking({1: 2})
    lines = made.run(columns=80).section()
    assert "golden_v1.json" in lines[1]
    figures = {line[:16].strip(): line.split()[-8:] for line in lines}
    assert figures["all queries"][:4] == ["3", "0.500", "1.000", "1.000"]
    assert figures["hard-negative"][:3] == ["1", "0.000", "1.000"]
    assert "0.833" in next(line for line in lines if "highest possible" in line)
    assert all(len(line) <= 80 for line in lines)


def test_concurrency_asks_ahead(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **NO_BASELINE, concurrency=8)
    made.project.write(
        "datasets/search.py",
        "import threading\n\nbarrier = threading.Barrier(4)\n\n\n"
        "def search(query, k):\n    barrier.wait(60)\n    return []\n",
    )
    made.golden([query(number) for number in range(4)])
    made.settings(**NO_BASELINE | {"gates": {"floors": {"recall_at_5": 0}}}, concurrency=4)
    run = made.run()
    assert run.status == 0, run.out
    assert "4 missed" in run.last_line
