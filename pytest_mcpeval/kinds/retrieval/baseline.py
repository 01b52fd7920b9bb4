"""Committed numbers of a golden set: ours with the ranks of every query, or the metrics of the set alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_mcpeval.baseline import BaselineCase, BaselineModel, digest_of, is_baseline
from pytest_mcpeval.kinds.retrieval.definitions import METRICS, definition, flat, nested
from pytest_mcpeval.kinds.retrieval.gates import BaselineScores, differing_digests
from pytest_mcpeval.kinds.retrieval.spec import GoldenData, RetrievalSuite
from pytest_mcpeval.loading import DataFileError, Document, load
from pytest_mcpeval.samples import Sample

Ranks = Mapping[str, Mapping[str, int]]

_READ_ONLY = ConfigDict(extra="allow", frozen=True)
_Share = Field(ge=0, le=1)


class _Metrics(BaseModel):
    """The metrics of a set, as reports and baselines write them."""

    model_config = _READ_ONLY

    recall_at: dict[str, float] = {}
    hit_at: dict[str, float] = {}
    mrr: float | None = None
    ndcg_at_10: float | None = None
    map: float | None = None


class FlatBaselineModel(_Metrics):
    """A baseline that holds the metrics of the set alone. What it says of other kinds is left alone."""

    tolerance: dict[str, float] = {}


class _Case(BaselineCase):
    ranks: dict[str, int]


class RetrievalBaselineModel(BaselineModel, _Metrics):
    """Our own baseline. ``digest`` is of the queries and their labels."""

    corpus_digest: str
    definition: dict[str, Any]
    tolerance: dict[str, float] = {}
    cases: dict[str, _Case]  # type: ignore[assignment]


@dataclass(frozen=True)
class Committed:
    """A committed baseline. ``ranks`` maps query id to the ranks of its relevant tools; None without them."""

    scores: BaselineScores
    ranks: Ranks | None = field(default=None)


def is_flat_baseline(data: object) -> bool:
    """Whether a document is a baseline of a set's metrics alone."""
    return isinstance(data, dict) and "recall_at" in data and not is_baseline(data)


def digests(golden: GoldenData, depth: int) -> dict[str, str]:
    """Digests of everything a baseline is made from, by a word for people."""
    return {
        "golden set": golden.digest,
        "corpus": golden.corpus.digest,
        "metric definitions": digest_of(definition(depth)),
    }


def read(suite: RetrievalSuite) -> Committed | None:
    """The committed baseline of a suite; None when there is none yet.

    Raises:
        DataFileError: The file is no baseline of a golden set.
    """
    path = suite.settings.baseline
    if path is None or not Path(path).is_file():
        return None
    document = load(Path(path))
    return _own(document, suite) if is_baseline(document.data) else _flat(document)


def _flat(document: Document) -> Committed:
    from pytest_mcpeval.loading.schema import validate

    if not is_flat_baseline(document.data):
        message = "expected a baseline, written by --mcpeval-bless or a mapping with `recall_at`"
        raise DataFileError([document.problem(message=message)])
    model: FlatBaselineModel = validate(FlatBaselineModel, document)
    return Committed(BaselineScores(_known(model), tolerance=_tolerance(model.tolerance)))


def _known(model: _Metrics) -> dict[str, float]:
    return flat(model.model_dump(exclude_none=True))


def _tolerance(given: Mapping[str, float]) -> dict[str, float]:
    """The tolerances of our metrics: one file may hold those of other kinds as well."""
    return {name: value for name, value in given.items() if name in METRICS}


def _own(document: Document, suite: RetrievalSuite) -> Committed:
    from pytest_mcpeval.loading.schema import validate

    model: RetrievalBaselineModel = validate(RetrievalBaselineModel, document)
    if model.of != suite.kind:
        message = f"is a baseline of a {model.of} suite, wanted {suite.kind}"
        raise DataFileError([document.problem("of", message=message)])
    found = {
        "golden set": model.digest,
        "corpus": model.corpus_digest,
        "metric definitions": digest_of(model.definition),
    }
    tolerance = _tolerance(model.tolerance)
    if differing_digests(found, digests(suite.golden, suite.settings.depth)):
        return Committed(BaselineScores(_known(model), tolerance=tolerance, digests=found))
    ranks = {query: dict(case.ranks) for query, case in model.cases.items()}
    return Committed(BaselineScores(_known(model), _values(suite.golden, ranks), tolerance, found), ranks)


def _values(golden: GoldenData, ranks: Ranks) -> dict[str, dict[str, float]]:
    """Query id → its metrics, from stored ranks."""
    from pytest_mcpeval.kinds.retrieval.metrics import score
    from pytest_mcpeval.kinds.retrieval.rankings import from_ranks

    labels = {query.id: query.labels for query in golden.queries}
    scores = score(from_ranks(labels, ranks, labels))
    rows = zip(scores.ids, scores.values.tolist(), strict=True)
    return {query: dict(zip(METRICS, row, strict=True)) for query, row in rows}


def content(suite: RetrievalSuite, samples: Iterable[Sample], means: Mapping[str, float]) -> dict[str, Any]:
    """What a new baseline holds: the metrics of the set, and the ranks of every query."""
    by_id = {sample.id: sample for sample in samples}
    return {
        "digest": suite.golden.digest,
        "corpus_version": suite.golden.corpus.version,
        "corpus_digest": suite.golden.corpus.digest,
        "definition": definition(suite.settings.depth),
        **nested(means),
        "cases": {query: _case(by_id[query]) for query in sorted(by_id)},
    }


def _case(sample: Sample) -> dict[str, Any]:
    ranks: Mapping[str, int | None] = sample.measured.get("ranks", {})
    return {
        "outcome": "passed" if sample.outcome == "passed" else "failed",
        "ranks": {tool: rank for tool, rank in sorted(ranks.items()) if rank is not None},
    }
