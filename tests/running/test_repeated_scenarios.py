"""Suites of tool calls asked several times: a tool that answers otherwise each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import Project, case

UNSTEADY = """
import itertools

from mcp.server import MCPServer

server = MCPServer("unsteady", log_level="ERROR")
turns = itertools.count()


@server.tool(structured_output=False)
def echo(text: str) -> str:
    return text


@server.tool(structured_output=False)
def flip() -> str:
    return "heads" if next(turns) % 2 == 0 else "tails"
"""

SUITE = "datasets/flips.yaml"
HEADS = {"type": "contains", "value": "heads"}
TIMED = {"type": "max_latency_ms", "ms": 60_000}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.at(tmp_path)
    made.write("server.py", UNSTEADY)
    made.suite(
        "flips.yaml", case("steady"), case("unsteady", "flip", HEADS, TIMED), gates={"pass_rate": 0.75}
    )
    return made


def test_pass_rates_are_made_of_the_means(project: Project) -> None:
    run = project.run("--mcpeval-runs", "2", "--mcpeval-report", "report")
    assert run.status == 0, run.out
    suite = run.report()["suites"][SUITE]
    assert suite["metrics"]["summary"]["passRate"] == 75
    assert suite["metrics"]["summary"]["passed"] == 1.5
    assert suite["metrics"]["runs"] == 2
    assert suite["metrics"]["changed"] == ["unsteady"]
    # 100 % and 50 %.
    assert suite["metrics"]["standard_deviation"] == {"summary": {"passRate": pytest.approx(50 / 2**0.5)}}
    (unsteady,) = (found for found in suite["cases"] if found["id"] == "unsteady")
    assert [one["outcome"] for one in unsteady["runs"]] == ["passed", "tolerated"]
    timed = run.report()["run"]["suites"][SUITE]["timedChecks"]
    assert {"unsteady", "unsteady (run 1)", "unsteady (run 2)"} <= timed.keys()
    text = " ".join(run.out.split())
    assert "passed 1.50 failed 0.50 pass rate 75.0 % standard deviation over 2 runs ± 35.4 %" in text
    assert f"{SUITE} 2 1 of 2 50.0 %" in text
    assert "1.50 of 2 cases passed (75 %), wanted at least 75 %; not passed: unsteady" in text


def test_once_nothing_tells_of_runs(project: Project) -> None:
    run = project.run("--mcpeval-report", "report")
    assert run.status == 0, run.out
    suite = run.report()["suites"][SUITE]
    assert suite["metrics"]["summary"]["passed"] == 2
    assert "runs" not in suite["metrics"]
    assert "standard deviation" not in run.out
