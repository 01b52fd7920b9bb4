"""What GitHub Actions shows of a run: annotations, and the summary of a step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_mcpeval.reports.github import SUMMARY_LIMIT, append_summary
from tests.support import Project, Run, case, failing


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """More wrong cases than GitHub shows, in a directory of a checkout; one speaks like the runner."""
    project = Project.at(tmp_path_factory.mktemp("checkout") / "evals")
    cases = [failing(f"f-{number:02}", text="100 %\n::error::x, y") for number in range(13)]
    project.suite("bad.yaml", *cases)
    project.suite("gated.yaml", case("a"), failing("b"), gates={"pass_rate": 0.9})
    return project


def run_step(project: Project, *arguments: str) -> Run:
    """A run in a step of GitHub Actions."""
    checkout = project.path.parent
    summary = checkout / "summary.md"
    summary.unlink(missing_ok=True)
    return project.run(
        "datasets",
        *arguments,
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(summary),
        GITHUB_WORKSPACE=str(checkout),
    )


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])
def test_wrong_gates_and_cases_are_annotated(project: Project, mode: tuple[str, ...]) -> None:
    run = run_step(project, *mode, "--mcpeval-report=report")
    assert run.status == 1
    commands = [line for line in run.lines if line.startswith("::")]
    assert len(commands) == 10, run.out
    gate = "::error file=evals/datasets/gated.yaml,title=gate pass_rate failed::1 of 2 cases passed (50 %25)"
    assert commands[0].startswith(gate)
    (first,) = (line for line in commands if "title=f-00" in line)
    found = re.match(r"::error file=evals/datasets/bad.yaml,line=(\d+),title=f-00 failed::contains", first)
    assert found is not None, first
    lines = (project.path / "datasets/bad.yaml").read_text().splitlines()
    assert any('"f-00"' in line for line in lines[int(found[1]) - 1 : int(found[1]) + 1])
    assert "4 more errors have no annotation: GitHub shows 10" in run.lines
    # Once, whatever the workers are, and the same as the report.
    summary = project.path.parent / "summary.md"
    assert summary.read_text() == (project.path / "report/report.md").read_text()


def test_nothing_is_told_elsewhere_or_when_switched_off(project: Project) -> None:
    run = run_step(project, "-o", "mcpeval_github=false")
    assert not [line for line in run.lines if line.startswith("::")]
    assert not (project.path.parent / "summary.md").exists()
    run = project.run("datasets", GITHUB_ACTIONS="1")
    assert not [line for line in run.lines if line.startswith("::")]


def test_a_summary_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("s.yaml", case("a"))
    run = project.run("datasets", GITHUB_STEP_SUMMARY=str(tmp_path))
    assert run.status == 1
    assert "ERROR: cannot append to GITHUB_STEP_SUMMARY: Is a directory" in run.lines


@pytest.mark.parametrize("before", [0, 1000, SUMMARY_LIMIT - 10, SUMMARY_LIMIT + 5])
def test_a_long_summary_is_cut_at_the_end_of_a_line(tmp_path: Path, before: int) -> None:
    path = tmp_path / "summary.md"
    path.write_text("x" * before)
    append_summary(path, "<details>\n\n" + "é line\n" * 200_000 + "</details>\n")
    added = path.read_bytes()[before:].decode()
    assert before + len(added.encode()) <= max(before, SUMMARY_LIMIT)
    if before < SUMMARY_LIMIT - 1000:
        assert re.search(r"é line\n\n</details>\n\nThe summary is cut", added)


def test_a_short_summary_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    append_summary(path, "one\n")
    append_summary(path, "two\n")
    assert path.read_text() == "one\ntwo\n"
