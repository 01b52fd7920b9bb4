"""Document → golden set with its corpus: every problem of the files, or the queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from pytest_mcpeval.kinds.base import Case, Place
from pytest_mcpeval.kinds.fields import PROVENANCE, given, located
from pytest_mcpeval.kinds.retrieval.corpus import Corpus, CorpusTool
from pytest_mcpeval.kinds.retrieval.schema import (
    CorpusModel,
    GoldenModel,
    QueryModel,
    RetrievalSettings,
    ToolModel,
)
from pytest_mcpeval.kinds.retrieval.slices import HARD_NEGATIVE, servers_of
from pytest_mcpeval.kinds.retrieval.spec import GoldenData, GoldenQuery, RetrievalSpec, RetrievalSuite
from pytest_mcpeval.kinds.retrieval.words import names_the_tool
from pytest_mcpeval.loading import DataFileError, Document, Problem, garbage_collection_paused, load
from pytest_mcpeval.loading.schema import validate
from pytest_mcpeval.loading.wording import shown, suggestion
from pytest_mcpeval.merging import merge

ModelT = TypeVar("ModelT", bound=BaseModel)


def load_suite(document: Document, place: Place) -> RetrievalSuite:
    """The golden set in a document.

    Raises:
        DataFileError: With every problem of the file, or of its corpus.
    """
    with garbage_collection_paused():
        return _Loader(document, place, _checked(GoldenModel, document)).suite()


def load_corpus(path: Path) -> Corpus:
    """The tools in a corpus file.

    Raises:
        DataFileError: With every problem of the file.
    """
    document = load(path)
    model = _checked(CorpusModel, document)
    problems = _corpus_problems(document, model.tools)
    if problems:
        raise DataFileError(problems)
    version = model.version or path.name.partition(".")[0]
    return Corpus(version, tuple(map(_tool, model.tools)), path)


def _checked(model: type[ModelT], document: Document) -> ModelT:
    """The document as a model, without the remarks of its authors."""
    data = document.data
    if isinstance(data, Mapping):
        data = {key: value for key, value in data.items() if not key.startswith(PROVENANCE)}
    return validate(model, document, data)


def _tool(model: ToolModel) -> CorpusTool:
    return CorpusTool(model.tool_id, model.server, model.tool, model.description, model.input_schema)


def _corpus_problems(document: Document, tools: list[ToolModel]) -> list[Problem]:
    problems = []
    seen: dict[str, int] = {}
    for index, tool in enumerate(tools):
        first = seen.setdefault(tool.tool_id, index)
        if first != index:
            line = document.line("tools", first)
            message = f"duplicate tool_id {shown(tool.tool_id)}: first used on line {line}"
            problems.append(document.problem("tools", index, "tool_id", message=message))
        wanted = f"{tool.server}:{tool.tool}"
        if tool.tool_id != wanted:
            message = f"tool_id: expected {shown(wanted)}, its server and tool, found {shown(tool.tool_id)}"
            problems.append(document.problem("tools", index, "tool_id", message=message))
    return problems


class _Loader:
    """Turns a validated golden file into queries, gathering what the schema alone cannot see."""

    def __init__(self, document: Document, place: Place, model: GoldenModel) -> None:
        self.document = document
        self.place = place
        self.model = model
        self.problems: list[Problem] = []
        self.settings = self._effective_settings()

    def _effective_settings(self) -> RetrievalSettings:
        own = given(located(self.model, self.document.path.parent), RetrievalSettings.model_fields)
        return RetrievalSettings(**merge(merge(self.place.settings, own), self.place.overrides))

    def suite(self) -> RetrievalSuite:
        corpus = self._corpus()
        self._check_version(corpus)
        self._check_depth()
        self._check_pins()
        self._check_retriever()
        self._find_duplicates()
        for index, query in enumerate(self.model.queries):
            self._check_query(index, query, corpus)
        if self.problems:
            raise DataFileError(self.problems)
        pins = self.settings.gates.pinned
        queries = tuple(golden_query(query, pins.get(query.id)) for query in self.model.queries)
        golden = GoldenData(queries, corpus)
        return RetrievalSuite(
            key=self.place.key,
            kind="retrieval",
            document=self.document,
            cases=tuple(self._case(index, query) for index, query in enumerate(golden.queries)),
            settings=self.settings,
            servers=self.place.servers,
            concurrency=self.settings.concurrency,
            batch=self.settings.batch,
            runs=self.settings.runs,
            golden=golden,
        )

    def _problem(self, *keys: str | int, message: str) -> None:
        self.problems.append(self.document.problem(*keys, message=message))

    def _corpus(self) -> Corpus:
        path = self.settings.corpus
        if path is None:
            message = "no corpus is named: say `corpus: FILE` here or in the entry of mcpeval.yaml"
            raise DataFileError([self.document.problem("corpus", message=message)])
        if not Path(path).is_file():
            message = f"corpus: there is no file {path}{self._origin('corpus')}"
            raise DataFileError([self.document.problem("corpus", message=message)])
        return load_corpus(Path(path))

    def _check_version(self, corpus: Corpus) -> None:
        wanted = self.model.corpus_version
        if corpus.version != wanted:
            name = corpus.path.name if corpus.path else "the corpus"
            message = (
                f"corpus_version: the queries are labelled for {shown(wanted)}, and {name} has the version "
                f"{shown(corpus.version)}: use the corpus they were labelled for, or label them anew"
            )
            self._problem("corpus_version", message=message + self._origin("corpus"))

    def _check_depth(self) -> None:
        depth = self.settings.depth
        if "expect" in self.settings.model_fields_set and self.settings.expect > depth:
            self._problem(
                "expect", message=f"expect: {_beyond(self.settings.expect, depth)}{self._origin('expect')}"
            )
        for index, query in enumerate(self.model.queries):
            if query.must_hit is not None and query.must_hit > depth:
                message = f"must_hit: {_beyond(query.must_hit, depth)}"
                self._problem("queries", index, "must_hit", message=message)

    def _check_pins(self) -> None:
        known = {query.id for query in self.model.queries}
        for query, pin in self.settings.gates.pinned.items():
            message = f"gates.pinned.{query}: "
            if query not in known:
                message += f"there is no such query{suggestion(query, known)}"
            elif pin > self.settings.depth:
                message += _beyond(pin, self.settings.depth)
            else:
                continue
            self._problem("gates", "pinned", query, message=message + self._origin("gates"))

    def _check_retriever(self) -> None:
        mcp = self.settings.retriever.mcp
        if mcp is None or mcp.server in self.place.servers:
            return
        servers = self.place.servers
        known = ", ".join(sorted(servers)) or "none"
        message = f"retriever.mcp.server: unknown server {shown(mcp.server)}{suggestion(mcp.server, servers)}"
        self._problem(
            "retriever", "mcp", "server", message=f"{message} (defined: {known}){self._origin('retriever')}"
        )

    def _find_duplicates(self) -> None:
        seen: dict[str, int] = {}
        for index, query in enumerate(self.model.queries):
            first = seen.setdefault(query.id, index)
            if first != index:
                line = self.document.line("queries", first)
                message = f"duplicate id {query.id!r}: first used on line {line}"
                self._problem("queries", index, "id", message=message)

    def _check_query(self, index: int, query: QueryModel, corpus: Corpus) -> None:
        at = ("queries", index, "labels")
        seen: set[str] = set()
        for number, label in enumerate(query.labels):
            if label.tool_id in seen:
                message = f"{shown(label.tool_id)} is labelled twice: remove one label"
                self._problem(*at, number, "tool_id", message=message)
            elif label.tool_id not in corpus.ids:
                close = suggestion(label.tool_id, corpus.ids)
                name = corpus.path.name if corpus.path else "the corpus"
                self._problem(
                    *at, number, "tool_id", message=f"{shown(label.tool_id)} is not in {name}{close}"
                )
            seen.add(label.tool_id)
        relevant = [label.tool_id for label in query.labels if label.relevance >= 1]
        if not relevant:
            message = f"labels of {query.id!r}: none has a relevance of 1 or 2, so nothing could be found"
            self._problem(*at, message=message)
        for tool in relevant:
            name = tool.partition(":")[2]
            if names_the_tool(query.query, name):
                message = f"query: contains the name of its relevant tool {shown(name)}, which gives it away"
                self._problem("queries", index, "query", message=message)

    def _case(self, index: int, query: GoldenQuery) -> Case[RetrievalSpec]:
        at = ("queries", index)
        fixture = self.settings.retriever.fixture
        return Case(
            id=query.id,
            line=self.document.line(*at),
            keys=at,
            make_spec=lambda: RetrievalSpec(query),
            traits=_traits(query),
            fixtures=() if fixture is None else (fixture,),
            may_run_ahead=fixture is None,
        )

    def _origin(self, setting: str) -> str:
        """Where a setting comes from, when it is not this file."""
        if setting in self.place.overrides:
            return f"; `{setting}` comes from the command line"
        own = setting in self.model.model_fields_set
        origin = None if own else self.place.origins.get(setting)
        return f"; `{setting}` comes from {origin}" if origin else ""


def _beyond(k: int, depth: int) -> str:
    return f"expected at most {depth}, which is the `depth`, found {k}"


def golden_query(model: QueryModel, pin: int | None = None) -> GoldenQuery:
    """The query in a checked row; ``pin`` is the ``must_hit`` that settings give it."""
    labels = {label.tool_id: label.relevance for label in model.labels}
    return GoldenQuery(model.id, model.query, labels, model.notes, pin or model.must_hit)


def _traits(query: GoldenQuery) -> dict[str, Any]:
    """The groups a query is in: ``--mcpeval-tag hard-negative``, ``-m github``."""
    tags = (HARD_NEGATIVE,) if query.is_hard_negative else ()
    found: dict[str, Any] = {"tags": tags, "server": tuple(servers_of(query.labels))}
    return {name: value for name, value in found.items() if value}
