"""Evidence by Phoenix's REST API, replayed by a real HTTP server. `live_tests` has the server itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent import evidence
from pytest_mcpeval.kinds.agent.observability import phoenix
from pytest_mcpeval.kinds.agent.observability.fetching import ObservabilityError, TraceQuery, fetch
from pytest_mcpeval.kinds.agent.schema import PhoenixSource
from tests.agent.trace_backend import NOT_FOUND, Reply, Request, reply, serving

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def folder(tmp_path: Path) -> CaseFolder:
    made = CaseFolder(tmp_path / "agent" / "run" / "case")
    made.create()
    return made


def span(number: int, parent: int | None, kind: str, **attributes: Any) -> dict[str, Any]:
    """A span in the shape of ``GET /v1/projects/{project}/spans``."""
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "id": f"U3Bhbjo{number}",
        "name": f"span {number}",
        "context": {"trace_id": TRACE, "span_id": f"{number:016x}"},
        "span_kind": kind,
        "parent_id": None if parent is None else f"{parent:016x}",
        "start_time": f"2027-01-15T08:00:00.{number:03}000+00:00",
        "end_time": f"2027-01-15T08:00:01.{number:03}000+00:00",
        "status_code": "OK",
        "status_message": "",
        "attributes": named,
        "events": [],
    }


SPANS = [
    span(1, None, "CHAIN", session__id="s/1"),
    span(2, 1, "AGENT", agent__name="concierge"),
    span(
        3,
        2,
        "LLM",
        llm__model_name="m-1",
        llm__token_count__prompt=10,
        llm__token_count__completion=5,
        llm__token_count__total=15,
        llm__cost__total=0.25,
    ),
    span(4, 2, "TOOL", tool__name="search", input__value='{"query": "Ada"}', output__value="[1]"),
    span(5, 2, "UNKNOWN", gen_ai__operation__name="execute_tool", gen_ai__tool__name="get"),
]


class PhoenixReplay:
    """A Phoenix server with one project; ``page`` spans to a page. Old ones ignore ``attribute``."""

    def __init__(self, spans: Sequence[Mapping[str, Any]], page: int = 100, *, old: bool = False) -> None:
        self._spans = spans
        self._page = page
        self._old = old

    def __call__(self, request: Request) -> Reply:
        if request.path != "/v1/projects/my agents/spans":
            return NOT_FOUND
        found = [one for one in self._spans if self._fits(one, request.query)]
        start = int(request.query.get("cursor", ["0"])[0])
        end = start + self._page
        cursor = str(end) if end < len(found) else None
        return reply({"data": found[start:end], "next_cursor": cursor})

    def _fits(self, one: Mapping[str, Any], query: Mapping[str, Sequence[str]]) -> bool:
        if "trace_id" in query:
            return one["context"].get("trace_id") in query["trace_id"]
        # The server reads the value as JSON.
        session = (one["attributes"] or {}).get("session.id")
        return self._old or query["attribute"] == [f'session.id:"{session}"']


def source(url: str) -> PhoenixSource:
    return PhoenixSource(
        endpoint=url, project="my agents", host_policy="insecure_loopback_only", trace_wait_ms=0
    )


@pytest.mark.parametrize("old", [False, True], ids=["filtering", "old"])
def test_the_spans_of_a_session_become_logs(folder: CaseFolder, old: bool) -> None:
    other = {**span(9, None, "TOOL", tool__name="other", session__id="t"), "context": {"trace_id": "f" * 32}}
    with serving(PhoenixReplay([*SPANS, other], page=2, old=old)) as backend:
        result = fetch(source(backend.url), TraceQuery("s/1"), folder)
    assert (result.traces, result.skipped_spans, result.notes) == (1, 0, ())
    calls = evidence.read_tool_calls(folder) or []
    assert [(call.tool_name, call.arguments, call.result) for call in calls] == [
        ("search", {"query": "Ada"}, "[1]"),
        ("get", None, None),
    ]
    assert [route.target_agent for route in evidence.read_routing_decisions(folder) or []] == ["concierge"]
    steps = evidence.read_step_count(folder)
    assert steps is not None
    assert steps.total_steps == 3
    (generation,) = evidence.read_generations(folder) or []
    assert (generation.model, generation.input_tokens, generation.output_tokens) == ("m-1", 10, 5)
    assert (generation.total_tokens, generation.total_cost_usd) == (15, 0.25)
    assert generation.ended_at == "2027-01-15T08:00:01.003000Z"


def test_only_spans_since_the_capture_are_searched(folder: CaseFolder) -> None:
    with serving(PhoenixReplay(SPANS)) as backend:
        early = fetch(source(backend.url), TraceQuery("s/1", since="2027-01-15T07:00:00Z"), folder)
        late = fetch(source(backend.url), TraceQuery("s/1", since="2027-01-15T09:00:00Z"), folder)
    assert backend.requests[0].one("start_time") == "2027-01-15T06:59:58+00:00"
    assert (early.traces, late.traces) == (1, 0)


def test_many_traces_are_asked_for_in_parts(folder: CaseFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phoenix, "TRACES_AT_ONCE", 2)
    spans = [span(number, None, "TOOL", tool__name="t", session__id="s") for number in range(1, 6)]
    for number, one in enumerate(spans):
        one["context"] = {"trace_id": f"{number:032x}", "span_id": f"{number:016x}"}
    with serving(PhoenixReplay(spans)) as backend:
        result = fetch(source(backend.url), TraceQuery("s"), folder)
    assert result.traces == 5
    assert [len(request.query.get("trace_id", ())) for request in backend.requests] == [0, 2, 2, 1]


def test_malformed_spans_are_counted(folder: CaseFolder) -> None:
    bad = [
        {**span(6, 1, "TOOL", tool__name="t"), "start_time": "soon"},
        {**span(7, 1, "TOOL", tool__name="t"), "context": {"trace_id": TRACE}},
        {**span(8, 1, "TOOL", tool__name="t"), "attributes": None},
        span(9, 1, "LLM", llm__token_count__total=1.5),
        {**span(10, 1, "TOOL", tool__name="t", session__id="s/1"), "context": {}},
    ]
    with serving(PhoenixReplay([*SPANS, *bad])) as backend:
        result = fetch(source(backend.url), TraceQuery("s/1"), folder)
    assert result.notes == ("5 malformed spans skipped: evidence may be missing",)
    assert len(evidence.read_tool_calls(folder) or []) == 2


def test_a_project_without_spans_is_none_yet(folder: CaseFolder) -> None:
    with serving(lambda _: NOT_FOUND) as backend:
        assert fetch(source(backend.url), TraceQuery("s"), folder).traces == 0


def test_another_api_is_reported(folder: CaseFolder) -> None:
    with (
        serving(lambda _: reply({"spans": []})) as backend,
        pytest.raises(ObservabilityError, match=r"/v1/projects/my%20agents/spans: expected spans in `data`"),
    ):
        fetch(source(backend.url), TraceQuery("s"), folder)
