"""The bundled agent in a real Chromium: it passes; variants of its manifest fail and are inconclusive."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mcpeval.browser.artifacts import RunFolder
from pytest_mcpeval.kinds.agent import evidence
from pytest_mcpeval.kinds.agent.schema import ASSERTION_KINDS
from tests.support import Project, Run

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "datasets" / "agents" / "people-directory" / "agent.yaml"

QUESTION = "Who is the manager of Goran Petrov?"
HOLDS: dict[str, Any] = {
    "final_response_contains": "Emil Haas (Engineering Manager)",
    "must_call": ["get_manager"],
    "must_not_call": ["export_directory"],
    "must_call_exactly": {"search_people": 1},
    "must_call_with_args": [{"tool_name": "search_people", "args": {"query": "Goran Petrov"}}],
    "must_call_in_order": ["search_people", "get_manager"],
    "must_route_to": "org_chart",
    "max_steps": 4,
    "max_total_tokens": 1000,
    "max_total_cost_usd": 1.0,
    "max_latency_ms": 60_000,
}
FAILS: dict[str, Any] = {
    "final_response_contains": "Bo Lindahl is the manager",
    "must_call": ["get_person"],
    "must_not_call": ["search_people"],
    "must_call_exactly": {"get_manager": 2},
    "must_call_with_args": [{"tool_name": "get_manager", "args": {"person_id": "hana-mori"}}],
    "must_call_in_order": ["get_manager", "get_person"],
    "must_route_to": "directory",
    "max_steps": 3,
    "max_total_tokens": 1,
    "max_total_cost_usd": 1e-6,
    "max_latency_ms": 1,
}
PAGE_ALONE = ("max_total_tokens", "max_total_cost_usd", "max_latency_ms")
"""What no page tells."""


def bundled() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(BUNDLED.read_text(encoding="utf-8"))
    return found


def variant(name: str, assertions: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The bundled manifest with another name, one case, and what is changed."""
    # Agents of a run share its id: cases of one store need ids of their own.
    case = {"id": name, "input": QUESTION, "assertions": assertions}
    return {**bundled(), "name": name, "cases": [case], **changed}


def variants() -> dict[str, dict[str, Any]]:
    data = bundled()
    page = {"ui_introspection": data["observability"]["ui_introspection"]}
    described = {key: value for key, value in page["ui_introspection"].items() if key != "extract"}
    # The smallest bound there is: the page is larger.
    small = {**data["interaction"], "max_dom_bytes": 1_025}
    # Nothing listens there.
    down = {"phoenix": {"endpoint": "http://127.0.0.1:1", "host_policy": "insecure_loopback_only"}}
    return {
        "down": variant("down", HOLDS, observability=down),
        "failing": variant("failing", FAILS),
        "blind": variant("blind", HOLDS, observability={}, interaction=small),
        "by-page": variant("by-page", HOLDS, observability=page),
        "described": variant("described", HOLDS, observability={"ui_introspection": described}),
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of the bundled manifest and its variants."""
    project = Project(tmp_path_factory.mktemp("agents"))
    project.write("pytest.ini", f"[pytest]\npythonpath = {ROOT}\n")
    project.write("conftest.py", "from datasets.conftest import people_agent\n")
    project.write_json("mcpeval.yaml", {"agent": [{"files": "**", "url_fixture": "people_agent"}]})
    shutil.copy(BUNDLED, project.path / "agent.yaml")
    for name, data in variants().items():
        project.write_json(f"{name}.agent.yaml", data)
    return project.run(
        "-p", "no:xdist", "--mcpeval-report", "report", "--junitxml=junit.xml", CI="", timeout=300
    )


def folder(run: Run, agent: str) -> RunFolder:
    (found,) = (run.path / "runs" / agent).iterdir()
    return RunFolder(found)


def outcomes(run: Run, agent: str) -> dict[str, str]:
    """Assertion kind → outcome of a case with one assertion of each kind."""
    data = json.loads(folder(run, agent).case(agent).score.read_text(encoding="utf-8"))
    return {found["assertion_kind"]: found["outcome"] for found in data["outcomes"]}


def test_the_bundled_cases_pass_and_cover_every_kind(run: Run) -> None:
    cases = bundled()["cases"]
    assert {kind for case in cases for kind in case["assertions"]} == set(ASSERTION_KINDS)
    score = json.loads(folder(run, "people-directory").score.read_text(encoding="utf-8"))
    assert set(score["by_assertion_kind"]) == set(ASSERTION_KINDS)
    assert (score["cases_passed"], score["cases_total"]) == (len(cases), len(cases)), run.out
    assert "1 failed, 8 passed, 1 error, 3 inconclusive" in run.last_line


def test_screenshots_are_in_the_report(run: Run) -> None:
    report = run.report()
    found = report["run"]["suites"]["agent.yaml"]["attachments"]
    assert set(found) == {case["id"] for case in report["suites"]["agent.yaml"]["cases"]}
    images = [one["image"] for attachments in found.values() for one in attachments if "image" in one]
    assert len(images) == 2 * len(found)
    assert images[0].startswith("screenshots/agent-yaml/")
    assert all((run.path / "report" / name).read_bytes().startswith(b"\x89PNG") for name in images)
    page = (run.path / "report" / "report.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") >= len(images)
    assert '"type":"timeline"' in page


def test_each_kind_fails(run: Run) -> None:
    assert outcomes(run, "failing") == dict.fromkeys(ASSERTION_KINDS, "failed")
    assert "failing.agent.yaml::failing" in run.line_with("FAILED", "failing")


def test_each_kind_is_inconclusive_without_its_evidence(run: Run) -> None:
    assert outcomes(run, "blind") == dict.fromkeys(ASSERTION_KINDS, "inconclusive")


def test_a_page_tells_all_but_tokens_costs_and_times(run: Run) -> None:
    expected = {kind: "inconclusive" if kind in PAGE_ALONE else "passed" for kind in ASSERTION_KINDS}
    assert outcomes(run, "by-page") == expected
    case = folder(run, "by-page").case("by-page")
    first, second = evidence.read_tool_calls(case) or []
    assert (first.tool_name, first.arguments) == ("search_people", {"query": "Goran Petrov"})
    assert json.loads(str(second.result))["id"] == "emil-haas"
    routes = evidence.read_routing_decisions(case) or []
    assert [(route.from_agent, route.target_agent) for route in routes] == [
        (None, "concierge"),
        ("concierge", "org_chart"),
    ]
    assert evidence.read_generations(case) is None


def test_a_backend_that_is_down_is_an_error_and_no_verdict(run: Run) -> None:
    words = "observability: connection refused: nothing listens there: http://127.0.0.1:1/v1/projects/default"
    assert words in run.out
    data = json.loads(folder(run, "down").score.read_text(encoding="utf-8"))
    assert (data["cases_error"], data["failed"]) == (1, 0)
    assert folder(run, "down").case("down").after_submit_screenshot.is_file()


def test_a_description_alone_is_not_read(run: Run) -> None:
    expected = dict.fromkeys(ASSERTION_KINDS, "inconclusive")
    assert outcomes(run, "described") == {**expected, "final_response_contains": "passed"}
    assert not list(folder(run, "described").case("described").observability.iterdir())
    report = folder(run, "described").report.read_text(encoding="utf-8")
    assert "Note: observability.ui_introspection.extract.tool_calls: the manifest has no selectors" in report
    assert "add selectors to the manifest, observability.ui_introspection.extract.tool_calls" in report


def test_traces_take_the_place_of_what_was_on_the_page(run: Run) -> None:
    page = folder(run, "by-page").case("by-page")
    traces = folder(run, "people-directory").case("manager")
    assert [call.timestamp for call in evidence.read_tool_calls(page) or []] == [None, None]
    assert all(call.timestamp for call in evidence.read_tool_calls(traces) or [])
    # The page shows the ids of the spans, so both tell of the same calls.
    html = traces.after_submit_dom.read_text(encoding="utf-8")
    assert all(call.span_id in html for call in evidence.read_tool_calls(traces) or [])


def test_a_captured_run_scores_the_same_again(run: Run) -> None:
    captured = folder(run, "people-directory")
    paths = [captured.score, *(captured.case(case["id"]).score for case in bundled()["cases"])]
    before = [path.read_bytes() for path in paths]
    again = Project(run.path).run("agent.yaml", "--mcpeval-score-only", str(captured.path), "-n0")
    assert again.status == 0, again.out
    assert [path.read_bytes() for path in paths] == before
