"""The shapes of golden sets and tool corpora, and the settings of golden sets. camelCase is read as well."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
)

from pytest_mcpeval.core.fields import (
    BaselinePath,
    BatchSize,
    CaseId,
    Ceiling,
    Concurrency,
    FileModel,
    Floor,
    OptionalPath,
    RowModel,
    Runs,
    Seconds,
    Text,
)
from pytest_mcpeval.core.statistics import DRAWS
from pytest_mcpeval.kinds.retrieval.definitions import METRICS
from pytest_mcpeval.kinds.retrieval.gate_input import DEFAULT_LOST_BY, DEFAULT_SIGNIFICANCE
from pytest_mcpeval.kinds.retrieval.retrievers.settings import EMBEDDED_DEFAULT, RetrieverSetting
from pytest_mcpeval.loading.messages import choice, shown, suggestion
from pytest_mcpeval.loading.schema import Expected

DEFAULT_DEPTH = 10


def _metric(name: str) -> str:
    if name not in METRICS:
        known = choice(METRICS)
        raise ValueError(f"{shown(name)} is not a metric{suggestion(name, METRICS)}: expected {known}")
    return name


def _sayable(query: str) -> str:
    if not query.strip():
        raise ValueError("is blank, so nothing could be found")
    return query


def _name(name: str) -> str:
    if _UNFIT.search(name):
        raise ValueError(f"{shown(name)} has a blank or a control character, and no name of a tool has")
    return name


def _server(name: str) -> str:
    if ":" in name:
        raise ValueError(f"{shown(name)} has a colon, which ends the server in a tool_id")
    return name


def _top(value: Any) -> Any:
    """``10``, ``hit@10`` and ``{k: 10}`` are the same."""
    if isinstance(value, str) and (found := _HIT_AT.fullmatch(value)):
        return int(found[1])
    return value["k"] if isinstance(value, dict) and value.keys() == {"k"} else value


def _version(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_HIT_AT = re.compile(r"hit@([1-9][0-9]{0,3})")

# Of drawn sign assignments, the lowest p is just below this.
Significance = Annotated[float, Field(ge=1 / DRAWS, le=1)]
Metric = Annotated[str, AfterValidator(_metric)]
Rank = Annotated[int, Field(ge=1, le=1000)]
Top = Annotated[
    Rank,
    BeforeValidator(_top, json_schema_input_type=int | str | dict[Literal["k"], int]),
    Expected("a number such as 10, or hit@10"),
]
QueryText = Annotated[str, StringConstraints(min_length=1, max_length=10_000), AfterValidator(_sayable)]
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_name)]


Version = Annotated[
    Text,
    BeforeValidator(_version, json_schema_input_type=int | str),
    Expected("a version such as v1, or a whole number"),
]


class ToolModel(RowModel):
    """One entry of ``tools:`` of a corpus."""

    tool_id: ToolName
    server: Annotated[ToolName, AfterValidator(_server)]
    tool: ToolName
    description: str = ""
    # `schema` itself is a name pydantic's models have.
    input_schema: dict[str, Any] | None = Field(None, validation_alias="schema")


class CorpusModel(RowModel):
    """A tool corpus."""

    kind: Literal["retrieval"] = "retrieval"
    version: Version | None = None
    generated_from: Any = None
    description: Any = None
    servers: Any = None
    tools: Annotated[list[ToolModel], Field(min_length=1)]


class LabelModel(RowModel):
    """One entry of ``labels:``. Relevance 2: the right tool, 1: would do, 0: judged and wrong."""

    tool_id: Text
    relevance: Annotated[int, Field(ge=0, le=2), Expected("0, 1 or 2")]


class QueryModel(RowModel):
    """One entry of ``queries:``."""

    id: CaseId
    query: QueryText
    labels: Annotated[list[LabelModel], Field(min_length=1)]
    notes: str = ""
    must_hit: Rank | None = Field(
        None, description="pinned: a relevant tool must be among this many first results"
    )


class GatesModel(FileModel):
    """``gates:`` of a golden set. All but ``floors`` are on without being set."""

    tolerance: dict[Metric, Ceiling | None] | None = Field(
        default=None,
        description="metric → how far it may fall; default: as the baseline says, or recall_at_5: 0.05; "
        "with a depth below 5, of recall_at_3 or recall_at_1",
    )
    significance: dict[Metric, Significance | None] = Field(
        default=dict(DEFAULT_SIGNIFICANCE),
        description="metric → p below which chance does not explain a fall of its queries",
    )
    max_lost: Annotated[int, Field(ge=0)] | Literal["chance"] | None = Field(
        default="chance",
        description="queries that may be lost; default: as many as the tolerance allows or chance explains",
    )
    lost_by: Metric = Field(
        default=DEFAULT_LOST_BY, description="the metric that decides whether a query is lost or won"
    )
    floors: dict[Metric, Floor | None] = Field(default={}, description="metric → its lowest value")
    pinned: dict[CaseId, Rank] = Field(
        default={}, description="query id → its must_hit, for golden files that you do not want to edit"
    )


class RetrievalSettings(FileModel):
    """The settings of a golden set; an entry of ``retrieval:`` in ``mcpeval.yaml``."""

    corpus: OptionalPath = Field(default=None, description="file of the tools that are searched")
    baseline: BaselinePath = Field(default=None, description="file of committed metrics and ranks")
    retriever: RetrieverSetting = Field(
        default=EMBEDDED_DEFAULT,
        description="the search that is evaluated",
        json_schema_extra={"default": "bm25"},
    )
    depth: Rank = Field(
        default=DEFAULT_DEPTH, description="number of results asked for; part of the metrics' definition"
    )
    expect: Top = Field(
        default=10,
        description="a query passes if a relevant tool is among this many first results: 10, or hit@10",
    )
    named_tools: Literal["allow", "warn", "error"] | None = Field(
        default=None,
        description="how to treat a query that contains the name of a relevant tool; default: a warning for "
        "a name of one word, an error for a longer one",
    )
    strict: bool = Field(
        default=False, description="a query that misses fails, instead of leaving the decision to the gates"
    )
    concurrency: Concurrency = Field(default=1, description="searches in flight at once")
    batch: BatchSize = Field(default=1, description="queries in one item")
    runs: Runs = Field(
        default=1, description="how many times each query is asked; metrics are computed from the means"
    )
    timeout: Seconds = Field(default=30.0, description="seconds a search may take")
    gates: GatesModel = Field(
        default=GatesModel(), description="rules over the whole set that can fail the run"
    )


class GoldenModel(RowModel, RetrievalSettings):
    """A whole golden file. Its settings override ``mcpeval.yaml``."""

    kind: Literal["retrieval"] = "retrieval"
    corpus_version: Version
    generated_from: Any = None
    description: Any = None
    version: Any = None
    queries: Annotated[list[QueryModel], Field(min_length=1)]
