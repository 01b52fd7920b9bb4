"""A trace backend for tests: an HTTP server that answers as told, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Request:
    """One request: its path, the values of each parameter, and its headers in lower case."""

    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]

    def one(self, name: str) -> str:
        """The only value of a parameter."""
        (value,) = self.query[name]
        return value


@dataclass(frozen=True)
class Reply:
    """One answer; ``hang_up`` closes the connection instead."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    hang_up: bool = False


def reply(data: Any, status: int = 200) -> Reply:
    """An answer in JSON."""
    return Reply(json.dumps(data).encode(), status)


NOT_FOUND = reply({"error": "not found"}, 404)


@dataclass
class TraceBackend:
    """A running server: its address, and the requests so far."""

    url: str
    requests: list[Request] = field(default_factory=list)

    def asked(self, path: str) -> list[Request]:
        """The requests for a path."""
        return [request for request in self.requests if request.path == path]


@contextmanager
def serving(answer: Callable[[Request], Reply]) -> Iterator[TraceBackend]:
    """A server that asks a function for each answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(unquote(url.path), parse_qs(url.query), headers)
            backend.requests.append(request)
            found = answer(request)
            if found.hang_up:
                return
            self.send_response(found.status)
            self.send_header("Content-Type", found.content_type)
            self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are remembered, not printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        backend = TraceBackend(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield backend
        finally:
            server.shutdown()
            thread.join()
