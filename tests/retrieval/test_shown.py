"""What a person is shown of ranked lists, odd answers, and queries that were set aside."""

from __future__ import annotations

from pathlib import Path

from tests.retrieval.golden import QUERIES, TOOLS, GoldenProject, gates, golden_in, rank, tool
from tests.support import Project

GOLDEN = "datasets/golden_v1.json"

ASIDE = """
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "q1":
            item.add_marker(pytest.mark.skip(reason="later"))
        if item.name == "q2":
            item.add_marker(pytest.mark.xfail(reason="known"))
"""


def test_ranked_lists_are_shown_where_they_are_looked_for(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, expect=3, gates={"max_lost": 2, "tolerance": {"mrr": 0.9}})
    made.ranking({1: 2})
    made.bless()
    made.ranking({1: 5, 2: None})
    run = made.run("-vv", "--mcpeval-report", "report", "--html", "report.html")
    assert run.status == 0, run.out
    section = run.section()
    start = next(
        i for i, line in enumerate(section) if f"MISSED {GOLDEN}::q1: the first relevant tool" in line
    )
    heading, *listed = section[start + 1 : start + 13]
    assert heading.split() == [
        "Ranked",
        "list",
        "(10",
        "of",
        "10",
        "asked",
        "for)",
        "rank",
        "baseline",
        "label",
    ]
    assert listed[4].split() == [tool("two"), "5", "2", "relevant", "(2)"]
    assert listed[3].split() == [tool("five"), "4"]
    assert any(line.split() == [tool("three"), "–", "1", "relevant", "(2)"] for line in section)
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert f"| {GOLDEN}::q1 | the first relevant tool" in text
    for name in ("q1", "q7"):
        rows = [row for node, row in run.html_rows() if node.endswith(f"::{name}")]
        extras = "".join(extra["content"] for row in rows for extra in row["extras"])
        assert "Ranked list (10 of 10 asked for)" in extras
        assert tool("two" if name == "q1" else "eight") in extras
    short = made.run("-v")
    assert "MISSED" in short.out
    assert "Ranked list" not in short.out


def test_odd_answers_are_counted_though_their_queries_hit(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, baseline=None, gates={"floors": {"mrr": 0.5}})
    made.ranking(
        {
            0: [tool("one"), tool("one"), "other:tool"],
            1: [tool("two"), "other:tool"],
            2: [],
            3: [tool("four"), *rank(3, None), tool("one")],
        }
    )
    run = made.run("-v", "--mcpeval-report", "report")
    assert run.status == 0, run.out
    assert run.report()["suites"][GOLDEN]["metrics"]["problems"] == {
        "nothing returned": 1,
        "a tool named twice": 1,
        "a tool that is not in the corpus": 2,
        "more tools than asked for": 1,
    }
    assert run.line_with("golden_v1.json: a tool that is not in the corpus", f"2 of {QUERIES}")
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert any("a tool named twice" in line and f"1 of {QUERIES}" in line for line in text.splitlines())


def test_queries_set_aside_count_neither_now_nor_in_the_baseline(tmp_path: Path) -> None:
    blessed = GoldenProject.at(tmp_path / "blessed")
    blessed.ranking({3: 2})
    blessed.bless()
    project = Project.at(tmp_path)
    project.write("conftest.py", ASIDE)
    settings = {"gates": {"tolerance": {"mrr": 0.0}, "pinned": {"q1": 1, "q2": 1}}}
    GoldenProject.within(project, "same", **settings).held_to(blessed).ranking({1: None, 2: None, 3: 2})
    worse = GoldenProject.within(project, "worse", **settings).held_to(blessed)
    worse.ranking({1: None, 2: None, 3: 2, 4: 2})
    run = project.run("datasets", "--mcpeval-report", "report")
    assert run.status == 1
    same = gates(run, golden_in("same"))
    assert same["mrr"]["verdict"] == "passed"
    assert same["mrr"]["value"] == same["mrr"]["baseline"] == 0.95
    assert same["mrr"]["message"].endswith("(skipped or xfailed: q1, q2)")
    assert same["pinned"]["verdict"] == "not_set"
    assert {gate["verdict"] for gate in same.values()} <= {"passed", "not_set"}
    assert run.report()["suites"][golden_in("same")]["metrics"]["queries"] == QUERIES - 2
    assert gates(run, golden_in("worse"))["mrr"]["verdict"] == "failed"
    assert len(TOOLS) == QUERIES
