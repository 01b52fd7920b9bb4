"""HTTP: ``POST /v1/traces`` (OTLP), ``GET /api/search`` and ``GET /api/traces/<id>`` (Tempo)."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from examples.trace_store.store import Query, QueryError, TraceStore, tags_of

MOST_BYTES = 16 * 1024 * 1024
PROTOBUF = "application/x-protobuf"
IDS = ("traceId", "spanId", "parentSpanId")


def make_server(store: TraceStore, port: int = 0) -> ThreadingHTTPServer:
    """A server on 127.0.0.1; port 0 takes a free one. Call ``serve_forever`` to serve."""

    class Handler(_Handler):
        traces = store

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    return server


class _Handler(BaseHTTPRequestHandler):
    traces: TraceStore

    def do_POST(self) -> None:
        if urlsplit(self.path).path != "/v1/traces":
            return self._json({"error": "expected /v1/traces"}, HTTPStatus.NOT_FOUND)
        try:
            self.traces.add(self._received())
        except (ValueError, TypeError, ParseError, DecodeError, OSError, zlib.error) as error:
            return self._json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        if "json" in self.headers.get("Content-Type", ""):
            return self._json({"partialSuccess": {}})
        return self._answer(b"", PROTOBUF)

    def _received(self) -> TracesData:
        length = int(self.headers.get("Content-Length", 0))
        if not 0 <= length <= MOST_BYTES:
            raise ValueError(f"expected at most {MOST_BYTES} bytes, found {length}")
        body = self.rfile.read(length)
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if "json" in self.headers.get("Content-Type", ""):
            data = json.loads(body)
            if not isinstance(data, dict):
                raise ValueError("expected a JSON object")
            return ParseDict(_with_bytes(data), TracesData(), ignore_unknown_fields=True)
        return TracesData.FromString(body)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        try:
            if url.path == "/api/search":
                return self._json({"traces": self.traces.search(_query(url))})
            if url.path.startswith("/api/traces/"):
                return self._trace(unquote(url.path.removeprefix("/api/traces/")))
        except ValueError as error:
            return self._json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        known = url.path == "/ready"
        return self._json({"ready": known}, HTTPStatus.OK if known else HTTPStatus.NOT_FOUND)

    def _trace(self, trace_id: str) -> None:
        found = self.traces.trace(trace_id)
        if found is None:
            return self._json({"error": "trace not found"}, HTTPStatus.NOT_FOUND)
        if self.headers.get("Accept", "").startswith("application/protobuf"):
            return self._answer(found.SerializeToString(), "application/protobuf")
        return self._json({"batches": MessageToDict(found).get("resourceSpans", [])})

    def _json(self, data: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._answer(json.dumps(data).encode(), "application/json", status)

    def _answer(self, body: bytes, content_type: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


def _query(url: SplitResult) -> Query:
    given = {name: values[-1] for name, values in parse_qs(url.query).items()}
    numbers = {name: int(given[name]) for name in ("limit", "start", "end") if name in given}
    if numbers.get("limit", 1) < 1:
        raise QueryError("limit: expected 1 or more")
    return Query(tags=tags_of(given.get("tags", "")), **numbers)


def _with_bytes(data: Any) -> Any:
    """JSON of OTLP has ids in hexadecimal, JSON of protobuf in base64."""
    if isinstance(data, list):
        return [_with_bytes(entry) for entry in data]
    if not isinstance(data, dict):
        return data
    return {
        key: base64.b64encode(bytes.fromhex(value)).decode() if key in IDS else _with_bytes(value)
        for key, value in data.items()
    }
