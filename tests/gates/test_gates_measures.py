"""What the gates of scenario suites count: calls without answer, confidences of zero, failed tear-downs."""

from __future__ import annotations

import pytest

from pytest_mcpeval.kinds.scenario.metrics import half_up
from tests.support import Project, Run, case, failing

TEAR_DOWN = "import pytest\n\n@pytest.fixture\ndef bad():\n    yield\n    raise OSError('disk full')\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of one suite for each of the tests."""
    project = Project.at(tmp_path_factory.mktemp("measures"))
    slow = case("slow", "sleep", input={"seconds": 2}, timeout=0.2)
    project.suite("slow.yaml", case("a"), slow, gates={"pass_rate": 0.1, "p95_latency_ms": 60_000})
    confidences = [0, 0, 0, 90]
    cases = [case(f"c{n}", "answer", input={"confidence": value}) for n, value in enumerate(confidences)]
    project.suite("confidence.yaml", *cases, gates={"average_confidence": 60})
    halves = [case(f"h{n}", "answer", input={"confidence": value}) for n, value in enumerate((72, 73))]
    project.suite("halves.yaml", *halves, *(failing(f"f{n}") for n in range(14)), gates={"pass_rate": 0.1})
    project.write("conftest.py", TEAR_DOWN)
    project.suite("down.yaml", case("a"), case("b", fixtures=["bad"]), gates={"pass_rate": 0.5})
    return project.run("--mcpeval-report=report", "-p", "no:html", "datasets")


def test_a_half_is_rounded_up(run: Run) -> None:
    summary = run.report()["suites"]["datasets/halves.yaml"]["metrics"]["summary"]
    assert (summary["averageConfidence"], summary["passRate"]) == (73, 12.5)


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (0, 1, "0.0"),
        (1.005, 2, "1.00"),
        (12345.5, 0, "12346"),
        (72.5, 0, "73"),
        (0.5, 0, "1"),
        (2.5, 0, "3"),
        (0.49999999999999994, 0, "0"),
        (6.25, 1, "6.3"),
    ],
)
def test_numbers_are_rounded_as_javascript_does(value: float, digits: int, shown: str) -> None:
    assert str(half_up(value, digits)) == shown


def test_a_call_without_an_answer_is_slower_than_any_limit(run: Run) -> None:
    assert run.gates()["slow::pass_rate"] == "passed"
    assert run.gates()["slow::p95_latency_ms"] == "failed"
    assert run.line_with("no answer in 1 of 2 cases: slow")


def test_a_reported_confidence_of_zero_counts(run: Run) -> None:
    assert run.gates()["confidence::average_confidence"] == "failed"
    assert run.line_with("22.5 %, wanted at least 60 %")


def test_a_case_whose_tear_down_fails_has_not_passed(run: Run) -> None:
    assert {c["id"]: c["outcome"] for c in run.report()["suites"]["datasets/down.yaml"]["cases"]} == {
        "a": "passed",
        "b": "error",
    }
    assert run.gates()["down::pass_rate"] == "failed"
    assert run.line_with("1 of 2 cases in error: b")
