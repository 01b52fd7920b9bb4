"""Evidence by Tempo's query API, from a real HTTP server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent import evidence
from pytest_mcpeval.kinds.agent.observability import fetching, query_client, tempo
from pytest_mcpeval.kinds.agent.observability.fetching import (
    FetchResult,
    ObservabilityError,
    TraceQuery,
    fetch,
)
from pytest_mcpeval.kinds.agent.observability.otlp import trace_of
from pytest_mcpeval.kinds.agent.schema import OtelSource
from tests.agent.otlp_spans import START, TRACE, WHOLE, batches, resource_spans, span, tool
from tests.agent.trace_backend import NOT_FOUND, Reply, Request, reply, serving

LOGS = ("tool_calls.jsonl", "routing_decisions.jsonl", "step_count.json", "generations.jsonl")

Answer = Callable[[Request], Reply]


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_client, "FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture
def folder(tmp_path: Path) -> CaseFolder:
    made = CaseFolder(tmp_path / "agent" / "run" / "case")
    made.create()
    return made


def source(url: str, **fields: Any) -> OtelSource:
    return OtelSource(endpoint=url, **{"host_policy": "insecure_loopback_only", "trace_wait_ms": 0, **fields})


def tempo_with(trace: Any, *ids: str) -> Answer:
    """Tempo with one trace, listed under these ids."""

    def answer(request: Request) -> Reply:
        if request.path.endswith("/api/search"):
            return reply({"traces": [{"traceID": one} for one in ids or (TRACE,)]})
        return trace if isinstance(trace, Reply) else reply(trace)

    return answer


def fetched(folder: CaseFolder, answer: Answer, **query: Any) -> FetchResult:
    with serving(answer) as backend:
        return fetch(source(backend.url), TraceQuery("s", **query), folder)


def test_a_trace_becomes_the_four_logs(folder: CaseFolder) -> None:
    result = fetched(folder, tempo_with(batches(*WHOLE)))
    assert result == FetchResult(1, 0, (), LOGS)
    first, second = evidence.read_tool_calls(folder) or []
    assert (first.tool_name, first.arguments, first.result) == ("search", {"query": "Ada"}, "[1]")
    assert first.timestamp == "2027-01-15T08:00:00.005000Z"
    assert second.arguments == {"id": 7, "deep": {"list": [1, 2.5, True]}}
    routes = evidence.read_routing_decisions(folder) or []
    assert [(route.from_agent, route.target_agent, route.reason) for route in routes] == [
        (None, "concierge", None),
        ("concierge", "org_chart", "a question on managers"),
    ]
    # Both agents and the tool right below one; the other tool is below a span of no kind.
    steps = evidence.read_step_count(folder)
    assert steps is not None
    assert steps.step_span_ids == [f"{number:016x}" for number in (2, 4, 5)]
    (generation,) = evidence.read_generations(folder) or []
    assert generation.model_dump() == {
        "span_id": f"{3:016x}",
        "model": "m-1",
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_cost_usd": None,
        "output_cost_usd": None,
        "total_cost_usd": 0.25,
        "started_at": "2027-01-15T08:00:00.003000Z",
        "ended_at": "2027-01-15T08:00:00.103000Z",
    }


def in_protobuf() -> Reply:
    data = ParseDict({"resourceSpans": batches(*WHOLE)["batches"]}, TracesData())
    return Reply(data.SerializeToString(), content_type="application/protobuf")


def with_trace_id_in_capitals() -> dict[str, Any]:
    """Hexadecimal ids under the names that some shims use."""
    names = {"traceId": "traceID", "spanId": "spanID", "parentSpanId": "parentSpanID"}
    renamed = [{names.get(key, key): found for key, found in one.items()} for one in WHOLE]
    return {"trace": resource_spans(*renamed)}


@pytest.mark.parametrize(
    "trace",
    [resource_spans(*WHOLE), in_protobuf(), with_trace_id_in_capitals()],
    ids=["hexadecimal", "protobuf", "capitals"],
)
def test_every_form_of_a_trace_says_the_same(folder: CaseFolder, tmp_path: Path, trace: Any) -> None:
    other = CaseFolder(tmp_path / "other" / "run" / "case")
    other.create()
    fetched(other, tempo_with(batches(*WHOLE)))
    assert fetched(folder, tempo_with(trace)).written == LOGS
    for name in LOGS:
        assert (folder.observability / name).read_bytes() == (other.observability / name).read_bytes()


@pytest.mark.parametrize(("session", "is_noted"), [("s", True), ("s{run_id}", False)])
def test_several_traces_of_a_session_are_reported(folder: CaseFolder, session: str, is_noted: bool) -> None:
    other = "1" * 32

    def answer(request: Request) -> Reply:
        if request.path.endswith("/api/search"):
            return reply({"traces": [{"traceID": TRACE}, {"traceID": other}]})
        trace = request.path.rpartition("/")[2]
        return reply(resource_spans(*({**one, "traceId": trace} for one in WHOLE)))

    with serving(answer) as backend:
        result = fetch(source(backend.url, session_id=session), TraceQuery("s"), folder)
    assert len(evidence.read_tool_calls(folder) or []) == 4
    told = [note for note in result.notes if "2 traces of the session 's' are taken together" in note]
    assert bool(told) == is_noted


def test_what_is_asked(folder: CaseFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPO_HEADERS", "Authorization=Basic%20abc%3D, X-Scope-OrgID=7")
    with serving(tempo_with(batches(*WHOLE), "af7651916cd43dd8448eb211c80319c")) as backend:
        declared = source(f"{backend.url}/tempo", headers_env="TEMPO_HEADERS")
        query = TraceQuery('a "b"', since="2027-01-15T08:00:00Z", until="2027-01-15T09:00:00+00:00")
        result = fetch(declared, query, folder)
    search, trace = backend.requests
    assert search.path == "/tempo/api/search"
    assert search.one("tags") == 'session.id="a \\"b\\""'
    assert (search.one("start"), search.one("end")) == ("1799999998", "1800003662")
    assert (search.headers["authorization"], search.headers["x-scope-orgid"]) == ("Basic abc=", "7")
    assert trace.path == "/tempo/api/traces/af7651916cd43dd8448eb211c80319c"
    assert "for the session 'a \"b\"', and their spans name another one" in result.notes[0]
    assert result.written == ()


def test_traces_outside_of_the_interval_do_not_count(folder: CaseFolder) -> None:
    answer = tempo_with(batches(*WHOLE))
    assert fetched(folder, answer, since="2027-01-15T08:00:03Z").traces == 0
    assert fetched(folder, answer, until="2027-01-15T07:59:57Z").traces == 0
    # Clocks may differ by two seconds.
    assert fetched(folder, answer, since="2027-01-15T08:00:01Z", until="2027-01-15T07:59:59Z").traces == 1


def test_a_time_needs_a_zone(folder: CaseFolder) -> None:
    with pytest.raises(ObservabilityError, match=r"since: expected an ISO time with a zone .* found '2027'"):
        fetched(folder, tempo_with(batches()), since="2027")


def test_more_is_asked_for_while_a_search_is_full(
    folder: CaseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempo, "FIRST_LIMIT", 2)
    ids = [f"{number:032x}" for number in range(1, 6)]

    def answer(request: Request) -> Reply:
        if request.path == "/api/search":
            return reply({"traces": [{"traceID": one} for one in ids[: int(request.one("limit"))]]})
        number = int(request.path.rpartition("/")[2], 16)
        return reply(resource_spans({**tool(number, None, f"tool-{number}"), "traceId": f"{number:032x}"}))

    with serving(answer) as backend:
        result = fetch(source(backend.url), TraceQuery("s"), folder)
    assert [request.one("limit") for request in backend.asked("/api/search")] == ["2", "4", "8"]
    assert result.traces == 5
    assert [call.tool_name for call in evidence.read_tool_calls(folder) or []] == [
        f"tool-{number}" for number in range(1, 6)
    ]
    monkeypatch.setattr(tempo, "LAST_LIMIT", 4)
    with pytest.raises(ObservabilityError, match=r"has 4 traces or more of the session 's': say which"):
        fetched(folder, answer)


@pytest.mark.parametrize("trouble", [Reply(status=503), Reply(hang_up=True)], ids=["5xx", "connection"])
def test_what_may_pass_is_tried_again(folder: CaseFolder, trouble: Reply) -> None:
    whole = tempo_with(batches(*WHOLE))
    with serving(lambda request: trouble if len(backend.requests) in (1, 2) else whole(request)) as backend:
        assert fetch(source(backend.url), TraceQuery("s"), folder).written == LOGS
    assert len(backend.requests) == 4


def test_what_does_not_pass_is_reported(folder: CaseFolder) -> None:
    with (
        serving(lambda _: Reply(b"no room", 503)) as backend,
        pytest.raises(ObservabilityError, match=r"HTTP 503 .*/api/search: no room \(tried 4 times\)"),
    ):
        fetch(source(backend.url), TraceQuery("s"), folder)
    assert len(backend.requests) == 4
    # Nothing listens there any more.
    with pytest.raises(ObservabilityError, match=r"connection refused: nothing listens there: .*4 times"):
        fetch(source(backend.url), TraceQuery("s"), folder)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Reply(b"who are you?", 401), r"HTTP 401 Unauthorized .*who are you\?; check the credentials"),
        (NOT_FOUND, "HTTP 404 Not Found .*the address of the query API"),
        (Reply(status=302), "HTTP 302 Found .*redirects are not followed"),
        (Reply(b"<!doctype html><p>Log in", content_type="text/html"), "an HTML page, where JSON was expect"),
        (Reply(b"{"), "not JSON"),
        (reply([]), "expected a search result with `traces`"),
        (reply({"traces": [{"id": 1}]}), "expected traces with `traceID` or `traceId`"),
    ],
    ids=["401", "404", "redirect", "html", "no json", "no search", "no ids"],
)
def test_refusals_and_nonsense_are_reported_at_once(folder: CaseFolder, found: Reply, words: str) -> None:
    with serving(lambda _: found) as backend, pytest.raises(ObservabilityError, match=words):
        fetch(source(backend.url), TraceQuery("s"), folder)
    assert len(backend.requests) == 1
    assert not list(folder.observability.iterdir())


def test_secrets_are_not_shown(folder: CaseFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPO_HEADERS", "Authorization=top-secret")
    with (
        serving(lambda request: Reply(request.headers["authorization"].encode(), 403)) as backend,
        pytest.raises(ObservabilityError) as caught,
    ):
        fetch(source(backend.url, headers_env="TEMPO_HEADERS"), TraceQuery("s"), folder)
    assert "top-secret" not in str(caught.value)
    assert "${TEMPO_HEADERS}" in str(caught.value)
    monkeypatch.setenv("TEMPO_HEADERS", "top-secret")
    with pytest.raises(ObservabilityError) as caught:
        fetch(source(backend.url, headers_env="TEMPO_HEADERS"), TraceQuery("s"), folder)
    assert "TEMPO_HEADERS: part 1 has no `key=`" in str(caught.value)
    assert "top-secret" not in str(caught.value)
    monkeypatch.delenv("TEMPO_HEADERS")
    with pytest.raises(ObservabilityError, match="TEMPO_HEADERS, which is not set"):
        fetch(source(backend.url, headers_env="TEMPO_HEADERS"), TraceQuery("s"), folder)


def test_credentials_go_nowhere_without_encryption(folder: CaseFolder) -> None:
    with pytest.raises(ObservabilityError, match="is not https, but host_policy is https_only"):
        fetch(OtelSource.model_construct(endpoint="http://127.0.0.1:1"), TraceQuery("s"), folder)


def without(one: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: found for name, found in one.items() if name != key}


@pytest.mark.parametrize(
    "bad",
    [
        without(span(8, 1), "spanId"),
        {**span(8, 1), "spanId": "not an id"},
        {**span(8, 1), "startTimeUnixNano": "soon"},
        {**span(8, 1), "startTimeUnixNano": str(2**64)},
        {**span(8, 1), "attributes": [{"key": 5}]},
        {**span(8, 1), "attributes": [{"key": "a", "value": {"newValue": 1}}]},
        {**span(8, 1), "attributes": [{"key": "a", "value": {"arrayValue": {"values": 5}}}]},
        span(8, 1, gen_ai__operation__name="chat", gen_ai__usage__input_tokens="many"),
        span(8, 1, gen_ai__operation__name="chat", gen_ai__usage__cost=-1.0),
        span(8, 1, gen_ai__operation__name="execute_tool", name="execute_tool "),
        "a span",
    ],
)
def test_malformed_spans_are_skipped_and_counted(folder: CaseFolder, bad: Any) -> None:
    result = fetched(folder, tempo_with(resource_spans(*WHOLE, bad)))
    assert (result.traces, result.skipped_spans, result.written) == (1, 1, LOGS)
    note = "1 malformed span skipped: evidence may be missing"
    assert result.notes == (note,)
    assert evidence.read_doubts(folder) == dict.fromkeys(LOGS, note)
    assert len(evidence.read_tool_calls(folder) or []) == 2


@pytest.mark.parametrize(
    "bad",
    [
        5,
        {"scopeSpans": "x"},
        {"scopeSpans": ["x"]},
        {"scopeSpans": [{"spans": {"a": 1}}]},
        {"scopeSpans": [], "instrumentationLibrarySpans": [{"spans": [{}]}]},
    ],
)
def test_malformed_batches_count_as_a_malformed_span(bad: Any) -> None:
    good = resource_spans(*WHOLE)["resourceSpans"]
    for data in ({"batches": [bad, *good]}, {"batches": [bad], "resourceSpans": good}):
        found = trace_of(data)
        assert (len(found.spans), found.skipped) == (len(WHOLE), 1)


def test_batches_that_are_none_count_and_older_names_beside_new_ones_are_read() -> None:
    assert trace_of({"batches": "x"}).skipped == 1
    older = {"scopeSpans": [], "instrumentationLibrarySpans": [{"spans": WHOLE}]}
    assert len(trace_of({"batches": [older]}).spans) == len(WHOLE)
    # Empty ones are none.
    assert trace_of({"batches": [{}, {"scopeSpans": None}, {"scopeSpans": [{}]}]}).skipped == 0


def test_without_traces_what_the_page_told_stays(folder: CaseFolder) -> None:
    told = [evidence.ToolCall(tool_name="seen", span_id="ui-step-001")]
    evidence.write_rows(folder.tool_calls, told)
    result = fetched(folder, lambda _: reply({"traces": []}))
    assert (result.traces, result.written) == (0, ())
    assert result.notes == (
        "no trace of the session 's' was found within 0 ms (trace_wait_ms)",
        "no log is written from traces",
    )
    assert evidence.read_tool_calls(folder) == told
    # Traces that know nothing of tools are no evidence that no tool was called.
    result = fetched(folder, tempo_with(batches(span(1, name="GET /"))))
    assert "no span in them is of a tool, an agent or a model" in result.notes[0]
    assert result.notes[1] == "no log is written from traces"
    assert evidence.read_tool_calls(folder) == told
    assert fetched(folder, tempo_with(batches(*WHOLE))).written == LOGS
    assert [call.tool_name for call in evidence.read_tool_calls(folder) or []] == ["search", "get"]


def test_traces_are_awaited_until_they_are_whole(folder: CaseFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace arrives in parts: not listed, listed and not readable, without its agent, without its top."""
    parts = [[span(1)], WHOLE[1:], WHOLE]
    stages: list[Reply | None] = [None, NOT_FOUND, *(reply(batches(*part)) for part in parts)]

    def answer(request: Request) -> Reply:
        searches = len(backend.asked("/api/search"))
        stage = stages[min(searches, len(stages)) - 1]
        if request.path == "/api/search":
            return reply({"traces": [] if stage is None else [{"traceId": TRACE}]})
        assert stage is not None
        return stage

    monkeypatch.setattr(fetching, "FIRST_PAUSE_SECONDS", 0.01)
    with serving(answer) as backend:
        result = fetch(source(backend.url, trace_wait_ms=60_000), TraceQuery("s"), folder)
    # Once more than there are stages: it has stopped growing.
    assert len(backend.asked("/api/search")) == 6
    assert result == FetchResult(1, 0, (), LOGS)


def test_a_trace_below_a_parent_of_another_system_is_whole_in_the_end(
    folder: CaseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(fetching, "REMOTE_PARENT_SECONDS", 0.01)
    with serving(tempo_with(batches(tool(2, 99, "find")))) as backend:
        result = fetch(source(backend.url, trace_wait_ms=60_000), TraceQuery("s"), folder)
    assert result.notes == ("top-level spans have a missing parent: it is assumed to be in another system",)
    assert evidence.read_doubts(folder) == {}
    assert [call.tool_name for call in evidence.read_tool_calls(folder) or ()] == ["find"]


def test_the_wait_for_a_trace_ends(folder: CaseFolder) -> None:
    result = fetched(folder, tempo_with(batches(*WHOLE[1:])))
    note = "1 trace found, not complete within 0 ms (trace_wait_ms): evidence may be missing"
    assert (result.notes, result.written) == ((note,), LOGS)
    assert evidence.read_doubts(folder) == dict.fromkeys(LOGS, note)
    # Once it is whole, nothing is in doubt.
    assert fetched(folder, tempo_with(batches(*WHOLE))).notes == ()
    assert evidence.read_doubts(folder) == {}


def test_traces_of_models_alone_tell_nothing_on_tools(folder: CaseFolder) -> None:
    told = [evidence.ToolCall(tool_name="seen", span_id="ui-step-001")]
    evidence.write_rows(folder.tool_calls, told)
    chat = span(2, 1, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=5)
    result = fetched(folder, tempo_with(batches(span(1), chat)))
    words = "no span belongs to a tool or an agent, so the traces may show model calls only"
    assert result.notes == (f"{words}: logs from the page are kept (tool_calls.jsonl)",)
    assert result.written == LOGS[1:]
    assert evidence.read_tool_calls(folder) == told
    assert evidence.read_doubts(folder) == dict.fromkeys(LOGS[1:3], words)
    # An agent that is traced itself, and called no tool.
    agent = span(2, 1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="hr")
    assert fetched(folder, tempo_with(batches(span(1), agent))).written == LOGS
    assert (evidence.read_tool_calls(folder), evidence.read_doubts(folder)) == ([], {})


def test_traces_that_cannot_be_read_are_reported(folder: CaseFolder) -> None:
    result = fetched(folder, tempo_with(NOT_FOUND), since="2027-01-15T08:00:00Z")
    assert result.notes == (
        "1 trace listed by the backend and not readable within 0 ms (trace_wait_ms)",
        "no trace of the session 's' that began at 2027-01-15T08:00:00+00:00 or later was found within 0 ms "
        "(trace_wait_ms)",
        "no log is written from traces",
    )


def test_spans_that_were_sent_twice_count_once(folder: CaseFolder) -> None:
    fetched(folder, tempo_with(batches(*WHOLE, *WHOLE)))
    assert len(evidence.read_tool_calls(folder) or []) == 2
    steps = evidence.read_step_count(folder)
    assert steps is not None
    assert steps.total_steps == 3


def test_start_is_what_it_says() -> None:
    assert evidence.moment("2027-01-15T08:00:00Z") * 1_000 == START
