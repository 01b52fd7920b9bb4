"""Every query asked several times: means, how much the runs differ, and baselines of several runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import stdev
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.retrieval.golden import GoldenProject, gates, golden_in, outcomes, query, rank, tool
from tests.support import Project, Run

GOLDEN = "datasets/golden_v1.json"
FLOOR: dict[str, Any] = {"baseline": None, "gates": {"floors": {"recall_at_5": 0.1}}}

UNSTEADY = """
import json
from pathlib import Path

RANKINGS = json.loads(Path(__file__).with_name("ranking.txt").read_text())
ASKED = {}


def search(query, k):
    turn = ASKED[query] = ASKED.get(query, -1) + 1
    found = RANKINGS[query]
    answer = found[turn % len(found)] if isinstance(found[0], list) else found
    if answer == ["raise"]:
        raise RuntimeError("the index is gone")
    return answer
"""


def unsteady(path: Path, places: Mapping[int, list[int | None]], **settings: Any) -> GoldenProject:
    """A project with four queries, whose search answers some of them otherwise each time it is asked."""
    return filled(GoldenProject.at(path, **settings), places)


def filled(made: GoldenProject, places: Mapping[int, list[int | None]]) -> GoldenProject:
    made.project.write(f"{made.folder}/{made.module}.py", UNSTEADY)
    made.golden([query(number) for number in range(4)])
    turns(made, places)
    return made


def turns(made: GoldenProject, places: Mapping[int, list[int | None]]) -> None:
    ranking = {f"goal {n}": [rank(n, place) for place in places.get(n, [1])] for n in range(4)}
    made.project.write(f"{made.folder}/ranking.txt", json.dumps(ranking))


def suite_of(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = run.report()["suites"][GOLDEN]
    return found


def test_metrics_are_made_of_the_means_and_tell_how_the_runs_differ(tmp_path: Path) -> None:
    made = unsteady(tmp_path, {0: [1, 2, None], 1: [4, 4, 4]}, **FLOOR, runs=3)
    arguments = ("-v", "--mcpeval-report", "report", "--junitxml", "junit.xml", "--html", "report.html")
    run = made.run(*arguments, columns=100)
    assert run.status == 0, run.out
    metrics = suite_of(run)["metrics"]
    # Reciprocal ranks: of q0 1, 1/2 and 0; of q1 1/4; of the others 1.
    per_run = [(first + 0.25 + 2) / 4 for first in (1, 0.5, 0)]
    assert metrics["mrr"] == pytest.approx(sum(per_run) / 3)
    assert metrics["standard_deviation"]["mrr"] == pytest.approx(stdev(per_run))
    assert metrics["standard_deviation"]["recall_at"]["5"] == pytest.approx(stdev([1, 1, 0.75]))
    assert (metrics["runs"], metrics["changed"], metrics["changed_share"]) == (3, ["q0"], 0.25)
    assert "slices" not in metrics["standard_deviation"]
    cases = {case["id"]: case for case in suite_of(run)["cases"]}
    assert cases["q0"]["outcome"] == "tolerated"
    assert [one["outcome"] for one in cases["q0"]["runs"]] == ["passed", "passed", "tolerated"]
    assert [one["measured"]["rank"] for one in cases["q0"]["runs"]] == [1, 2, None]
    message = "no relevant tool among the 10 returned, wanted within 10 (1 of 3 runs)"
    assert cases["q0"]["message"] == message
    assert message in " ".join(ElementTree.tostring(run.junit()["q0"], "unicode").split())
    lines = [" ".join(line.split()) for line in run.section()]
    assert "all queries 4 0.583 0.667 0.917 0.917 0.688 0.744 0.688" in lines
    assert any(line.startswith("over 3 runs ±0.144 ±0.144") for line in lines), lines
    assert f"{GOLDEN} 3 1 of 4 25.0 %" in lines
    # The number that matters most stands with its spread in the line of the suite.
    assert any("recall@5 0.917 ± 0.144" in line for line in lines), lines
    assert all(len(line) <= 100 for line in run.section())
    markdown = (tmp_path / "report/report.md").read_text()
    assert "| over 3 runs |" in markdown
    assert "**Between runs**" in markdown
    html = (tmp_path / "report.html").read_text()
    assert "over 3 runs" in html
    assert "Between runs" in html


def test_the_command_line_says_how_often_and_one_run_is_as_ever(tmp_path: Path) -> None:
    made = unsteady(tmp_path, {0: [1, None]}, **FLOOR)
    once = made.run("--mcpeval-report", "report")
    plain = suite_of(once)
    assert "runs" not in plain["metrics"]
    assert all("runs" not in case for case in plain["cases"])
    assert "Between runs" not in once.out
    explicit = made.run("--mcpeval-runs", "1", "--mcpeval-report", "report")
    assert suite_of(explicit) == plain
    twice = made.run("--mcpeval-runs", "2", "--mcpeval-report", "report")
    assert suite_of(twice)["metrics"]["runs"] == 2
    wrong = made.run("--mcpeval-runs", "0")
    assert wrong.status == 4
    assert "--mcpeval-runs: expected a whole number from 1, found '0'" in wrong.err


MODES = [["-p", "no:xdist"], ["-n2"]]


@pytest.fixture(scope="module")
def modes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """Golden sets that fail for different reasons, in both modes."""
    project = Project.at(tmp_path_factory.mktemp("modes"))
    several = {"strict": True, "batch": 2, "concurrency": 3}
    filled(GoldenProject.within(project, "worst", **FLOOR, runs=4, **several), {0: [1, None]})

    filled(GoldenProject.within(project, "raising", **FLOOR, runs=2), {})
    path = project.path / "datasets/raising/ranking.txt"
    path.write_text(json.dumps({**json.loads(path.read_text()), "goal 1": [rank(1, 1), ["raise"]]}))

    pinned = filled(GoldenProject.within(project, "pinned", **FLOOR, runs=3), {0: [1, 1, 3]})
    pinned.golden([query(0, must_hit=2), query(1)])
    made = {}
    for number, mode in enumerate(MODES):
        place = project.path / str(number)
        done = project.run("datasets", *mode, "--mcpeval-report", f"{place}/report", columns=120)
        made[" ".join(mode)] = Run(place, done.status, done.out, done.err)
    return made


@pytest.mark.parametrize("mode", [" ".join(mode) for mode in MODES])
def test_a_failure_shows_the_worst_run_and_counts_them_all(modes: Mapping[str, Run], mode: str) -> None:
    run, worst = modes[mode], golden_in("worst")
    assert run.status == 1
    assert f"FAILED {worst}::q0-to-q1 - 1 of 2 cases FAILED: q0" in run.out
    assert "asked 4 times: 2 FAILED, 2 PASSED; shown is the first FAILED" in run.out
    assert gates(run, worst)["recall_at_5_floor"]["verdict"] == "passed"
    metrics = run.report()["suites"][worst]["metrics"]
    assert metrics["recall_at"]["5"] == pytest.approx(3.5 / 4)


@pytest.mark.parametrize("mode", [" ".join(mode) for mode in MODES])
def test_an_error_in_one_run_fails_the_query_and_counts_as_nothing_found(
    modes: Mapping[str, Run], mode: str
) -> None:
    run, raising = modes[mode], golden_in("raising")
    assert outcomes(run, raising)["q1"] == "failed"
    assert run.report()["suites"][raising]["metrics"]["mrr"] == pytest.approx(3.5 / 4)
    assert "the index is gone" in run.out


@pytest.mark.parametrize("mode", [" ".join(mode) for mode in MODES])
def test_a_pinned_query_must_hit_in_every_run(modes: Mapping[str, Run], mode: str) -> None:
    run = modes[mode]
    assert gates(run, golden_in("pinned"))["pinned"]["verdict"] == "failed"
    assert "1 of 1 pinned queries lost: q0 (rank 3, wanted within 2)" in run.out


def test_a_baseline_of_several_runs_holds_their_ranks_and_compares_means(tmp_path: Path) -> None:
    made = unsteady(tmp_path, {0: [1, 2], 1: [None, 3]}, runs=2)
    made.bless()
    content = json.loads(made.baseline.read_text())
    assert content["cases"]["q0"] == {
        "outcome": "passed",
        "ranks_of_runs": [{tool("one"): 1}, {tool("one"): 2}],
    }
    assert content["cases"]["q1"] == {"outcome": "failed", "ranks_of_runs": [{}, {tool("two"): 3}]}
    assert content["mrr"] == pytest.approx((0.75 + 1 / 6 + 2) / 4)
    first = made.baseline.read_bytes()
    made.bless()
    assert made.baseline.read_bytes() == first
    same = made.run("--mcpeval-report", "report")
    assert same.status == 0, same.out
    assert suite_of(same)["baseline_delta"]["queries"]["lost"] == []
    turns(made, {0: [None, None], 1: [None, None]})
    worse = made.run("--mcpeval-report", "report")
    assert worse.status == 1
    # From one hit of two runs to none is no change in most runs, from two to none is.
    assert suite_of(worse)["baseline_delta"]["queries"]["lost"] == ["q0"]
    # A single run is compared with the means all the same.
    once = made.run("--mcpeval-runs", "1", "--mcpeval-report", "report")
    assert suite_of(once)["baseline_delta"]["metrics"]["recall_at_5"] == pytest.approx(-3 / 8)


NOISY = """
import random
from pathlib import Path

SEED = Path(__file__).with_name("seed.txt").read_text()
TURNS = {}


def search(query, k):
    turn = TURNS[query] = TURNS.get(query, 0) + 1
    number = int(query.split()[-1])
    is_right = number % 5 or random.Random(f"{SEED} {query} {turn}").random() < 0.5
    return ["numbers:one"] if is_right else ["numbers:two"]
"""


def test_an_unchanged_search_that_is_right_at_random_is_not_red(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, runs=5, batch=200)
    made.project.write(f"{made.folder}/{made.module}.py", NOISY)
    made.project.write(f"{made.folder}/seed.txt", "first")
    labels = [{"tool_id": tool("one"), "relevance": 2}]
    made.golden([{"id": f"q{n}", "query": f"goal {n}", "labels": labels} for n in range(141)])
    made.bless()
    made.project.write(f"{made.folder}/seed.txt", "second")
    run = made.run("--mcpeval-report", "report")
    assert run.status == 0, run.out
    found = gates(run, GOLDEN)
    assert {found[name]["verdict"] for name in ("recall_at_5_sign_flip", "max_lost")} == {"passed"}
    # A tenth of the other queries is lost in every run.
    made.project.write(f"{made.folder}/{made.module}.py", NOISY.replace("number % 5 or", "number % 11 and"))
    worse = made.run("--mcpeval-report", "report")
    assert gates(worse, GOLDEN)["max_lost"]["verdict"] == "failed"
