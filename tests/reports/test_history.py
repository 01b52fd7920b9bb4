"""``--mcpeval-history FILE``: one line for each run, and the last ones in the report."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.cli import main
from pytest_mcpeval.reports.history import SHOWN_POINTS, HistoryError, appended
from tests.support import Project, case, failing

KEY = "datasets/calls.yaml"


def points(project: Project, name: str = "history.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.path / name).read_text("utf-8").splitlines()]


def report(project: Project, directory: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.path / directory / "report.json").read_text("utf-8"))
    return found


def test_each_whole_run_is_a_point(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    project.suite("calls.yaml", case("one"), case("two"))
    options = ("--mcpeval-history=history.jsonl", "--mcpeval-report=report")
    assert project.run(*options).status == 0
    project.suite("calls.yaml", case("one"), failing("two"))
    assert project.run(*options, "-n2").status == 1
    assert project.run(*options, "-k", "one").status == 0

    first, second, partial = points(project)
    assert (first["verdict"], second["verdict"]) == ("passed", "failed")
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    assert first["commit"].removesuffix("+changes") == head.stdout.strip()
    assert first["suites"][KEY]["figures"]["summary.passRate"] == 100.0
    assert second["suites"][KEY]["figures"]["summary.passRate"] == 50.0
    assert (second["suites"][KEY]["cases"], second["suites"][KEY]["passed"]) == (2, 1)
    assert first["suites"][KEY]["data"] != second["suites"][KEY]["data"]
    assert first["suites"][KEY]["inputs"] != second["suites"][KEY]["inputs"]
    assert partial["suites"] == {}
    assert report(project, "report")["run"]["history"] == [first, second, partial]


def test_a_line_that_is_no_point_is_named_and_nothing_is_appended(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("calls.yaml", case("one"))
    history = project.write("history.jsonl", '{"version": 1, "suites": {}}\n{"version": 1,\n')
    before = history.read_text("utf-8")
    run = project.run("--mcpeval-history=history.jsonl")
    assert run.status == 1
    wanted = (
        "history.jsonl:2: expected a point of a history, version 1; remove the line, or name another file"
    )
    assert wanted in " ".join(run.out.split()), run.out
    assert history.read_text("utf-8") == before


def test_a_shard_leaves_the_history_to_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.at(tmp_path)
    project.suite("calls.yaml", case("one"), case("two"))
    refused = project.run("--mcpeval-shard", "--mcpeval-report=a", "--mcpeval-history=history.jsonl")
    assert refused.status == 4
    assert "pytest-mcpeval merge --history FILE" in refused.out + refused.err
    for name in ("one", "two"):
        assert project.run("--mcpeval-shard", f"--mcpeval-report={name}", "-k", name).status == 0
    monkeypatch.chdir(tmp_path)
    assert main(["merge", "one", "two", "--history", "history.jsonl", "--report", "merged"]) == 0
    (point,) = points(project)
    assert point["suites"][KEY]["passed"] == 2
    assert report(project, "merged")["run"]["history"] == [point]


def test_a_directory_that_is_not_writable_is_refused_before_the_run(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("calls.yaml", case("one"))
    project.write("file", "")
    run = project.run("--mcpeval-history=file/history.jsonl")
    assert run.status == 4
    assert "--mcpeval-history: cannot write into" in run.out + run.err


def test_a_report_has_the_last_points(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for number in range(SHOWN_POINTS + 5):
        found = appended(path, {"version": 1, "suites": {}, "number": number})
    assert [point["number"] for point in found] == list(range(5, SHOWN_POINTS + 5))
    with pytest.raises(HistoryError, match="cannot read"):
        appended(tmp_path, {"version": 1, "suites": {}})
