"""Evidence by LangFuse's API, replayed by a real HTTP server to the official SDK."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent import evidence
from pytest_mcpeval.kinds.agent.observability import query_client
from pytest_mcpeval.kinds.agent.observability.fetching import (
    FetchResult,
    ObservabilityError,
    TraceQuery,
    fetch,
)
from pytest_mcpeval.kinds.agent.schema import LangfuseSource
from tests.agent.trace_backend import NOT_FOUND, Reply, Request, reply, serving

OBSERVATIONS = "/api/public/v2/observations"
LOGS = ("tool_calls.jsonl", "routing_decisions.jsonl", "step_count.json", "generations.jsonl")

Answer = Callable[[Request], Reply]


@pytest.fixture(autouse=True)
def _prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_client, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setenv("LF_PUBLIC", "pk-lf-1")
    monkeypatch.setenv("LF_SECRET", "sk-lf-very-secret")


@pytest.fixture
def folder(tmp_path: Path) -> CaseFolder:
    made = CaseFolder(tmp_path / "agent" / "run" / "case")
    made.create()
    return made


def observation(number: int, parent: int | None, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """An observation as ``GET /api/public/v2/observations`` gives it."""
    return {
        "id": f"o{number}",
        "traceId": "t1",
        "projectId": "p",
        "parentObservationId": None if parent is None else f"o{parent}",
        "type": kind,
        "name": name,
        "startTime": f"2027-01-15T08:00:00.{number:03}Z",
        "endTime": f"2027-01-15T08:00:01.{number:03}Z",
        **fields,
    }


WHOLE = [
    observation(1, None, "SPAN", "chat", sessionId="s"),
    observation(2, 1, "AGENT", "concierge"),
    observation(
        3,
        2,
        "GENERATION",
        "ask",
        model="m-1",
        usageDetails={"input": 10, "output": 5, "total": 15},
        costDetails={"input": 0.1, "output": 0.15, "total": 0.25},
        totalCost=0.25,
    ),
    observation(4, 2, "TOOL", "search", input='{"query": "Ada"}', output="[1]"),
    observation(5, 4, "TOOL", "inner", input="no json", output=None),
]


def langfuse(rows: list[dict[str, Any]], page: int = 100) -> Answer:
    """A server of version 4."""

    def answer(request: Request) -> Reply:
        if request.path != OBSERVATIONS:
            return NOT_FOUND
        if "traceId" in request.query:
            found = [row for row in rows if row.get("traceId") == request.one("traceId")]
        else:
            found = [row for row in rows if row.get("sessionId") == request.one("sessionId")]
        start = int(request.query.get("cursor", ["0"])[0])
        meta = {"cursor": str(start + page)} if start + page < len(found) else {}
        return reply({"data": found[start : start + page], "meta": meta})

    return answer


def source(url: str, **fields: Any) -> LangfuseSource:
    given = {"host_policy": "insecure_loopback_only", "trace_wait_ms": 0, **fields}
    return LangfuseSource(host=url, public_key_env="LF_PUBLIC", secret_key_env="LF_SECRET", **given)


def fetched(folder: CaseFolder, answer: Answer, **query: Any) -> FetchResult:
    with serving(answer) as backend:
        return fetch(source(backend.url), TraceQuery("s", **query), folder)


def check_logs(folder: CaseFolder) -> None:
    calls = evidence.read_tool_calls(folder) or []
    assert [(call.tool_name, call.arguments, call.result) for call in calls] == [
        ("search", {"query": "Ada"}, "[1]"),
        ("inner", None, None),
    ]
    (route,) = evidence.read_routing_decisions(folder) or []
    assert (route.target_agent, route.from_agent, route.span_id) == ("concierge", None, "o2")
    steps = evidence.read_step_count(folder)
    assert steps is not None
    # The tool below a tool is no step.
    assert steps.step_span_ids == ["o2", "o4"]
    (generation,) = evidence.read_generations(folder) or []
    assert generation.model_dump() == {
        "span_id": "o3",
        "model": "m-1",
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_cost_usd": 0.1,
        "output_cost_usd": 0.15,
        "total_cost_usd": 0.25,
        "started_at": "2027-01-15T08:00:00.003000Z",
        "ended_at": "2027-01-15T08:00:01.003000Z",
    }


def test_observations_become_logs(folder: CaseFolder) -> None:
    with serving(langfuse(WHOLE, page=2)) as backend:
        result = fetch(source(backend.url), TraceQuery("s", since="2027-01-15T08:00:00Z"), folder)
    assert result == FetchResult(1, 0, (), LOGS)
    check_logs(folder)
    first = backend.requests[0]
    keys = base64.b64encode(b"pk-lf-1:sk-lf-very-secret").decode()
    assert first.headers["authorization"] == f"Basic {keys}"
    assert first.one("fromStartTime").startswith("2027-01-15T07:59:58")
    assert [request.query.get("cursor") for request in backend.requests[1:]] == [None, ["2"], ["4"]]


def old_langfuse(rows: list[dict[str, Any]], pages: int = 1) -> Answer:
    """A server of version 2 or 3: no observations API of version 2."""

    def answer(request: Request) -> Reply:
        if request.path == "/api/public/traces":
            assert request.one("sessionId") == "s"
            number = int(request.one("page"))
            listed = [{"id": f"t{number}"}]
            return reply({"data": listed, "meta": {"page": number, "totalPages": pages}})
        if request.path.startswith("/api/public/traces/"):
            trace = request.path.rpartition("/")[2]
            return reply({"id": trace, "observations": [row for row in rows if row["traceId"] == trace]})
        return NOT_FOUND

    return answer


def test_older_servers_are_asked_for_traces(folder: CaseFolder) -> None:
    second = [{**row, "traceId": "t2", "id": f"x{row['id']}"} for row in WHOLE[:1]]
    with serving(old_langfuse([*WHOLE, *second], pages=2)) as backend:
        result = fetch(source(backend.url, trace_wait_ms=100), TraceQuery("s"), folder)
    assert (result.traces, result.written) == (2, LOGS)
    check_logs(folder)
    assert backend.requests[-1].headers["authorization"].startswith("Basic ")
    # It is found out once that the server is old.
    assert len(backend.asked(OBSERVATIONS)) == 1


def test_a_cost_of_nothing_is_no_cost(folder: CaseFolder) -> None:
    rows = [{**row, "costDetails": {}, "totalCost": 0} for row in WHOLE]
    fetched(folder, langfuse(rows))
    (generation,) = evidence.read_generations(folder) or []
    assert (generation.total_tokens, generation.total_cost_usd) == (15, None)


def test_the_top_of_an_application_has_no_parent(folder: CaseFolder) -> None:
    rows = [{**WHOLE[0], "parentObservationId": "elsewhere", "isRootObservation": True}, *WHOLE[1:]]
    assert fetched(folder, langfuse(rows)).notes == ()
    check_logs(folder)


@pytest.mark.parametrize(
    "bad",
    [
        {"type": "SPAN", "traceId": "t1"},
        observation(8, 1, "TOOL", "", sessionId="s"),
        observation(8, 1, "TOOL", "t", startTime="soon"),
        observation(8, 1, "GENERATION", "g", usageDetails={"total": "many"}),
        observation(8, 1, "GENERATION", "g", costDetails=[1]),
        observation(8, 1, "TOOL", "t", sessionId="s", traceId=None),
        observation(8, 1, "TOOL", "t", sessionId="s", traceId=["t1"]),
    ],
)
def test_malformed_observations_are_counted(folder: CaseFolder, bad: Mapping[str, Any]) -> None:
    result = fetched(folder, langfuse([*WHOLE, dict(bad)]))
    assert result.notes == ("1 malformed span skipped: evidence may be missing",)
    assert result.skipped_spans == 1
    check_logs(folder)


def test_what_may_pass_is_tried_again(folder: CaseFolder) -> None:
    troubles = [Reply(b"{}", 502), Reply(hang_up=True)]
    whole = langfuse(WHOLE)
    with serving(lambda request: troubles.pop() if troubles else whole(request)) as backend:
        assert fetch(source(backend.url), TraceQuery("s"), folder).written == LOGS
    with pytest.raises(ObservabilityError, match=r"connection refused.* \(tried 4 times\)"):
        fetch(source(backend.url), TraceQuery("s"), folder)
    with pytest.raises(ObservabilityError, match=r"HTTP 500 .*oops.* \(tried 4 times\)"):
        fetched(folder, lambda _: Reply(b'{"message": "oops"}', 500))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            reply({"message": "sk-lf-very-secret is wrong"}, 401),
            r"HTTP 401 .*\$\{LF_SECRET\} is wrong.*creden",
        ),
        (Reply(b"<html>Log in", content_type="text/html"), "an HTML page, where JSON was expected"),
        (reply({"rows": []}), "expected a list in `data`"),
    ],
    ids=["401", "html", "no list"],
)
def test_refusals_are_reported_at_once(folder: CaseFolder, found: Reply, words: str) -> None:
    with serving(lambda _: found) as backend, pytest.raises(ObservabilityError, match=words) as caught:
        fetch(source(backend.url), TraceQuery("s"), folder)
    assert len(backend.requests) == 1
    assert "very-secret" not in str(caught.value)


def test_a_missing_key_is_reported(folder: CaseFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LF_SECRET")
    with pytest.raises(ObservabilityError, match="LF_SECRET, which is not set"):
        fetch(source("http://127.0.0.1:1"), TraceQuery("s"), folder)
