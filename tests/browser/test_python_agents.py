"""Agents visited by tests written in Python: the fixtures for pages, visits and trajectories."""

from __future__ import annotations

from pathlib import Path

from tests.agent.captured_runs import case, manifest
from tests.browser.pages import Site
from tests.support import Project

TESTS = """
import asyncio
import json
import os

import pytest

SITE = os.environ["SITE"]


def test_page(mcpeval_page):
    mcpeval_page.goto(f"{SITE}/chat")
    mcpeval_page.locator("#input").fill("hello")
    mcpeval_page.keyboard.press("Enter")
    assert mcpeval_page.locator(".agent").inner_text() == "answer 1 to hello"


@pytest.mark.asyncio
async def test_a_loop_after_a_page():
    await asyncio.sleep(0)


@pytest.mark.mcpeval_assert(final_response_contains="answer 1 to who?")
def test_capture(mcpeval_capture, mcpeval_trajectory):
    visit = mcpeval_capture(
        f"{SITE}/setup",
        "who?",
        preconditions=[
            {"action": "click", "selector": "#dismiss"},
            {"action": "select", "selector": "#agent", "value": "hr"},
        ],
        input_selector="#input",
        response_ready=".agent",
        response_wait_ms=20_000,
        reveal_actions=[{"action": "click", "selector": "#why"}],
    )
    assert "because" in visit.text
    assert visit.html.startswith("<html>")
    assert mcpeval_trajectory.response_text == visit.text


@pytest.mark.asyncio
async def test_a_loop_after_a_visit():
    await asyncio.sleep(0)


def test_case_of_a_manifest(mcpeval_capture, mcpeval_trajectory):
    visit = mcpeval_capture.case("people.agent.yaml", "ask", url=SITE)
    assert "answer 1 to who leads Engineering?" in visit.text
    assert mcpeval_trajectory.tools == ["find"]


def test_page_that_is_down(mcpeval_capture):
    mcpeval_capture("http://127.0.0.1:1/", "hello")


def test_without_evidence(mcpeval_capture, mcpeval_trajectory):
    mcpeval_capture(f"{SITE}/chat", "hello", response_ready=".agent")
    assert mcpeval_trajectory.steps < 3


def test_evidence_in_doubt(mcpeval_capture, mcpeval_trajectory):
    visit = mcpeval_capture.case("people.agent.yaml", "ask", url=SITE)
    assert mcpeval_trajectory.tools == ["find"]
    doubts = {"may_be_incomplete": {"tool_calls.jsonl": "a span has no parent"}}
    (visit.folder.observability / "incomplete.json").write_text(json.dumps(doubts))
    assert "delete" not in mcpeval_trajectory.tools


def test_nothing_visited(mcpeval_trajectory):
    assert mcpeval_trajectory.tools == []


def test_wrong_action(mcpeval_capture):
    mcpeval_capture(SITE, "hello", preconditions=[{"action": "press", "selector": "#x"}])
"""


def test_the_fixtures_for_agents(tmp_path: Path, site: Site) -> None:
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\nmcpeval_ignore = people.agent.yaml\n")
    made.write("test_agent.py", TESTS)
    site.pages["/chat"] = site.pages["/chat"].replace(
        "</main>", '</main><i class="call" data-tool="find"></i>'
    )
    calls = {"entry": ".call", "tool_name": {"attribute": "data-tool"}}
    ui = {"description": "beside the log", "exposes": ["tool_calls"], "extract": {"tool_calls": calls}}
    agent = manifest(
        case("ask", final_response_contains="unused"),
        access={"url": "http://localhost:1/chat"},
        interaction={"response_ready": {"selector": ".agent"}, "response_wait_ms": 20_000},
        observability={"ui_introspection": ui},
    )
    made.write_json("people.agent.yaml", agent)
    run = made.run("test_agent.py", "-rA", columns=200, SITE=site.url, CI="")
    assert "5 passed" in run.last_line, run.out
    assert "2 inconclusive" in run.last_line
    assert "trace/observability/tool_calls.jsonl may be incomplete: a span has no parent" in run.out
    assert "2 failed" in run.last_line
    assert "1 error" in run.last_line
    assert "navigate: http://127.0.0.1:1/ does not load: " in run.out
    assert "there is no step_count.json" in run.out
    assert "the test has visited no agent yet; use mcpeval_capture first" in run.out
    assert (
        "expected an action such as {'action': 'click', 'selector': '#open'}, found {'action': 'press'"
        in run.out
    )
    captured = [
        path.parent.parent.name for path in (tmp_path / "runs/python-tests").rglob("trace/capture.json")
    ]
    assert sorted(captured) == [
        "ask",
        "ask",
        "test_agent.py-test_capture-1",
        "test_agent.py-test_page_that_is_down-1",
        "test_agent.py-test_without_evidence-1",
    ]
