"""``pytest-mcpeval fetch-observability``: traces of a captured case that came late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.agent.captures import Capture, read_capture, write_capture
from tests.agent.otlp_spans import TRACE, WHOLE, batches
from tests.agent.trace_backend import NOT_FOUND, Reply, Request, reply, serving

Captured = pytest.CaptureFixture[str]


def tempo(request: Request) -> Reply:
    if request.path == "/api/search":
        known = request.one("tags") == "session.id=s"
        return reply({"traces": [{"traceID": TRACE}] if known else []})
    return reply(batches(*WHOLE))


def manifest(path: Path, observability: dict[str, Any] | None) -> str:
    """Write a manifest with one case, ``one``."""
    declared = {} if observability is None else {"observability": observability}
    data = {
        "apiVersion": "agentevaluator/v1",
        "name": "people",
        "access": {"url": "http://localhost:1/"},
        "cases": [{"id": "one", "input": "Hi", "assertions": {"must_call": ["search"]}}],
        **declared,
    }
    file = path / "agent.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return str(file)


def otel(url: str, **fields: Any) -> dict[str, Any]:
    given = {"endpoint": url, "host_policy": "insecure_loopback_only", "trace_wait_ms": 0, **fields}
    return {"otel": given}


@pytest.fixture
def folder(tmp_path: Path) -> CaseFolder:
    made = CaseFolder(tmp_path / "runs" / "people" / "run-7" / "one")
    made.create()
    return made


def fetch(file: str, folder: CaseFolder, *options: str, case: str = "one") -> int:
    return main(["fetch-observability", file, "--case", case, "--case-dir", str(folder.path), *options])


def test_logs_are_written_and_the_case_is_no_longer_waiting(
    tmp_path: Path, folder: CaseFolder, capsys: Captured
) -> None:
    write_capture(folder, Capture("one", "http://localhost:1/", "Hi", fetch_error="connection refused"))
    with serving(tempo) as backend:
        file = manifest(tmp_path, otel(backend.url))
        assert fetch(file, folder, "--session-id", "s") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "1 trace, 4 logs written"
    assert printed[0] == f"wrote {folder.tool_calls}"
    assert '"tool_name": "search"' in folder.tool_calls.read_text(encoding="utf-8")
    capture = read_capture(folder)
    assert capture is not None
    assert capture.fetch_error is None


def test_the_session_is_that_of_the_manifest(tmp_path: Path, folder: CaseFolder, capsys: Captured) -> None:
    with serving(tempo) as backend:
        assert fetch(manifest(tmp_path, otel(backend.url)), folder) == 0
        assert backend.requests[-1].one("tags") == "session.id=one"
        # No traces are no failure.
        assert "no trace of the session 'one' was found" in capsys.readouterr().out
        assert not folder.tool_calls.exists()
        named = otel(backend.url, session_id="{run_id}/{case_id}")
        assert fetch(manifest(tmp_path, named), folder) == 0
        assert backend.requests[-1].one("tags") == "session.id=run-7/one"


def test_the_run_is_that_of_the_capture_however_its_folder_is_named_or_written(
    tmp_path: Path, folder: CaseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    sibling = folder.path.parent / "two"
    sibling.mkdir()
    monkeypatch.chdir(sibling)
    with serving(tempo) as backend:
        file = manifest(tmp_path, otel(backend.url, session_id="{run_id}/{case_id}"))
        assert fetch(file, CaseFolder(Path("../one"))) == 0
        assert backend.requests[-1].one("tags") == "session.id=run-7/one"
        write_capture(folder, Capture("one", "http://localhost:1/", "Hi", run_id="run-9"))
        assert fetch(file, folder) == 0
        assert backend.requests[-1].one("tags") == "session.id=run-9/one"


@pytest.mark.parametrize(("case_id", "agent"), [("two", None), ("one", "pets")])
def test_the_folder_of_another_case_is_refused(
    tmp_path: Path, folder: CaseFolder, capsys: Captured, case_id: str, agent: str | None
) -> None:
    write_capture(folder, Capture(case_id, "http://localhost:1/", "Hi", agent=agent))
    with serving(tempo) as backend:
        assert fetch(manifest(tmp_path, otel(backend.url)), folder, "--session-id", "s") == 1
        assert backend.requests == []
    assert f"holds the case '{case_id}' of the agent '{agent or 'people'}'" in capsys.readouterr().err
    assert not folder.tool_calls.exists()


def test_times_are_passed_on(tmp_path: Path, folder: CaseFolder, capsys: Captured) -> None:
    times = ("--since", "2027-01-15T09:00:00Z", "--until", "2027-01-15T10:00:00Z")
    with serving(tempo) as backend:
        file = manifest(tmp_path, otel(backend.url))
        assert fetch(file, folder, "--session-id", "s", *times) == 0
        assert "0 traces, 0 logs written" in capsys.readouterr().out
        assert backend.requests[0].one("start") == "1800003598"
        assert fetch(file, folder, "--since", "yesterday") == 1
    assert "since: expected an ISO time with a zone" in capsys.readouterr().err


def test_traces_from_before_the_capture_are_not_taken(
    tmp_path: Path, folder: CaseFolder, capsys: Captured
) -> None:
    write_capture(folder, Capture("one", "http://localhost:1/", "Hi", started="2027-01-15T09:00:00.000Z"))
    with serving(tempo) as backend:
        file = manifest(tmp_path, otel(backend.url))
        assert fetch(file, folder, "--session-id", "s") == 0
        assert "0 traces, 0 logs written" in capsys.readouterr().out
        assert fetch(file, folder, "--session-id", "s", "--since", "2027-01-15T07:00:00Z") == 0
        assert "1 trace, 4 logs written" in capsys.readouterr().out


def test_what_cannot_be_asked_ends_with_1(tmp_path: Path, folder: CaseFolder, capsys: Captured) -> None:
    assert fetch(manifest(tmp_path, None), folder) == 1
    assert "no trace backend is declared: add observability.langfuse" in capsys.readouterr().err
    with serving(lambda _: NOT_FOUND) as backend:
        file = manifest(tmp_path, otel(backend.url))
        assert fetch(file, folder) == 1
        assert "HTTP 404 Not Found" in capsys.readouterr().err
        assert fetch(file, folder, case="on") == 1
        assert "no case 'on' (did you mean \"one\"?)" in capsys.readouterr().err
        assert fetch(file, CaseFolder(tmp_path / "nowhere")) == 1
        assert "--case-dir: no such directory" in capsys.readouterr().err
        assert not (tmp_path / "nowhere").exists()
    assert fetch(manifest(tmp_path, otel("http://127.0.0.1:1", headers_env="NO_SUCH_HEADERS")), folder) == 1
    assert "NO_SUCH_HEADERS, which is not set" in capsys.readouterr().err


def test_two_backends_are_an_error(tmp_path: Path, folder: CaseFolder, capsys: Captured) -> None:
    both = {**otel("https://tempo.example.com"), "phoenix": {"endpoint": "https://phoenix.example.com"}}
    assert fetch(manifest(tmp_path, both), folder) == 1
    printed = capsys.readouterr().err
    assert "agent.yaml:1:" in printed
    assert "otel" in printed
    assert "phoenix" in printed
