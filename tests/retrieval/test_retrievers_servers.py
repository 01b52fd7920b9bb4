"""Searches behind MCP servers and HTTP: a tool-search server from PyPI, a faulty one, and a web server."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pytest_mcpeval import ServerStartError
from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.metrics import evaluate_many
from pytest_mcpeval.kinds.retrieval.rankings import Ranking
from pytest_mcpeval.kinds.retrieval.retrievers import Hit, RetrieverModel, ask, make_retriever
from pytest_mcpeval.servers import Connections, ServerDefinition
from pytest_mcpeval.targets import AnswerError, Target, TargetStartError
from pytest_mcpeval.targets.filling import filled
from pytest_mcpeval.targets.making import Surroundings

DATASETS = Path(__file__).parents[2] / "datasets" / "retrieval"
TOOL_SEARCH = Path(__file__).with_name("tool_search_server.py")
QUERIES = 60

PROXY = '''
import time

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("proxy", log_level="ERROR")


@server.tool()
def wrapped(query: str) -> str:
    """Return JSON as a text, which the server wraps once more."""
    return '{"tools": [{"name": "log", "server": "git"}]}'


@server.tool(structured_output=False)
def retrieve_tools(query: str, limit: int, filters: dict | None = None) -> str:
    """Find tools."""
    import json
    if query == "fail":
        raise ToolError("the index is being rebuilt")
    if query == "hang":
        time.sleep(600)
    if query == "text":
        return "No tools matched."
    if query == "other":
        return json.dumps({"hint": "upgrade", "code": 5})
    if query == "none":
        return '{"tools": null}'
    found = [{"name": "log", "server": "git", "score": 2.5}, {"name": query, "server": "echo"}]
    return json.dumps({"tools": found, "limit": limit, "filters": filters})
'''

EMPTY = Corpus("v1", ())
PROXY_ANSWER = {"result": "$.tools", "tool_id": "{server}:{name}", "score": "score"}


def retriever(
    options: dict[str, Any],
    connections: Connections | None = None,
    servers: dict[str, ServerDefinition] | None = None,
    corpus: Corpus = EMPTY,
    timeout: float = 30,
) -> Target:
    return make_retriever(
        RetrieverModel.model_validate({"mcp": options}),
        corpus,
        Surroundings(
            servers=servers or {},
            connection=None if connections is None else connections.get,
            timeout=timeout,
        ),
    )


def error(made: Target, query: str) -> AnswerError:
    with pytest.raises(AnswerError) as raised:
        made.ask({"query": query, "limit": 5})
    return raised.value


@pytest.fixture(scope="module")
def connections() -> Iterator[Connections]:
    with Connections() as opened:
        yield opened


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ServerDefinition]:
    directory = tmp_path_factory.mktemp("proxy")
    (directory / "retrieval_proxy.py").write_text(f"{PROXY}\nserver.run()\n", encoding="utf-8")
    arguments = (str(directory / "retrieval_proxy.py"),)
    return {"proxy": ServerDefinition("proxy", "stdio", sys.executable, arguments)}


def test_a_tool_search_server_from_pypi(connections: Connections) -> None:
    rows = json.loads((DATASETS / "tools_v1.json").read_text("utf-8"))["tools"]
    corpus = Corpus.of(rows)
    arguments = (str(TOOL_SEARCH), str(DATASETS / "tools_v1.json"))
    search = retriever(
        {
            "server": "search",
            "tool": "search_tools",
            "arguments": {"query": "{query}"},
            "result": "$.result",
            "tool_id": "{name}",
            "separator": "__",
        },
        connections,
        {"search": ServerDefinition("search", "stdio", sys.executable, arguments)},
        corpus,
    )
    search.open()
    queries = json.loads((DATASETS / "golden_v1.json").read_text("utf-8"))["queries"][:QUERIES]
    results = {row["id"]: ask(search, row["query"], 10, corpus.ids) for row in queries}
    assert {result.error for result in results.values()} == {None}
    # Everything found is a tool of the corpus, under its id there.
    assert not any("not in the corpus" in problem for one in results.values() for problem in one.problems)
    rankings = (
        Ranking(
            row["id"],
            results[row["id"]].ranked,
            {label["tool_id"]: label["relevance"] for label in row["labels"]},
        )
        for row in queries
    )
    means = evaluate_many(rankings, 10).means()
    assert 0.4 < means["recall_at_5"] < 0.95
    assert means["recall_at_10"] > means["recall_at_1"]
    # It takes no limit, and says so when it is sent one.
    wrong = retriever(
        {"server": "search", "tool": "search_tools", "result": "$.result", "tool_id": "{name}"},
        connections,
        {"search": ServerDefinition("search", "stdio", sys.executable, arguments)},
    )
    found = error(wrong, "anything")
    assert found.reason == "protocol"
    assert "limit" in found.message


def test_a_proxy_s_answer_is_mapped(connections: Connections, proxy: dict[str, ServerDefinition]) -> None:
    arguments = {"query": "{query}", "limit": "{limit}", "filters": {"note": "top {limit} of {query}"}}
    search = retriever(
        {"server": "proxy", "tool": "retrieve_tools", "arguments": arguments, **PROXY_ANSWER},
        connections,
        proxy,
    )
    assert search.name == "mcp: retrieve_tools of proxy"
    search.open()
    assert search.ask({"query": "{limit}", "limit": 7}) == [Hit("git:log", 2.5), Hit("echo:{limit}")]
    assert search.ask({"query": "none", "limit": 7}) == []
    raw = connections.get(proxy["proxy"]).call_tool("retrieve_tools", {"query": "q", "limit": 7})
    assert json.loads(raw.text)["limit"] == 7


def test_json_in_a_text_that_the_server_wraps(
    connections: Connections, proxy: dict[str, ServerDefinition]
) -> None:
    options = {"server": "proxy", "tool": "wrapped", "arguments": {"query": "{query}"}, **PROXY_ANSWER}
    assert connections.get(proxy["proxy"]).call_tool("wrapped", {"query": "q"}).structured.keys() == {
        "result"
    }
    assert retriever(options, connections, proxy).ask({"query": "q", "limit": 5}) == [Hit("git:log")]


@pytest.mark.parametrize(
    ("query", "reason", "message"),
    [
        ("fail", "protocol", "the tool reported an error: Error executing tool retrieve_tools: the index is"),
        ("text", "answer", "the answer has no structured content and is not JSON"),
        ("other", "answer", 'the answer has nothing at $.tools; it is a mapping with "hint", "code"'),
    ],
)
def test_a_proxy_s_failures(
    connections: Connections,
    proxy: dict[str, ServerDefinition],
    query: str,
    reason: str,
    message: str,
) -> None:
    search = retriever({"server": "proxy", "tool": "retrieve_tools", **PROXY_ANSWER}, connections, proxy)
    found = error(search, query)
    assert found.reason == reason
    assert found.message.startswith(message)
    assert search.ask({"query": "log", "limit": 3})


def test_a_proxy_that_hangs(connections: Connections, proxy: dict[str, ServerDefinition]) -> None:
    search = retriever(
        {"server": "proxy", "tool": "retrieve_tools", **PROXY_ANSWER}, connections, proxy, timeout=2
    )
    search.open()
    found = error(search, "hang")
    assert (found.reason, found.is_incident) == ("timeout", False)


def test_a_tool_that_does_not_exist_is_an_incident(
    connections: Connections, proxy: dict[str, ServerDefinition]
) -> None:
    search = retriever({"server": "proxy", "tool": "retrieve_tool", **PROXY_ANSWER}, connections, proxy)
    found = error(search, "q")
    assert found.is_incident
    assert "did you mean retrieve_tools?" in found.message


def test_servers_that_are_not_there(connections: Connections) -> None:
    options = {"server": "proxy", "tool": "retrieve_tools", **PROXY_ANSWER}
    with pytest.raises(TargetStartError, match=r"no server 'proxy' is defined \(defined: none\)"):
        retriever(options, connections)
    missing = {"proxy": ServerDefinition("proxy", "stdio", "no-such-program-here")}
    with pytest.raises(ServerStartError):
        retriever(options, connections, missing).open()


def test_placeholders_are_filled_in_everywhere_and_keep_the_type_of_the_limit() -> None:
    template = {"q": "{query}", "n": "{limit}", "deep": [{"text": "top {limit} of {query}"}, 5, None, "{x}"]}
    assert filled(template, {"query": "{limit}", "limit": 7}) == {
        "q": "{limit}",
        "n": 7,
        "deep": [{"text": "top 7 of {limit}"}, 5, None, "{x}"],
    }


class Web(BaseHTTPRequestHandler):
    """A search over HTTP; the query says how it shall go wrong."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, dict[str, str]]]
    released: threading.Event

    def do_GET(self) -> None:
        Web.seen.append((self.path, dict(self.headers)))
        query = parse_qs(urlsplit(self.path).query).get("q", [""])[0]
        if query.isdecimal():
            self.reply(int(query), {"error": f"status {query}", "key": self.headers.get("X-API-Key")})
        elif query == "hang":
            Web.released.wait(60)
            self.close_connection = True
        elif query == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            while not Web.released.wait(0.05):
                self.wfile.write(b" ")
            self.close_connection = True
        elif query == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.close_connection = True
        elif query == "html":
            self.send_text(200, f"<html>{self.headers.get('X-API-Key')}</html>")
        elif query == "null":
            self.reply(200, {"data": {"results": None}})
        else:
            tool = {"name": "log", "server_name": "git"}
            echo = {"name": query, "server_name": "echo"}
            self.reply(200, {"data": {"results": [{"tool": tool, "score": 1.25}, {"tool": echo}]}})

    def reply(self, status: int, data: Any) -> None:
        self.send_text(status, json.dumps(data))

    def send_text(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status in (301, 302):
            self.send_header("Location", "/elsewhere?q=log")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def web() -> Iterator[str]:
    """The address of the web server."""
    Web.seen, Web.released = [], threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Web.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


Http = Callable[..., Target]


@pytest.fixture
def http() -> Iterator[Http]:
    """Makes retrievers, and closes them."""
    made: list[Target] = []

    def of(url: str, timeout: float = 30, **headers: str) -> Target:
        options = {
            "url": url,
            "headers": {name.replace("_", "-"): value for name, value in headers.items()},
            "result": "$.data.results",
            "tool_id": "{tool.server_name}:{tool.name}",
            "score": "score",
        }
        environ = {**os.environ, "PROXY_KEY": "s3cr3t-value"}
        model = RetrieverModel.model_validate({"http": options})
        made.append(make_retriever(model, EMPTY, Surroundings(timeout=timeout, environ=environ)))
        return made[-1]

    yield of
    for one in made:
        one.close()


SEARCH = "/api/v1/index/search?q={query}&limit={limit}"


def test_a_search_over_http(web: str, http: Http) -> None:
    search = http(web + SEARCH, X_API_Key="${PROXY_KEY}")
    assert search.name == f"http: {web}/api/v1/index/search"
    search.open()
    assert search.ask({"query": "log & more=x #y ü/?", "limit": 7}) == [
        Hit("git:log", 1.25),
        Hit("echo:log & more=x #y ü/?"),
    ]
    assert search.ask({"query": "null", "limit": 7}) == []
    path, headers = Web.seen[0]
    assert path == "/api/v1/index/search?q=log%20%26%20more%3Dx%20%23y%20%C3%BC%2F%3F&limit=7"
    assert headers["X-API-Key"] == "s3cr3t-value"


def test_searches_over_http_at_once(web: str, http: Http) -> None:
    search = http(web + SEARCH)
    search.open()
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(len(search.ask({"query": "log", "limit": 3}))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2] * 8


@pytest.mark.parametrize(
    ("query", "reason", "message"),
    [
        ("500", "http", "HTTP 500 Internal Server Error from {web}/api/v1/index/search: "),
        ("404", "http", "HTTP 404 Not Found from {web}/api/v1/index/search: "),
        ("302", "http", "HTTP 302 Found from {web}/api/v1/index/search: "),
        ("401", "refused", "HTTP 401 Unauthorized from {web}/api/v1/index/search: "),
        ("403", "refused", "HTTP 403 Forbidden from {web}/api/v1/index/search: "),
        ("html", "answer", "the answer of {web}/api/v1/index/search is not JSON ("),
        ("cut", "connection", "the server closed the connection in the middle of its answer ({web}/api"),
    ],
)
def test_failures_over_http_without_secrets(
    web: str, http: Http, query: str, reason: str, message: str
) -> None:
    search = http(web + SEARCH + "&key=${PROXY_KEY}", X_API_Key="${PROXY_KEY}")
    found = error(search, query)
    assert found.reason == reason
    assert found.is_incident == (reason == "refused")
    assert found.message.startswith(message.format(web=web))
    assert "s3cr3t" not in found.message
    assert [path.partition("?")[0] for path, _ in Web.seen] == ["/api/v1/index/search"]
    assert search.ask({"query": "log", "limit": 3})


@pytest.mark.parametrize("query", ["hang", "drip"])
def test_the_time_limit_covers_the_whole_exchange(web: str, http: Http, query: str) -> None:
    search = http(web + SEARCH, timeout=1)
    search.open()
    found = error(search, query)
    assert (found.reason, found.message) == (
        "timeout",
        f"no answer within 1 s from {web}/api/v1/index/search",
    )


def test_nothing_listens(http: Http) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = error(http(f"http://127.0.0.1:{port}/?q={{query}}"), "q")
    assert (found.reason, found.is_incident) == ("unreachable", True)
    assert found.message == f"connection refused: nothing listens there (http://127.0.0.1:{port}/)"


def test_what_cannot_be_asked_is_an_error_of_the_set_up(http: Http) -> None:
    with pytest.raises(TargetStartError, match="needs the environment variable UNSET_HERE"):
        http("http://127.0.0.1:1/?q={query}", X_API_Key="${UNSET_HERE}").open()
    with pytest.raises(TargetStartError, match="is not an HTTP URL after its variables"):
        http("${PROXY_KEY}/?q={query}").open()


def test_a_request_takes_variables_and_what_they_hold_stays_as_it_is(
    connections: Connections, proxy: dict[str, ServerDefinition], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", "of the environment")
    arguments = {"query": "${WORD} $${WORD} $${query} {query}", "limit": "{limit}"}
    options = {"server": "proxy", "tool": "retrieve_tools", "arguments": arguments, **PROXY_ANSWER}
    found = retriever(options, connections, proxy).ask({"query": "${HOME}", "limit": 3})
    assert [hit.tool_id for hit in found] == ["git:log", "echo:of the environment ${WORD} ${query} ${HOME}"]
    monkeypatch.delenv("WORD")
    with pytest.raises(TargetStartError, match=r"needs the environment variable WORD \(in arguments\)"):
        retriever(options, connections, proxy)
