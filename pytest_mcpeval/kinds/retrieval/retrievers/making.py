"""Settings → retriever."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.retrievers.base import Retriever, RetrieverStartError
from pytest_mcpeval.kinds.retrieval.retrievers.command import CommandRetriever
from pytest_mcpeval.kinds.retrieval.retrievers.embedded import Bm25, Tfidf
from pytest_mcpeval.kinds.retrieval.retrievers.functions import FixtureRetriever, PythonRetriever
from pytest_mcpeval.kinds.retrieval.retrievers.http_get import HttpRetriever
from pytest_mcpeval.kinds.retrieval.retrievers.mcp_tool import McpRetriever
from pytest_mcpeval.kinds.retrieval.retrievers.results import AnswerMap
from pytest_mcpeval.kinds.retrieval.retrievers.settings import AnswerModel, McpModel, RetrieverModel
from pytest_mcpeval.servers.definitions import ServerDefinition

if TYPE_CHECKING:
    from pytest_mcpeval.servers.connection import Connection

Connect = Callable[[ServerDefinition], "Connection"]
"""Opens the connection to a server, or finds it; raises `ServerStartError` or `ServerConfigError`."""


def make_retriever(
    model: RetrieverModel,
    corpus: Corpus,
    *,
    servers: Mapping[str, ServerDefinition] | None = None,
    connection: Connect | None = None,
    fixtures: Mapping[str, Any] | None = None,
    timeout: float = 60.0,
    environ: Mapping[str, str] | None = None,
    origin: str = "",
) -> Retriever:
    """The retriever that settings describe, not opened yet: nothing is imported, started or asked.

    ``timeout`` is in seconds, for each query. ``environ`` is where variables are looked up (default: the
    environment of the process); ``origin`` is ``path:line`` of the settings, for messages.

    Raises:
        RetrieverStartError: It needs a server or a fixture that there is not.
    """
    if model.bm25 is not None:
        return Bm25(corpus, model.bm25.weights(), model.bm25.k1, model.bm25.b)
    if model.tfidf is not None:
        return Tfidf(corpus, model.tfidf.weights())
    if model.python is not None:
        return PythonRetriever(model.python, Path(model.directory), timeout)
    if model.fixture is not None:
        return _fixture(model.fixture, fixtures or {}, timeout)
    if model.mcp is not None:
        return _mcp(model.mcp, _map(model.mcp, corpus), servers or {}, connection, timeout)
    environ = os.environ if environ is None else environ
    definition = _definition(model, origin)
    if model.command is not None:
        return CommandRetriever(definition, environ, timeout)
    assert model.http is not None
    return HttpRetriever(definition, environ, _map(model.http, corpus), timeout)


def _fixture(name: str, fixtures: Mapping[str, Any], timeout: float) -> Retriever:
    if name not in fixtures:
        raise RetrieverStartError(f"fixture:{name}", "a pytest fixture has a value in a test only")
    return FixtureRetriever(name, fixtures[name], timeout)


def _mcp(
    model: McpModel,
    answer: AnswerMap,
    servers: Mapping[str, ServerDefinition],
    connection: Connect | None,
    timeout: float,
) -> Retriever:
    name = f"mcp: {model.tool} of {model.server}"
    if model.server not in servers:
        known = ", ".join(sorted(servers)) or "none"
        raise RetrieverStartError(name, f"no server {model.server!r} is defined (defined: {known})")
    if connection is None:
        raise RetrieverStartError(name, "there is nothing to open connections with")
    connect = partial(connection, servers[model.server])
    return McpRetriever(name, model.tool, model.arguments, answer, connect, timeout)


def _definition(model: RetrieverModel, origin: str) -> ServerDefinition:
    """What to run or to ask, in the form whose variables and secrets are understood already."""
    if model.http is not None:
        url, headers = model.http.url, model.http.headers
        return ServerDefinition("retriever", "http", url=url, headers=headers, origin=origin)
    command, *arguments = model.command or [""]
    return ServerDefinition(
        "retriever",
        "stdio",
        command=command,
        args=tuple(arguments),
        env=model.env,
        directory=Path(model.directory),
        origin=origin,
    )


def _map(model: AnswerModel, corpus: Corpus) -> AnswerMap:
    names: dict[str, str] = {}
    if model.separator is not None:
        names = {f"{tool.server}{model.separator}{tool.tool}": tool.tool_id for tool in corpus.tools}
    return AnswerMap(model.result, model.tool_id, model.score, names)
