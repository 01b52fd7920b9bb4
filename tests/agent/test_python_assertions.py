"""The marker ``mcpeval_assert`` on tests written in Python."""

from __future__ import annotations

from pathlib import Path

from pytest_mcpeval.browser.artifacts import CaseFolder
from tests.agent.captured_runs import CapturedProject, Evidence, call, case
from tests.support import Project

CONFTEST = """
import pytest
from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.python_tests.cases import MadeVisit, recorder_of


@pytest.fixture
def visited(request):
    folder = CaseFolder(request.config.rootpath / "runs/people/r/a")
    recorder_of(request.node).visits.append(MadeVisit(folder, 10_000))
"""

TESTS = """
import pytest

pytestmark = pytest.mark.mcpeval_assert(must_call=["find"])


def test_holds(visited):
    pass


@pytest.mark.mcpeval_assert(max_steps=9)
@pytest.mark.mcpeval_assert(max_steps=1)
@pytest.mark.mcpeval_assert(must_call=["find"])
def test_does_not(visited):
    pass


@pytest.mark.mcpeval_assert(must_route_to="hr")
def test_open(visited):
    pass


def test_nowhere():
    pass


@pytest.mark.xfail(reason="known", raises=AssertionError, strict=True)
@pytest.mark.mcpeval_assert(max_steps=1)
def test_expected(visited):
    pass
"""


def project(tmp_path: Path, tests: str = TESTS) -> Project:
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    made.write("conftest.py", CONFTEST)
    made.write("test_agent.py", tests)
    Evidence(calls=[call("find")], steps=2).write(CaseFolder(tmp_path / "runs/people/r/a"), "x")
    return made


def test_the_last_visit_is_judged(tmp_path: Path) -> None:
    made = project(tmp_path)
    run = made.run("-v", "--mcpeval-report", "report", columns=120, CI="")
    assert run.status == 1
    assert "2 failed, 1 passed, 1 xfailed, 1 inconclusive" in run.last_line
    assert "✗ max_steps: 2 steps, at most 1 allowed" in run.out
    assert "mcpeval_assert has nothing to judge: the test visited no agent" in run.out
    section = run.section()
    assert any("there is no routing_decisions.jsonl" in line for line in section)
    assert any("1. visit the agent as a case of a manifest does" in line for line in section)
    assert any("run the test again" in line for line in section)
    assert run.line_with("  inconclusive ", " 1")
    totals = run.report()["suites"]["test_agent.py"]["metrics"]["summary"]
    assert [totals[name] for name in ("totalTests", "passed", "failed", "inconclusive")] == [4, 1, 2, 1]
    cases = {one["id"]: one for one in run.report()["suites"]["test_agent.py"]["cases"]}
    assert [cases[f"test_{name}"]["outcome"] for name in ("holds", "does_not", "open", "nowhere")] == [
        "passed",
        "failed",
        "inconclusive",
        "failed",
    ]
    checks = [(check["rule"]["type"], check["status"]) for check in cases["test_does_not"]["checks"]]
    assert sorted(checks) == [("max_steps", "failed"), ("max_steps", "passed"), ("must_call", "passed")]
    assert [check["rule"]["type"] for check in cases["test_open"]["checks"]] == ["must_call", "must_route_to"]
    assert cases["test_open"]["message"].startswith("1 of 2 checks inconclusive: must_route_to")
    assert made.run("-k", "open", "-o", "mcpeval_inconclusive=fail", CI="").status == 1


def test_mistakes_in_markers_are_errors_of_the_file(tmp_path: Path) -> None:
    tests = """
        import pytest

        @pytest.mark.mcpeval_assert("find")
        def test_one(): pass

        @pytest.mark.mcpeval_assert(must_cal=["find"])
        def test_two(): pass

        @pytest.mark.mcpeval_assert(max_steps=0)
        def test_three(): pass
    """
    tests += """
        @pytest.mark.mcpeval_assert(must_call=["find"], must_not_call=["find"])
        def test_four(): pass
    """
    made = project(tmp_path, "\n".join(line[8:] for line in tests.splitlines()))
    run = made.run(columns=200)
    assert run.status == 2
    assert "test_agent.py:4: mcpeval_assert: expected assertions as keywords" in run.out
    assert "mcpeval_assert: unknown assertion 'must_cal' (did you mean \"must_call\"?)" in run.out
    assert "mcpeval_assert: max_steps: expected a number of at least 1, found 0" in run.out
    assert 'mcpeval_assert: must_call[0]: "find" is also in must_not_call' in run.out


def test_python_is_held_to_the_same_as_manifests(tmp_path: Path) -> None:
    tests = """
import pytest


@pytest.mark.mcpeval_assert(must_call=["find"])
@pytest.mark.mcpeval_assert(must_not_call=["find"])
def test_one(visited):
    pass


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"url": "file:///etc/passwd"}, "begins with http"),
        ({"response_wait_ms": 99}, "response_wait_ms: expected a number of at least 100, found 99"),
        ({"response_ready": {"dom_quiet_ms": 1}}, "response_ready.dom_quiet_ms"),
        ({"response_ready": {"dom_quiet_ms": 100, "selector": "a"}}, "exactly one of"),
        ({"preconditions": [{"action": "fill", "selector": "a"}]}, "fill needs a `value`"),
        ({"input_selector": "#a["}, "is not a CSS selector"),
        ({"response_ready": {"sel": ".x"}}, "response_ready: expected a selector, {'selector': '.answer'}"),
        ({"response_ready": 5}, "response_ready: expected a selector"),
        ({"preconditions": "abc"}, "preconditions: expected a list of actions"),
        ({"reveal_actions": ["#open"]}, "reveal_actions: expected an action such as {'action': 'click'"),
        ({"storage_state": {"cookie": []}}, "storage_state: expected {cookies: […], origins: […]}"),
        ({"storage_state": 5}, "storage_state: expected {cookies: […], origins: […]}, found int"),
    ],
)
def test_visits(mcpeval_capture, given, words):
    with pytest.raises(ValueError) as caught:
        mcpeval_capture(**{"url": "http://127.0.0.1:1/", "input": "hi", **given})
    assert words in str(caught.value)
"""
    run = project(tmp_path, tests).run(columns=200, CI="")
    assert "1 failed, 12 passed" in run.last_line, run.out
    assert "the markers of the test together" in run.out
    assert '"find" is also in must_not_call' in run.out


def test_nothing_is_visited_where_captured_runs_are_scored(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, case("a", final_response_contains="Ada"))
    captured = made.capture("a", Evidence())
    made.project.write(
        "test_visit.py",
        """def test_visit(mcpeval_capture):
            mcpeval_capture.case("agent.yaml", "a")
        """,
    )
    before = {path: path.read_bytes() for path in captured.trace.rglob("*") if path.is_file()}
    run = made.score("-o", "python_files=test_*.py")
    assert "1 passed, 1 error" in run.last_line, run.out
    assert "with --mcpeval-score-only none is visited: run this test without that option" in run.out
    assert {path: path.read_bytes() for path in captured.trace.rglob("*") if path.is_file()} == before
    assert captured.score.is_file()
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["people"]


def test_what_a_visit_that_failed_left_is_not_judged(tmp_path: Path) -> None:
    tests = """
import pytest


@pytest.mark.mcpeval_assert(must_not_call=["delete"])
def test_marker(visited):
    pass


def test_trajectory(visited, mcpeval_trajectory):
    assert mcpeval_trajectory.tools == ["find"]
"""
    made = project(tmp_path, tests)
    folder = CaseFolder(tmp_path / "runs/people/r/a")
    Evidence(calls=[call("find")], fetch_error="connection refused").write(folder, "x")
    run = made.run(columns=120, CI="")
    assert "2 error" in run.last_line, run.out
    assert run.out.count("observability: connection refused") >= 2
