"""The example trace store: what collectors take, given as Tempo gives it."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from examples.trace_store.server import make_server
from examples.trace_store.store import TraceStore
from tests.agent.otlp_spans import START, TRACE, batches, resource_spans, span

PROTOBUF = {"Content-Type": "application/x-protobuf"}
SECOND = 1_000_000_000


@pytest.fixture
def client() -> Iterator[httpx2.Client]:
    """A client of a running store."""
    with make_server(TraceStore()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with httpx2.Client(base_url=f"http://127.0.0.1:{server.server_address[1]}") as made:
            yield made
        server.shutdown()
        thread.join()


def message(*spans: dict[str, Any]) -> bytes:
    """Spans as an exporter sends them."""
    data = ParseDict({"resourceSpans": batches(*spans)["batches"]}, TracesData())
    return data.SerializeToString()


def of_trace(number: int, *spans: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**one, "traceId": f"{number:032x}"} for one in spans]


def found(client: httpx2.Client, **query: Any) -> list[str]:
    """Ids of the traces that a search lists."""
    answer = client.get("/api/search", params=query)
    assert answer.status_code == 200, answer.text
    return [row["traceID"] for row in answer.json()["traces"]]


@pytest.mark.parametrize("form", ["protobuf", "gzip", "json"])
def test_spans_come_back(client: httpx2.Client, form: str) -> None:
    spans = [span(1, name="GET /"), span(2, 1, name="query", rows=3)]
    content, headers = message(*spans), PROTOBUF
    if form == "gzip":
        content, headers = gzip.compress(content), {**PROTOBUF, "Content-Encoding": "gzip"}
    elif form == "json":
        content, headers = json.dumps(resource_spans(*spans)).encode(), {"Content-Type": "application/json"}
    assert client.post("/v1/traces", content=content, headers=headers).status_code == 200
    trace = client.get(f"/api/traces/{TRACE}")
    assert trace.json() == batches(*spans)
    raw = client.get(f"/api/traces/{TRACE}", headers={"Accept": "application/protobuf"})
    assert raw.headers["content-type"] == "application/protobuf"
    assert TracesData.FromString(raw.content) == TracesData.FromString(message(*spans))


def test_a_search_is_by_tags_and_time(client: httpx2.Client) -> None:
    sent = [*of_trace(1, span(0, session="a")), *of_trace(2, span(5_000, session="b c", flag=True))]
    client.post("/v1/traces", content=message(*sent), headers=PROTOBUF)
    assert found(client) == ["2", "1"]
    assert found(client, limit=1) == ["2"]
    assert found(client, tags="session.id=a") == ["1"]
    assert found(client, tags='session.id="b c" flag=true') == ["2"]
    assert found(client, tags="session.id=a flag=true") == []
    assert found(client, tags="service.name=people") == ["2", "1"]
    start = START // SECOND
    assert found(client, start=start, end=start + 2) == ["1"]
    assert found(client, start=start + 3, end=start + 9) == ["2"]


def test_the_parts_of_a_trace_come_together(client: httpx2.Client) -> None:
    client.post("/v1/traces", content=message(span(2, 1)), headers=PROTOBUF)
    (row,) = client.get("/api/search").json()["traces"]
    assert row["rootTraceName"] == "<root span not yet received>"
    client.post("/v1/traces", content=message(span(1, name="top")), headers=PROTOBUF)
    (row,) = client.get("/api/search").json()["traces"]
    assert row == {
        "traceID": TRACE.lstrip("0"),
        "rootServiceName": "people",
        "rootTraceName": "top",
        "startTimeUnixNano": str(START + 1_000_000),
        "durationMs": 101,
    }
    # Ids may come without their zeros, as the search gives them.
    assert len(client.get(f"/api/traces/{row['traceID']}").json()["batches"]) == 2


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/traces/ff", 404),
        ("/elsewhere", 404),
        ("/ready", 200),
        ("/api/search?tags=name", 400),
        ("/api/search?limit=many", 400),
        ("/api/search?limit=0", 400),
    ],
)
def test_what_is_asked_wrongly(client: httpx2.Client, path: str, status: int) -> None:
    assert client.get(path).status_code == status


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b"\xff", PROTOBUF),
        (b"{", {"Content-Type": "application/json"}),
        (b"[]", {"Content-Type": "application/json"}),
        (
            b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": 5}]}]}]}',
            {"Content-Type": "application/json"},
        ),
        (b'{"resourceSpans": 5}', {"Content-Type": "application/json"}),
        (b"plain", {**PROTOBUF, "Content-Encoding": "gzip"}),
    ],
)
def test_what_is_sent_wrongly(client: httpx2.Client, content: bytes, headers: dict[str, str]) -> None:
    answer = client.post("/v1/traces", content=content, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert client.post("/v1/metrics", content=b"").status_code == 404
