"""Servers over HTTP: streamable and legacy SSE, well-behaved and not."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from pytest_mcpeval import CallError, ServerStartError
from pytest_mcpeval.servers import Connections, ServerDefinition

from .conftest import HttpServer
from .fault_servers.faulty_http import FaultyHttp


@pytest.fixture
def faulty() -> Iterator[FaultyHttp]:
    server = FaultyHttp()
    yield server
    server.close()


def define(url: str, **fields: object) -> ServerDefinition:
    return ServerDefinition("web", "http", url=url, **fields)  # type: ignore[arg-type]


def call_error(
    connections: Connections, server: ServerDefinition, tool: str, timeout: float = 30, **arguments: object
) -> CallError:
    with pytest.raises(CallError) as raised:
        connections.get(server).call_tool(tool, arguments, timeout=timeout)
    return raised.value


@pytest.mark.parametrize("fixture", ["streamable", "sse"])
def test_all_requests_over_http(
    connections: Connections, fixture: str, request: pytest.FixtureRequest
) -> None:
    server: HttpServer = request.getfixturevalue(fixture)
    connection = connections.get(server.definition)
    assert (connection.server_name, connection.server_version) == ("over-http", "3.4")
    assert connection.call_tool("echo", {"value": "hi"}).text == "hi"
    assert connection.read_resource("demo://page").text == "the page"
    assert connection.get_prompt("greet", {"name": "Ada"}).text == "Greet Ada."
    assert [tool.name for tool in connection.list_tools()] == ["echo", "sleep", "huge", "crash"]
    assert connection.stderr_tail() == ""


def test_a_huge_answer_over_http(connections: Connections, streamable: HttpServer) -> None:
    response = connections.get(streamable.definition).call_tool("huge", {"size": 20_000_000})
    assert len(response.text) == 20_000_000


def test_a_huge_answer_in_one_event(connections: Connections, faulty: FaultyHttp) -> None:
    response = connections.get(define(faulty.url)).call_tool("stream", {"size": 20_000_000})
    assert len(response.text) == 20_000_000


def test_an_answer_beyond_the_limit_of_legacy_sse(connections: Connections, sse: HttpServer) -> None:
    error = call_error(connections, sse.definition, "huge", size=20_000_000)
    assert error.reason == "connection"
    assert "SSE" in error.message
    assert connections.get(sse.definition).call_tool("echo", {"value": "hi"}).text == "hi"


@pytest.mark.parametrize("fixture", ["streamable", "sse"])
def test_a_timeout_over_http_leaves_the_connection(
    connections: Connections, fixture: str, request: pytest.FixtureRequest
) -> None:
    server: HttpServer = request.getfixturevalue(fixture)
    connection = connections.get(server.definition)
    error = call_error(connections, server.definition, "sleep", 0.3, seconds=30)
    assert error.reason == "timeout"
    assert connections.get(server.definition) is connection
    assert connection.call_tool("echo", {"value": "still"}).text == "still"


@pytest.mark.parametrize("fixture", ["streamable", "sse"])
def test_a_crash_over_http(connections: Connections, fixture: str, request: pytest.FixtureRequest) -> None:
    server: HttpServer = request.getfixturevalue(fixture)
    error = call_error(connections, server.definition, "crash")
    assert (error.reason, error.is_incident) == ("connection", False)
    server.restart()
    assert connections.get(server.definition).call_tool("echo", {"value": "new"}).text == "new"


@pytest.mark.parametrize("fixture", ["streamable", "sse"])
def test_a_server_that_went_away_between_calls(
    connections: Connections, fixture: str, request: pytest.FixtureRequest
) -> None:
    server: HttpServer = request.getfixturevalue(fixture)
    connection = connections.get(server.definition)
    server.stop()
    with pytest.raises(CallError) as raised:
        connection.call_tool("echo", {"value": "hi"})
    assert raised.value.reason in ("unreachable", "connection")
    server.restart()
    assert connections.get(server.definition).call_tool("echo", {"value": "new"}).text == "new"


def test_a_slow_call_does_not_hold_up_another(connections: Connections, streamable: HttpServer) -> None:
    connection = connections.get(streamable.definition)
    slow = connection.start_tool("sleep", {"seconds": 30})
    assert connection.call_tool("echo", {"value": "first"}).text == "first"
    assert not slow.done()
    slow.cancel()


def test_headers_are_sent(faulty: FaultyHttp) -> None:
    environ = {"TOKEN": "abc-secret-token"}
    with Connections(environ=environ) as connections:
        connections.get(define(faulty.url, headers={"Authorization": "Bearer ${TOKEN}"})).call_tool("ok")
    assert faulty.seen_headers["authorization"] == "Bearer abc-secret-token"


@pytest.mark.parametrize(
    ("status", "phrase", "hint"),
    [
        (401, "Unauthorized", "; check the credentials in its headers"),
        (403, "Forbidden", "; check the credentials in its headers"),
        (429, "Too Many Requests", ""),
        (500, "Internal Server Error", ""),
    ],
)
def test_a_status_at_start(
    connections: Connections, faulty: FaultyHttp, status: int, phrase: str, hint: str
) -> None:
    with pytest.raises(ServerStartError) as raised:
        connections.get(define(faulty.refusing(status)))
    shown = f"http://127.0.0.1:{faulty.server_port}/{status}/mcp"
    assert str(raised.value) == (
        f"server 'web' did not start: HTTP {status} {phrase} from {shown}{hint}\n  run as:  {shown}"
    )


@pytest.mark.parametrize(
    ("status", "phrase", "reason", "incident"),
    [
        (401, "Unauthorized", "refused", True),
        (403, "Forbidden", "refused", True),
        (404, "Not Found", "http", False),
        (429, "Too Many Requests", "http", False),
        (500, "Internal Server Error", "http", False),
        (599, "", "http", False),
    ],
)
def test_a_status_during_a_call(
    connections: Connections, faulty: FaultyHttp, status: int, phrase: str, reason: str, incident: bool
) -> None:
    server = define(faulty.url)
    error = call_error(connections, server, "status", code=status)
    assert error.message == f"HTTP {status}{' ' + phrase if phrase else ''} from {faulty.url}"
    assert (error.reason, error.http_status, error.is_incident) == (reason, status, incident)
    assert connections.get(server).call_tool("ok").text == "ok"


def test_an_error_in_words_of_the_server(connections: Connections, faulty: FaultyHttp) -> None:
    error = call_error(connections, define(faulty.url), "json_status", code=400)
    assert (error.reason, error.http_status) == ("protocol", 400)
    assert error.message == (
        f"the page number is missing (JSON-RPC -32602; HTTP 400 Bad Request from {faulty.url})"
    )


REJECTED = '{"jsonrpc": "2.0", "id": ID, "error": {"code": -32000, "message": "Rate limit exceeded"}}'


@pytest.mark.parametrize(
    ("code", "content_type", "body", "reason", "is_rejection"),
    [
        (200, "application/json", REJECTED, "protocol", True),
        (429, "application/json", REJECTED, "protocol", True),
        (500, "application/json", REJECTED.replace("-32000", "-32603"), "protocol", True),
        (200, "text/event-stream", f"event: message\ndata: {REJECTED}\n\n", "protocol", True),
        (200, "text/event-stream", "event: message\ndata: no\n\n", "protocol", False),
        (200, "text/event-stream", "event: ping\n\n", "connection", False),
        (200, "text/html", "<html>", "protocol", False),
        (200, "application/json", "", "protocol", False),
        (200, "application/json", '{"detail": "Not Found"}', "protocol", False),
        (404, "application/json", '{"detail": "Not Found"}', "http", False),
        (202, "text/html", "", "protocol", False),
    ],
)
def test_only_an_error_of_the_protocol_is_a_rejection(
    connections: Connections,
    faulty: FaultyHttp,
    code: int,
    content_type: str,
    body: str,
    reason: str,
    is_rejection: bool,
) -> None:
    server = define(faulty.url)
    error = call_error(connections, server, "says", code=code, content_type=content_type, body=body)
    assert (error.reason, error.is_rejection) == (reason, is_rejection)
    assert "\n" not in error.message
    assert ("Rate limit exceeded" in error.message) == is_rejection


@pytest.mark.parametrize("tool", ["reset", "cut"])
def test_a_connection_reset_during_a_call(connections: Connections, faulty: FaultyHttp, tool: str) -> None:
    server = define(faulty.url)
    error = call_error(connections, server, tool)
    assert error.reason == "connection"
    assert ("reset" if tool == "reset" else "the server") in error.message
    assert connections.get(server).call_tool("ok").text == "ok"


def test_one_reset_leaves_the_other_calls_alone(connections: Connections, faulty: FaultyHttp) -> None:
    connection = connections.get(define(faulty.url))
    waiting = connection.start_tool("never")
    assert call_error(connections, define(faulty.url), "reset").reason == "connection"
    assert not waiting.done()
    assert connection.alive


def test_a_server_that_never_answers(connections: Connections, faulty: FaultyHttp) -> None:
    server = define(faulty.url)
    assert call_error(connections, server, "never", 0.3).reason == "timeout"
    assert connections.get(server).call_tool("ok").text == "ok"


def test_a_forgotten_session_is_opened_again(connections: Connections, faulty: FaultyHttp) -> None:
    server = define(faulty.url)
    first = connections.get(server)
    assert call_error(connections, server, "forget").http_status == 404
    assert connections.get(server) is not first
    assert connections.get(server).call_tool("ok").text == "ok"


def test_nothing_listens(connections: Connections) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for transport in ("http", "sse"):
        definition = ServerDefinition("gone", transport, url=f"http://127.0.0.1:{port}/mcp")
        with pytest.raises(ServerStartError) as raised:
            connections.get(definition)
        assert raised.value.reason == (
            f"connection refused: nothing listens there (http://127.0.0.1:{port}/mcp)"
        )


def test_an_unknown_host(connections: Connections) -> None:
    with pytest.raises(ServerStartError) as raised:
        connections.get(define("http://no-such-host.invalid/mcp"))
    assert raised.value.reason == "host name not found (http://no-such-host.invalid/mcp)"


def test_http_failures_stay_out_of_the_log(
    connections: Connections, faulty: FaultyHttp, caplog: pytest.LogCaptureFixture
) -> None:
    server = define(faulty.url)
    for tool in ("reset", "cut"):
        call_error(connections, server, tool)
    connections.close()
    assert caplog.records == []
