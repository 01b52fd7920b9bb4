"""The shapes of golden sets and tool corpora, and the settings of golden sets. camelCase is read as well."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from pytest_mcpeval.kinds.fields import FILE_MODEL, CaseId, Concurrency, OptionalPath, Seconds, Share, Text
from pytest_mcpeval.kinds.retrieval.definitions import METRICS
from pytest_mcpeval.kinds.retrieval.gates import DEFAULT_LOST_BY, DEFAULT_SIGNIFICANCE
from pytest_mcpeval.kinds.retrieval.retrievers.settings import EMBEDDED_DEFAULT, RetrieverSetting
from pytest_mcpeval.loading.wording import choice, shown, suggestion

DEFAULT_DEPTH = 10

PROVENANCE = "__"
"""Keys at the top of a data file that begin so are remarks of its authors."""


def _metric(name: str) -> str:
    if name not in METRICS:
        known = choice(METRICS)
        raise ValueError(f"{shown(name)} is no metric{suggestion(name, METRICS)}: expected {known}")
    return name


Metric = Annotated[str, AfterValidator(_metric)]
Rank = Annotated[int, Field(ge=1, le=1000)]


class _Model(BaseModel):
    model_config = FILE_MODEL


class ToolModel(_Model):
    """One entry of ``tools:`` of a corpus."""

    tool_id: Text
    server: Text
    tool: Text
    description: str = ""
    # `schema` itself is a name pydantic's models have.
    input_schema: dict[str, Any] | None = Field(None, validation_alias="schema")


class CorpusModel(_Model):
    """A tool corpus."""

    kind: Literal["retrieval"] = "retrieval"
    version: Text | None = None
    generated_from: Any = None
    description: Any = None
    servers: Any = None
    tools: Annotated[list[ToolModel], Field(min_length=1)]


class LabelModel(_Model):
    """One entry of ``labels:``. Relevance 2: the right tool, 1: would do, 0: judged and wrong."""

    tool_id: Text
    relevance: Literal[0, 1, 2]


class QueryModel(_Model):
    """One entry of ``queries:``."""

    id: CaseId
    query: Text
    labels: Annotated[list[LabelModel], Field(min_length=1)]
    notes: str = ""
    must_hit: Rank | None = Field(None, description="pinned: a relevant tool must be within the top so many")


class GatesModel(_Model):
    """``gates:`` of a golden set. All but ``floors`` are on without being set."""

    tolerance: dict[Metric, Share] | None = Field(
        default=None,
        description="metric → how far it may fall; default: as the baseline says, or recall_at_5: 0.05",
    )
    significance: dict[Metric, Share] = Field(
        default=dict(DEFAULT_SIGNIFICANCE),
        description="metric → p below which a fall of its queries is no chance",
    )
    max_lost: Annotated[int, Field(ge=0)] | Literal["tolerance"] | None = Field(
        default="tolerance", description="queries that may be lost; default: what the tolerance amounts to"
    )
    lost_by: Metric = Field(default=DEFAULT_LOST_BY, description="the metric by which a query is lost or won")
    floors: dict[Metric, Share] = Field(default={}, description="metric → its lowest value")


class RetrievalSettings(_Model):
    """What a golden set is measured on and held to; an entry of ``retrieval:`` in ``mcpeval.yaml``."""

    corpus: OptionalPath = Field(default=None, description="file of the tools that are searched")
    baseline: OptionalPath = Field(default=None, description="file of committed metrics and ranks")
    retriever: RetrieverSetting = Field(default=EMBEDDED_DEFAULT, description="the search that is evaluated")
    depth: Rank = Field(
        default=DEFAULT_DEPTH, description="results asked for; a part of the metrics' definition"
    )
    expect: Rank = Field(default=10, description="a query passes with a relevant tool within the top so many")
    strict: bool = Field(
        default=False, description="a query that misses fails, instead of being left to the gates"
    )
    concurrency: Concurrency = Field(default=1, description="searches in flight at once")
    timeout: Seconds = Field(default=30.0, description="seconds a search may take")
    gates: GatesModel = Field(
        default=GatesModel(), description="rules over the whole set that can fail the run"
    )


class GoldenModel(RetrievalSettings):
    """A whole golden file. Settings given here win over ``mcpeval.yaml``."""

    kind: Literal["retrieval"] = "retrieval"
    corpus_version: Text
    generated_from: Any = None
    description: Any = None
    version: Any = None
    queries: Annotated[list[QueryModel], Field(min_length=1)]
