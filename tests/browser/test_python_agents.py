"""Agents visited by tests written in Python: the fixtures for pages, visits and trajectories."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.agent.captured_runs import case, manifest
from tests.agent.trace_backend import reply, serving
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

CALLING = """
const call = '<i class="call" data-tool="find"></i>';
input.addEventListener("keydown", () => log.insertAdjacentHTML("beforeend", call));
</script>"""


def test_the_fixtures_for_agents(tmp_path: Path, site: Site) -> None:
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\nmcpeval_ignore = people.agent.yaml\n")
    made.write("test_agent.py", TESTS)
    site.pages["/chat"] = site.pages["/chat"].replace("</script>", CALLING)
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
    (session,) = (tmp_path / "runs").glob("*/*")
    assert session.stat().st_mode & 0o077 == 0
    captured = [path.parts[-4:-2] for path in session.glob("*/*/trace/capture.json")]
    assert sorted((run.rpartition("-")[0], case) for run, case in captured) == [
        ("test_agent.py-test_capture-1", "page"),
        ("test_agent.py-test_case_of_a_manifest-1", "ask"),
        ("test_agent.py-test_evidence_in_doubt-1", "ask"),
        ("test_agent.py-test_page_that_is_down-1", "page"),
        ("test_agent.py-test_without_evidence-1", "page"),
    ]


CONFTEST = """
import os
import pytest


@pytest.fixture
def agent():
    return os.environ["SITE"]


@pytest.fixture
def places():
    return {"url": os.environ["SITE"], "otel": os.environ["TRACES"]}


@pytest.fixture
def login():
    cookie = {"name": "user", "value": "ada", "domain": "127.0.0.1", "path": "/", "expires": -1}
    return {"cookies": [{**cookie, "httpOnly": False, "secure": False, "sameSite": "Lax"}]}


@pytest.fixture
def broken():
    raise RuntimeError("no agent today")
"""

TESTS_OF_CASES = """
import pytest


@pytest.mark.parametrize("manifest", ["one", "two"])
def test_settings_hold(mcpeval_capture, manifest):
    visit = mcpeval_capture.case(f"{manifest}.agent.yaml", "ask")
    assert "cookie: user=ada" in visit.text
    assert ("MCP" in visit.folder.capture.read_text()) == (manifest == "two")


@pytest.mark.parametrize("language", ["C++", "C#"])
def test_runs(mcpeval_capture, language):
    mcpeval_capture.case("traced.agent.yaml", "ask")
    mcpeval_capture.case("traced.agent.yaml", "ask")


def test_page_and_visit(mcpeval_page, mcpeval_capture):
    visit = mcpeval_capture.case("one.agent.yaml", "ask")
    mcpeval_page.goto(visit.folder.after_submit_dom.as_uri())
    assert "answer 1" in mcpeval_page.locator("main").inner_text()


def test_setting_of_pages(mcpeval_capture):
    assert mcpeval_capture.case("small.agent.yaml", "ask").text


@pytest.mark.mcpeval_assert(must_not_call=["delete"], must_call=["find"])
def test_backend_that_is_down(mcpeval_capture):
    mcpeval_capture.case("dead.agent.yaml", "ask")


def test_credentials(mcpeval_capture):
    mcpeval_capture.case("secret.agent.yaml", "ask")


def test_fixture_that_fails(mcpeval_capture):
    mcpeval_capture.case("broken.agent.yaml", "ask")
"""


def test_a_case_is_visited_as_its_manifest_says(tmp_path: Path, site: Site, npm_programs: None) -> None:
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\nmcpeval_ignore = *.agent.yaml\n")
    made.write("conftest.py", CONFTEST)
    made.write("test_cases.py", TESTS_OF_CASES)
    site.pages["/cookie"] = site.pages["/cookie"].replace("</script>", CALLING)
    url = "http://localhost:1/cookie?run={run_id}"
    calls = {"entry": ".call", "tool_name": {"attribute": "data-tool"}}
    ui = {"description": "beside the log", "exposes": ["tool_calls"], "extract": {"tool_calls": calls}}
    otel = {"endpoint": "http://127.0.0.1:9", "host_policy": "insecure_loopback_only", "trace_wait_ms": 0}
    ready = {"response_ready": {"selector": ".agent"}, "response_wait_ms": 20_000}
    traced = {**otel, "session_id": "{run_id}-{case_id}"}
    auth = {"type": "bearer", "token_env": "NO_SUCH_TOKEN"}
    manifests: dict[str, dict[str, Any]] = {
        "one": {},
        "two": {},
        "traced": {"observability": {"otel": traced}},
        "small": {"interaction": {**ready, "max_dom_bytes": 1_025}},
        "dead": {"observability": {"otel": otel, "ui_introspection": ui}},
        "secret": {"access": {"url": url, "auth": auth}},
        "broken": {},
    }
    for name, fields in manifests.items():
        content = {"name": name, "access": {"url": url}, "interaction": ready, **fields}
        made.write_json(f"{name}.agent.yaml", manifest(case("ask", final_response_contains="x"), **content))
    settings: list[dict[str, Any]] = [
        {"files": "*.agent.yaml", "url_fixture": "agent", "login_fixture": "login"},
        {"files": "two.agent.yaml", "driver": "playwright-mcp"},
        {"files": "traced.agent.yaml", "url_fixture": "places"},
        {"files": "broken.agent.yaml", "fixtures": ["broken"]},
    ]
    made.write_json("mcpeval.yaml", {"agent": settings})
    # Slots of its own; Chromium has a socket in the directory, whose path must be short.
    with (
        tempfile.TemporaryDirectory(prefix="mcpeval-") as temporary,
        serving(lambda request: reply({"traces": []})) as backend,
    ):
        environ = {"SITE": site.url, "TRACES": backend.url, "TMPDIR": temporary, "CI": ""}
        run = made.run("-rA", "--mcpeval-pool-size=1", columns=200, timeout=300, **environ)
    assert "5 passed, 3 errors, 1 inconclusive" in run.last_line, run.out + run.err
    assert "observability: connection refused" in run.out
    assert "takes credentials from NO_SUCH_TOKEN, which is not set" in run.out
    assert "the fixture broken failed: no agent today" in run.out
    (session,) = (tmp_path / "runs").glob("*/*")
    captures = {path.parts[-4]: path for path in session.glob("*-test_runs-*/ask/trace/capture.json")}
    assert len(captures) == 4
    asked = [json.loads(path.read_text())["url"] for path in captures.values()]
    assert asked == [f"{site.url}/cookie?run={run_id}" for run_id in captures]
    sessions = {request.one("tags") for request in backend.asked("/api/search")}
    assert sessions == {f"session.id={run_id}-ask" for run_id in captures}
