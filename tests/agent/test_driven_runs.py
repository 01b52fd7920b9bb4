"""Agents driven in a real browser through pytest: what a session does around the visits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.captured_runs import AGENT, case, manifest
from tests.browser.pages import Site, serve
from tests.support import Project, Run

CONFTEST = """
import os
import pytest


@pytest.fixture
def agent():
    return os.environ["SITE"]


@pytest.fixture
def wrong():
    return 5
"""


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


def project(tmp_path: Path, *cases: dict[str, Any], **fields: Any) -> Project:
    """A project whose agent is at the path ``/chat`` of where a fixture says."""
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    made.write("conftest.py", CONFTEST)
    content = {
        "access": {"url": "http://localhost:1/chat?case={case_id}&run={run_id}"},
        "interaction": {"response_ready": {"selector": ".agent"}, "response_wait_ms": 20_000},
        **fields,
    }
    made.write_json("agent.yaml", manifest(*cases, **content))
    made.write_json("mcpeval.yaml", {"agent": [{"url_fixture": "agent"}]})
    return made


def drive(made: Project, site: Site, *arguments: str) -> Run:
    return made.run(*arguments, columns=120, SITE=site.url, CI="", timeout=300)


def run_folder(made: Project) -> Path:
    """The folder of the only run."""
    (found,) = (made.path / "runs" / AGENT).iterdir()
    return found


CASES = [
    case("right", text="hi", final_response_contains="answer 1 to hi"),
    case("wrong", text="hi", final_response_contains="goodbye"),
    case("open", text="hi", must_call=["find"]),
]


def test_cases_are_driven_and_scored(tmp_path: Path, site: Site) -> None:
    made = project(tmp_path, *CASES)
    run = drive(made, site, "-n2", "-v", "--html", "r.html", "--mcpeval-report", "report")
    assert run.status == 1, run.out + run.err
    assert "1 failed, 1 passed, 1 inconclusive" in run.last_line
    assert "headless" in run.line_with("browser: ", "8 slots")
    folder = run_folder(made)
    assert {path.name for path in folder.iterdir()} == {"right", "wrong", "open", "score.json", "report.md"}
    for name in ("right", "wrong", "open"):
        capture = json.loads((folder / name / "trace" / "capture.json").read_text())
        assert capture["url"] == f"{site.url}/chat?case={name}&run={folder.name}"
        assert (folder / name / "trace" / "screenshots" / "step-002-after_submit.png").stat().st_size > 1_000
    assert "observed: chat How can I help? hi answer 1 to hi" in run.out
    assert folder.stat().st_mode & 0o077 == 0
    assert "data:image/png;base64," in (tmp_path / "r.html").read_text()
    assert f"runs/{AGENT}/{folder.name}/report.md" in run.out


def test_capturing_and_scoring_can_be_apart(tmp_path: Path, site: Site) -> None:
    made = project(tmp_path, *CASES)
    captured = drive(
        made, site, "--mcpeval-capture-only", "--mcpeval-report", "report", "--junitxml", "j.xml"
    )
    assert captured.status == 0, captured.out
    assert "3 captured" in captured.last_line
    assert captured.report()["verdict"] == "not_evaluated"
    skipped = captured.junit("j.xml")["right"].find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "captured, not scored (--mcpeval-capture-only)"
    folder = run_folder(made)
    assert not list(folder.glob("**/score.json"))
    # Elsewhere, later: without the agent, its fixture and a browser.
    (tmp_path / "conftest.py").unlink()
    asked = len(site.seen)
    scored = made.run("--mcpeval-score-only", str(folder), "-n2", columns=120, CI="", PATH="/nonexistent")
    assert scored.status == 1
    assert "1 failed, 1 passed, 1 inconclusive" in scored.last_line
    assert len(site.seen) == asked
    assert (folder / "score.json").is_file()


def test_a_page_that_is_down_is_an_error_at_its_step(tmp_path: Path, site: Site) -> None:
    made = project(tmp_path, *CASES[:2])
    made.write_json("mcpeval.yaml", {"agent": [{"url_fixture": "agent", "runs": "deep/captured"}]})
    with serve() as other:
        gone = other.url
    run = made.run("--mcpeval-report", "report", columns=120, SITE=gone, CI="")
    assert run.status == 1
    assert "2 error" in run.last_line
    assert "navigate: " in run.out
    assert run.report()["verdict"] == "error"
    (folder,) = (tmp_path / "deep" / "captured" / AGENT).iterdir()
    score = json.loads((folder / "score.json").read_text())
    assert score["cases_error"] == 2
    assert score["cases"][0]["error"].startswith("navigate: ")


def test_what_is_missing_is_told_before_a_browser_is_started(tmp_path: Path, site: Site) -> None:
    access = {"url": "http://localhost:1/chat", "auth": {"type": "bearer", "token_env": "NO_SUCH_TOKEN"}}
    made = project(tmp_path, *CASES[:1], access=access)
    run = drive(made, site)
    assert run.status == 1
    assert "takes credentials from NO_SUCH_TOKEN, which is not set" in " ".join(run.out.split())
    made.write_json("agent.yaml", manifest(*CASES[:1]))
    for setting, words in (
        ("url_fixture", "expected a URL, or a mapping with url, langfuse, otel, phoenix, found 5"),
        ("login_fixture", "expected a storage state of Playwright"),
    ):
        made.write_json("mcpeval.yaml", {"agent": [{setting: "wrong"}]})
        assert words in " ".join(drive(made, site).out.split())
    assert site.seen == []
    assert not (tmp_path / "runs").exists()


def test_a_trace_backend_that_is_down_is_an_error_and_keeps_what_was_seen(tmp_path: Path, site: Site) -> None:
    otel = {"endpoint": "http://127.0.0.1:9", "host_policy": "insecure_loopback_only", "trace_wait_ms": 0}
    made = project(tmp_path, CASES[0], observability={"otel": otel})
    run = drive(made, site)
    assert run.status == 1
    assert "observability: " in run.out
    assert "✓ final_response_contains" in run.out
    (row,) = json.loads((run_folder(made) / "score.json").read_text())["cases"]
    assert (row["outcome"], row["passed"]) == ("error", 1)
