"""Agents driven in a real browser through pytest: what a session does around the visits."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.captured_runs import AGENT, case, manifest
from tests.browser.pages import Site, chat, serve
from tests.support import Project, Run

CONFTEST = """
import os
import pytest


@pytest.fixture
def agent():
    return os.environ["SITE"]


@pytest.fixture
def gone():
    return os.environ["GONE"]


@pytest.fixture
def wrong():
    return 5


@pytest.fixture
def misspelled():
    return {"cookie": []}
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
    # The greeting of the page, and what was typed.
    mute = case("mute", text="may I help?", final_response_contains="I help?")
    made = project(tmp_path, *CASES, mute)
    run = drive(made, site, "-n2", "-v", "--html", "r.html", "--mcpeval-report", "report")
    assert run.status == 1, run.out + run.err
    assert "2 failed, 1 passed, 1 inconclusive" in run.last_line
    assert "headless" in run.line_with("browser: ", "8 slots")
    folder = run_folder(made)
    assert {path.name for path in folder.iterdir()} == {
        *("right", "wrong", "open", "mute", "score.json", "report.md")
    }
    assert "only where the page showed it before the input and where the page repeats" in run.out
    for name in ("right", "wrong", "open"):
        capture = json.loads((folder / name / "trace" / "capture.json").read_text())
        assert capture["url"] == f"{site.url}/chat?case={name}&run={folder.name}"
        assert capture["final_url"] == capture["url"]
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


STARTING = """

@pytest.fixture
def start(request):
    if "wrong" in request.node.name:
        raise RuntimeError("the agent does not start")
"""


def test_the_report_tells_of_cases_that_were_not_captured(tmp_path: Path, site: Site) -> None:
    made = project(tmp_path, *CASES)
    made.write("conftest.py", CONFTEST + STARTING)
    made.write_json("mcpeval.yaml", {"agent": [{"url_fixture": "agent", "fixtures": ["start"]}]})
    run = drive(made, site, "-k", "right or wrong")
    assert "1 passed, 1 deselected, 1 error" in run.last_line
    folder = run_folder(made)
    score = json.loads((folder / "score.json").read_text())
    assert [score[f"cases_{name}"] for name in ("total", "passed", "error")] == [2, 1, 1]
    assert score["cases"][1]["error"] == "the case was not captured: the agent does not start"
    assert score["not_scored"] == ["open"]
    report = (folder / "report.md").read_text()
    assert "**1 of 2 cases passed** (1 passed, 1 error)." in report
    assert "Not scored, since they did not run or were only captured: open." in report
    written = {path: path.read_bytes() for path in (folder / "score.json", folder / "report.md")}
    again = made.run("--mcpeval-score-only", str(folder), "-k", "right or wrong", columns=120, CI="")
    assert "1 passed, 1 deselected, 1 error" in again.last_line
    assert {path: path.read_bytes() for path in written} == written


def interrupted(tmp_path: Path, site: Site, mute: str, *arguments: str) -> tuple[Project, str]:
    """A run of three cases that gets SIGINT when one is asked of those that are never answered; its output.

    ``mute`` is part of the addresses of these.
    """
    cases = [case(name, text="hi", final_response_contains="answer 1") for name in ("one", "two", "three")]
    made = project(tmp_path, *cases, access={"url": "http://localhost:1/chat?case={case_id}"})
    started: list[subprocess.Popen[str]] = []

    def interrupt(path: str) -> None:
        if path == "/asked" and started:
            # As a terminal does it: to the whole group, workers included.
            os.killpg(started.pop().pid, signal.SIGINT)

    asking = """if (location.search.includes("MUTE")) {
      input.parentElement.addEventListener("keydown", (event) => {
        event.stopPropagation();
        fetch("/asked");
      }, true);
    }"""
    site.pages["/chat"] = chat(script=asking.replace("MUTE", mute))
    site.on_request = interrupt
    command, environ = made.command(*arguments), made.environ(120, SITE=site.url, CI="")
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        started.append(process)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 2, out
    # Nothing follows the summary, such as "Event loop is closed".
    assert out.rstrip().endswith("=====")
    return made, out


def test_the_report_of_an_interrupted_run_names_the_cases_that_did_not_run(
    tmp_path: Path, site: Site
) -> None:
    made, out = interrupted(tmp_path, site, "two", "-p", "no:xdist")
    folder = run_folder(made)
    score = json.loads((folder / "score.json").read_text())
    assert [(row["case_id"], row["outcome"]) for row in score["cases"]] == [
        ("one", "passed"),
        ("two", "error"),
    ]
    assert "did not finish" in score["cases"][1]["error"]
    assert score["not_scored"] == ["three"]
    assert f"runs/{AGENT}/{folder.name}/report.md" in out


def test_an_interrupted_run_of_workers_says_where_its_captures_lie(tmp_path: Path, site: Site) -> None:
    made, out = interrupted(tmp_path, site, "case", "-n2")
    folder = f"runs/{AGENT}/{run_folder(made).name}"
    (told,) = re.findall(r"pytest --mcpeval agent\.yaml --mcpeval-score-only=(\S+)", out)
    assert (tmp_path / told).resolve() == (tmp_path / folder).resolve()


def test_what_is_captured_holds_no_credentials_and_scores_the_same_without_them(
    tmp_path: Path, site: Site
) -> None:
    sent = "YWRhOnMzY3IzdCZwYXNz"
    site.pages["/told"] = chat(extra=f"<p title='{sent}'>Ada Lovelace s3cr3t&amp;pass</p>")
    auth = {"type": "basic", "username_env": "AGENT_USER", "password_env": "AGENT_PASSWORD"}
    access = {"url": "http://localhost:1/told", "auth": auth}
    made = project(tmp_path, case("told", text="hi", final_response_contains="goodbye"), access=access)
    variables = {"AGENT_USER": "ada", "AGENT_PASSWORD": "s3cr3t&pass"}
    driven = made.run(columns=120, SITE=site.url, CI="", timeout=300, **variables)
    assert site.authorizations("/told") == {f"Basic {sent}"}
    folder = run_folder(made)
    scores = {path: path.read_bytes() for path in folder.glob("**/score.json")}
    again = made.run("--mcpeval-score-only", str(folder), columns=120, CI="")
    assert {path: path.read_bytes() for path in folder.glob("**/score.json")} == scores
    for run in (driven, again):
        assert "answer 1 to hi Ada Lovelace ${AGENT_PASSWORD}" in run.out
    files = {path: path.read_bytes() for path in folder.glob("**/*") if path.is_file()}
    assert len(files) == 8
    for secret in (b"s3cr3t", sent.encode()):
        assert [path for path, content in files.items() if secret in content] == []


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of two agents: the page of ``gone`` is down, and for ``blind`` nothing keeps traces."""
    made = Project(tmp_path_factory.mktemp("harmed"))
    made.write("pytest.ini", "[pytest]\n")
    made.write("conftest.py", CONFTEST)
    access = {"url": "http://localhost:1/chat"}
    interaction = {"response_ready": {"selector": ".agent"}, "response_wait_ms": 20_000}
    otel = {"endpoint": "http://127.0.0.1:9", "host_policy": "insecure_loopback_only", "trace_wait_ms": 0}
    made.write_json("gone.agent.yaml", manifest(*CASES[:2], name="gone", access=access))
    blind = {"access": access, "interaction": interaction, "observability": {"otel": otel}}
    made.write_json("blind.agent.yaml", manifest(CASES[0], name="blind", **blind))
    settings = [
        {"files": "gone.agent.yaml", "url_fixture": "gone", "runs": "deep/captured"},
        {"files": "blind.agent.yaml", "url_fixture": "agent"},
    ]
    made.write_json("mcpeval.yaml", {"agent": settings})
    with serve() as other:
        gone = other.url
    with serve() as site:
        return made.run("--mcpeval-report", "report", columns=120, SITE=site.url, GONE=gone, CI="")


def score_of(run: Run, runs: str, agent: str) -> Any:
    """The score of the only run of an agent."""
    (folder,) = (run.path / runs / agent).iterdir()
    return json.loads((folder / "score.json").read_text())


def test_a_page_that_is_down_is_an_error_at_its_step(harmed: Run) -> None:
    assert harmed.status == 1
    assert "3 error" in harmed.last_line
    assert "navigate: " in harmed.out
    assert harmed.report()["verdict"] == "error"
    score = score_of(harmed, "deep/captured", "gone")
    assert score["cases_error"] == 2
    assert score["cases"][0]["error"].startswith("navigate: ")


def test_a_trace_backend_that_is_down_is_an_error_and_keeps_what_was_seen(harmed: Run) -> None:
    assert harmed.status == 1
    assert "observability: " in harmed.out
    assert "✓ final_response_contains" in harmed.out
    (row,) = score_of(harmed, "runs", "blind")["cases"]
    assert (row["outcome"], row["passed"]) == ("error", 1)


def test_what_is_missing_is_told_before_a_browser_is_started(tmp_path: Path, site: Site) -> None:
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    made.write("conftest.py", CONFTEST)
    access = {"url": "http://localhost:1/chat", "auth": {"type": "bearer", "token_env": "NO_SUCH_TOKEN"}}
    made.write_json("secret.agent.yaml", manifest(CASES[0], name="secret", access=access))
    settings = [{"files": "secret.agent.yaml", "url_fixture": "agent"}]
    for setting, fixture in (
        ("url_fixture", "wrong"),
        ("login_fixture", "wrong"),
        ("login_fixture", "misspelled"),
    ):
        name = f"{setting}-{fixture}".replace("_", "-")
        made.write_json(f"{name}.agent.yaml", manifest(CASES[0], name=name))
        settings.append({"files": f"{name}.agent.yaml", setting: fixture})
    made.write_json("mcpeval.yaml", {"agent": settings})
    run = drive(made, site)
    assert run.status == 1
    out = " ".join(run.out.split())
    for words in (
        "takes credentials from NO_SUCH_TOKEN, which is not set",
        "expected a URL, or a mapping with url, langfuse, otel, phoenix, found 5",
        "a storage state of Playwright: expected {cookies: […], origins: […]}, found int",
        "a storage state of Playwright: expected {cookies: […], origins: […]}, found 'cookie'",
    ):
        assert words in out
    assert site.seen == []
    assert not (tmp_path / "runs").exists()
