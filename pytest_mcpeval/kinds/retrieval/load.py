"""Document → golden set with its corpus: returns the queries, or raises all problems of the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.fields import vacuous
from pytest_mcpeval.core.gate import names
from pytest_mcpeval.core.statistics import lowest_p
from pytest_mcpeval.core.suite import Place
from pytest_mcpeval.kinds.loader import SuiteLoader
from pytest_mcpeval.kinds.retrieval.corpus import Corpus, CorpusTool
from pytest_mcpeval.kinds.retrieval.definitions import beyond_depth, cutoff_of
from pytest_mcpeval.kinds.retrieval.schema import (
    CorpusModel,
    GoldenModel,
    QueryModel,
    RetrievalSettings,
    ToolModel,
)
from pytest_mcpeval.kinds.retrieval.spec import (
    HARD_NEGATIVE,
    GoldenData,
    GoldenQuery,
    RetrievalSuite,
    servers_of,
)
from pytest_mcpeval.kinds.retrieval.words import names_the_tool, words
from pytest_mcpeval.loading import DataFileError, Document, Problem, garbage_collection_paused, load
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.schema import validate


def load_suite(document: Document, place: Place) -> RetrievalSuite:
    """The golden set in a document.

    Raises:
        DataFileError: With every problem of the file, or of its corpus.
    """
    with garbage_collection_paused():
        return _Loader(document, place, validate(GoldenModel, document), RetrievalSettings, "queries").suite()


def load_corpus(path: Path) -> Corpus:
    """The tools in a corpus file.

    Raises:
        DataFileError: With every problem of the file.
    """
    document = load(path)
    model = validate(CorpusModel, document)
    problems = _corpus_problems(document, model.tools)
    if problems:
        raise DataFileError(problems)
    version = model.version or path.name.partition(".")[0]
    tools = (
        CorpusTool(one.tool_id, one.server, one.tool, one.description, one.input_schema)
        for one in model.tools
    )
    return Corpus(version, tuple(tools), path)


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


class _Loader(SuiteLoader[GoldenModel, RetrievalSettings]):
    """Turns a validated golden file into queries, and collects problems that the schema cannot detect."""

    named: list[str]
    """Queries that name a relevant tool, with its name."""

    def suite(self) -> RetrievalSuite:
        self.named = []
        corpus = self._corpus()
        self._check_version(corpus)
        self._check_depth()
        self._check_metrics()
        self._check_limits()
        self._check_pins()
        if (mcp := self.settings.retriever.mcp) is not None:
            self.check_server(mcp.server, "retriever", "mcp", "server")
        for index, query in enumerate(self.model.queries):
            self._check_query(index, query, corpus)
        pins = self.settings.gates.pinned
        queries = tuple(golden_query(query, pins.get(query.id)) for query in self.model.queries)
        golden = GoldenData(queries, corpus)
        with self.all_problems():
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
                warnings=tuple(self._warnings()),
                origin=self.place_of("retriever"),
                golden=golden,
            )

    def _corpus(self) -> Corpus:
        path = self.settings.corpus
        if path is None:
            message = "no corpus is named: say `corpus: FILE` here or in the entry of mcpeval.yaml"
            raise DataFileError([self.document.problem("corpus", message=message)])
        if not Path(path).is_file():
            message = f"corpus: there is no file {path}{self.origin('corpus')}"
            raise DataFileError([self.document.problem("corpus", message=message)])
        return load_corpus(Path(path))

    def _check_version(self, corpus: Corpus) -> None:
        wanted = self.model.corpus_version
        if corpus.version != wanted:
            name = corpus.path.name if corpus.path else "the corpus"
            message = (
                f"corpus_version: the queries are labelled for {shown(wanted)}, and {name} has the version "
                f"{shown(corpus.version)}: use the corpus they were labelled for, or label them again"
            )
            self.problem("corpus_version", message=message + self.origin("corpus"))

    def _check_depth(self) -> None:
        depth = self.settings.depth
        if "expect" in self.settings.model_fields_set and self.settings.expect > depth:
            self.problem(
                "expect", message=f"expect: {_beyond(self.settings.expect, depth)}{self.origin('expect')}"
            )
        for index, query in enumerate(self.model.queries):
            if query.must_hit is not None and query.must_hit > depth:
                message = f"must_hit: {_beyond(query.must_hit, depth)}"
                self.problem("queries", index, "must_hit", message=message)

    def _check_metrics(self) -> None:
        gates, depth = self.settings.gates, self.settings.depth
        groups = {
            "tolerance": gates.tolerance or {},
            "significance": gates.significance,
            "floors": gates.floors,
        }
        watched: list[tuple[tuple[str, ...], str]] = [(("lost_by",), gates.lost_by)]
        watched += [((name, metric), metric) for name, group in groups.items() for metric in group]
        for path, metric in watched:
            if path[0] in gates.model_fields_set and cutoff_of(metric) > depth:
                message = f"gates.{'.'.join(path)}: {beyond_depth(metric, depth)}{self.origin('gates')}"
                self.problem("gates", *path, message=message)

    def _check_limits(self) -> None:
        """Report limits that this many queries cannot exceed."""
        gates, count = self.settings.gates, len(self.model.queries)
        instead = f"or null for no such gate{self.origin('gates')}"
        if isinstance(gates.max_lost, int) and gates.max_lost >= count:
            message = f"gates.max_lost: {vacuous(gates.max_lost)}: expected less than {count}, {instead}"
            self.problem("gates", "max_lost", message=message)
        if "significance" in gates.model_fields_set:
            for metric, limit in gates.significance.items():
                if limit is not None and lowest_p(count) >= limit:
                    message = (
                        f"gates.significance.{metric}: the lowest p of {count} queries is "
                        f"{lowest_p(count):g}, so the gate could not fail: expected more, {instead}"
                    )
                    self.problem("gates", "significance", metric, message=message)

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
            self.problem("gates", "pinned", query, message=message + self.origin("gates"))

    def _check_query(self, index: int, query: QueryModel, corpus: Corpus) -> None:
        at = ("queries", index, "labels")
        seen: set[str] = set()
        for number, label in enumerate(query.labels):
            if label.tool_id in seen:
                message = f"{shown(label.tool_id)} is labelled twice: remove one label"
                self.problem(*at, number, "tool_id", message=message)
            elif label.tool_id not in corpus.ids:
                close = suggestion(label.tool_id, corpus.ids)
                name = corpus.path.name if corpus.path else "the corpus"
                self.problem(
                    *at, number, "tool_id", message=f"{shown(label.tool_id)} is not in {name}{close}"
                )
            seen.add(label.tool_id)
        relevant = [label.tool_id for label in query.labels if label.relevance >= 1]
        if not relevant:
            message = f"labels of {query.id!r}: none has a relevance of 1 or 2, so nothing could be found"
            self.problem(*at, message=message)
        for tool in relevant:
            self._check_name(index, query, tool.partition(":")[2])

    def _check_name(self, index: int, query: QueryModel, name: str) -> None:
        """Treat a query that names its relevant tool as `named_tools` says."""
        if not names_the_tool(query.query, name):
            return
        found = self.settings.named_tools or ("warn" if len(words(name)) == 1 else "error")
        if found == "error":
            message = (
                f"query: contains the name of its relevant tool {shown(name)}, which gives it away: rephrase "
                "the query, or set `named_tools: warn`"
            )
            self.problem("queries", index, "query", message=message)
        elif found == "warn":
            self.named.append(f"{query.id} ({name})")

    def _warnings(self) -> Iterator[str]:
        if self.named:
            queries = "1 query contains" if len(self.named) == 1 else f"{len(self.named)} queries contain"
            yield (
                f"{queries} the name of a relevant tool, which may give it away: {names(self.named)}. For no "
                "warning, set `named_tools: allow`"
            )

    def _case(self, index: int, query: GoldenQuery) -> Case[GoldenQuery]:
        at = ("queries", index)
        fixture = self.settings.retriever.fixture
        tags = (HARD_NEGATIVE,) if query.is_hard_negative else ()
        traits: dict[str, Any] = {"tags": tags, "server": tuple(servers_of(query.labels))}
        return Case(
            id=query.id,
            line=self.document.line(*at),
            keys=at,
            make_spec=lambda: query,
            # The groups of a query: `--mcpeval-tag hard-negative`, `-m github`.
            traits={name: value for name, value in traits.items() if value},
            fixtures=() if fixture is None else (fixture,),
            may_prefetch=fixture is None,
        )


def _beyond(k: int, depth: int) -> str:
    return f"expected at most {depth}, which is the `depth`, found {k}"


def golden_query(model: QueryModel, pin: int | None = None) -> GoldenQuery:
    """The query in a checked row; ``pin`` is the ``must_hit`` that settings give it."""
    labels = {label.tool_id: label.relevance for label in model.labels}
    return GoldenQuery(model.id, model.query, labels, model.notes, pin or model.must_hit)
