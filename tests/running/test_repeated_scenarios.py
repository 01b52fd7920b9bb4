"""Suites of tool calls asked several times: a tool that answers otherwise each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import Project, case

UNSTEADY = """
import itertools
import json
import time

from mcp.server import MCPServer

server = MCPServer("unsteady", log_level="ERROR")
turns = itertools.count()


@server.tool(structured_output=False)
def echo(text: str) -> str:
    return text


@server.tool(structured_output=False)
def flip() -> str:
    return "heads" if next(turns) % 2 == 0 else "tails"


confidences = itertools.cycle([90, 10, 11])


@server.tool(structured_output=False)
def confess() -> str:
    metadata = json.dumps({"confidence": next(confidences)})
    return f"x<response_metadata>```json{metadata}```</response_metadata>"


@server.tool(structured_output=False)
def doubt() -> str:
    return '<response_metadata>```json{"confidence": 0}```</response_metadata>'


stumbles = itertools.count()


@server.tool(structured_output=False)
def stumble() -> str:
    turn = next(stumbles)
    if turn == 1:
        time.sleep(1)
    return "right" if turn == 2 else "wrong"
"""

SUITE = "datasets/flips.yaml"
HEADS = {"type": "contains", "value": "heads"}
TIMED = {"type": "max_latency_ms", "ms": 59_000}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.at(tmp_path)
    made.write("server.py", UNSTEADY)
    made.suite(
        "flips.yaml", case("steady"), case("unsteady", "flip", HEADS, TIMED), gates={"pass_rate": 0.75}
    )
    return made


def test_pass_rates_are_made_of_the_means(project: Project) -> None:
    run = project.run("-v", "--mcpeval-runs", "2", "--mcpeval-report", "report")
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
    assert "pass rate 75 ± 35.4 %" in text
    assert "1.50 of 2 cases passed (75 %), wanted at least 75 %; not passed: unsteady" in text


def test_once_nothing_tells_of_runs(project: Project) -> None:
    run = project.run("--mcpeval-report", "report")
    assert run.status == 0, run.out
    suite = run.report()["suites"][SUITE]
    assert suite["metrics"]["summary"]["passed"] == 2
    assert "runs" not in suite["metrics"]
    assert "standard deviation" not in run.out


def test_confidences_and_times_are_those_of_all_runs(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("server.py", UNSTEADY)
    any_text = {"type": "confidence_above", "threshold": 1}
    project.suite("sure.yaml", case("sure", "confess", any_text), gates={"average_confidence": 60})
    project.suite(
        "zero.yaml",
        case("zero", "doubt", {"type": "confidence_below", "threshold": 1}),
        gates={"average_confidence": 1},
    )
    # The first run is wrong in no time, the second brings no answer, the third is right.
    stumble = case("slow", "stumble", {"type": "contains", "value": "right"}, timeout=0.2)
    project.suite("slow.yaml", stumble, gates={"pass_rate": 0.1, "p95_latency_ms": 60_000})
    run = project.run("--mcpeval-runs=3", "--mcpeval-report=report", "--junitxml=junit.xml", "-p", "no:html")
    assert run.status == 1, run.out
    assert run.gates() == {
        "slow::pass_rate": "passed",
        "slow::p95_latency_ms": "failed",
        "sure::average_confidence": "failed",
        "zero::average_confidence": "failed",
    }
    assert run.line_with("37 %, wanted at least 60 %")
    assert run.line_with("no answer in 1 of 1 cases: slow")
    suites = run.report()["suites"]
    assert suites["datasets/sure.yaml"]["metrics"]["summary"]["averageConfidence"] == 37
    confidences = {
        name: found.get("value")
        for name, element in run.junit().items()
        for found in element.iter("property")
        if found.get("name") == "mcpeval_confidence"
    }
    assert confidences == {"sure": "37", "zero": "0"}
