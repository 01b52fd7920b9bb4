"""Settings → retriever."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.retrievers.asked import SEARCH, AskedRetriever, hits_of_line
from pytest_mcpeval.kinds.retrieval.retrievers.base import Retriever
from pytest_mcpeval.kinds.retrieval.retrievers.embedded import Bm25, Tfidf
from pytest_mcpeval.kinds.retrieval.retrievers.results import AnswerMap
from pytest_mcpeval.kinds.retrieval.retrievers.settings import AnswerModel, RetrieverModel
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.targets.base import Reader
from pytest_mcpeval.targets.making import Connect, Surroundings, make_target


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
        TargetStartError: It needs a server or a fixture that there is not.
    """
    if model.bm25 is not None:
        return Bm25(corpus, model.bm25.weights(), model.bm25.k1, model.bm25.b)
    if model.tfidf is not None:
        return Tfidf(corpus, model.tfidf.weights())
    around = Surroundings(
        servers=servers or {},
        connection=connection,
        fixtures=fixtures or {},
        environ=os.environ if environ is None else environ,
        timeout=timeout,
        origin=origin,
    )
    return AskedRetriever(make_target(model, SEARCH, around), _reader(model, corpus))


def _reader(model: RetrieverModel, corpus: Corpus) -> Reader:
    answer = model.mcp or model.http
    if answer is not None:
        return _map(answer, corpus).hits
    # What a function returned is read where it was called.
    return hits_of_line if model.command is not None else list


def _map(model: AnswerModel, corpus: Corpus) -> AnswerMap:
    names: dict[str, str] = {}
    if model.separator is not None:
        names = {f"{tool.server}{model.separator}{tool.tool}": tool.tool_id for tool in corpus.tools}
    return AnswerMap(model.result, model.tool_id, model.score, names)
