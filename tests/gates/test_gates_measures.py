"""What the gates of scenario suites count: calls without answer, confidences of zero, failed tear-downs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import Project, case

REPORTS = ("--mcpeval-report=report", "-p", "no:html", "datasets")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.at(tmp_path)


def test_a_call_without_an_answer_is_slower_than_any_limit(project: Project) -> None:
    slow = case("slow", "sleep", input={"seconds": 5}, timeout=0.2)
    project.suite("s.yaml", case("a"), slow, gates={"pass_rate": 0.1, "p95_latency_ms": 60_000})
    run = project.run(*REPORTS)
    assert run.gates() == {"s::pass_rate": "passed", "s::p95_latency_ms": "failed"}
    assert run.line_with("no answer in 1 of 2 cases: slow")


def test_a_reported_confidence_of_zero_counts(project: Project) -> None:
    confidences = [0, 0, 0, 90]
    cases = [case(f"c{n}", "answer", input={"confidence": value}) for n, value in enumerate(confidences)]
    project.suite("s.yaml", *cases, gates={"average_confidence": 60})
    run = project.run(*REPORTS)
    assert run.gates() == {"s::average_confidence": "failed"}
    assert run.line_with("22.5 %, wanted at least 60 %")


def test_a_case_whose_tear_down_fails_has_not_passed(project: Project) -> None:
    project.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture\ndef bad():\n    yield\n    raise OSError('disk full')\n",
    )
    project.suite("s.yaml", case("a"), case("b", fixtures=["bad"]), gates={"pass_rate": 0.5})
    run = project.run(*REPORTS)
    assert {c["id"]: c["outcome"] for c in run.report()["suites"]["datasets/s.yaml"]["cases"]} == {
        "a": "passed",
        "b": "error",
    }
    assert run.gates() == {"s::pass_rate": "failed"}
    assert run.line_with("1 of 2 cases in error: b")


def test_a_baseline_that_names_an_unknown_case_is_an_error(project: Project) -> None:
    project.suite("s.yaml", case("a"), gates={"no_new_failures": True}, baseline="b.json")
    assert project.run("--mcpeval-bless", *REPORTS).status == 0
    path = project.path / "datasets" / "b.json"
    path.write_text(path.read_text().replace('"a"', '"aa"'))
    run = project.run(*REPORTS)
    assert run.status == 1
    assert run.line_with("datasets/b.json:8: datasets/s.yaml has no case 'aa'")
