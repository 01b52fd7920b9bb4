"""The baseline of a golden set: our format with the ranks of every query, or only the metrics of the set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pytest_mcpeval.core.baseline import (
    BaselineCase,
    BaselineModel,
    bless_command,
    differing_cases,
    differing_digests,
    digest_of,
    is_baseline,
    mismatch_words,
)
from pytest_mcpeval.core.fields import Ceiling, Share
from pytest_mcpeval.core.gate import SLACK
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.retrieval.declaration import is_flat_baseline
from pytest_mcpeval.kinds.retrieval.definitions import (
    METRICS,
    beyond_depth,
    cutoff_of,
    definition,
    flat,
    nested,
)
from pytest_mcpeval.kinds.retrieval.gate_input import BaselineScores
from pytest_mcpeval.kinds.retrieval.metrics import average, score
from pytest_mcpeval.kinds.retrieval.rankings import from_ranks
from pytest_mcpeval.kinds.retrieval.spec import GoldenData, RetrievalSuite
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.loading.messages import choice, likeness, shown, suggestion
from pytest_mcpeval.loading.schema import validate

Ranks = Mapping[str, Mapping[str, int]]

_READ_ONLY = ConfigDict(defer_build=True, extra="allow", frozen=True)

_NEAR = 0.85
"""Minimum similarity of an unknown key to one of ours to count as misspelt."""

RATES_OF_DETECTORS = ("precision", "recall", "f1", "fpr")
"""Metrics of the security kind, whose tolerances may be in the same file."""


def _metric(name: str) -> str:
    known = (*METRICS, *RATES_OF_DETECTORS)
    if name not in known:
        raise ValueError(
            f"{shown(name)} is not a metric{suggestion(name, known)}: expected {choice(METRICS)}"
        )
    return name


Tolerance = dict[Annotated[str, AfterValidator(_metric)], Ceiling]
Rank = Annotated[int, Field(ge=1)]


class _Metrics(BaseModel):
    """The metrics of a set, as reports and baselines write them."""

    model_config = _READ_ONLY

    recall_at: dict[str, Share | None] = {}
    hit_at: dict[str, Share | None] = {}
    mrr: Share | None = None
    ndcg_at_10: Share | None = None
    map: Share | None = None
    tolerance: Tolerance = {}


class FlatBaselineModel(_Metrics):
    """A baseline with only the metrics of the set. Keys of other kinds are ignored."""


class _Case(BaselineCase):
    """A query: the ranks of its relevant tools in the one run, or in each of several."""

    ranks: dict[str, Rank] | None = None
    ranks_of_runs: Annotated[list[dict[str, Rank]], Field(min_length=2)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> _Case:
        if (self.ranks is None) == (self.ranks_of_runs is None):
            raise ValueError("expected either `ranks` or `ranks_of_runs`")
        return self

    @property
    def runs(self) -> list[dict[str, int]]:
        """The ranks in each run."""
        return self.ranks_of_runs or [self.ranks or {}]


class RetrievalBaselineModel(BaselineModel, _Metrics):
    """Our own baseline. ``digest`` is of the queries and their labels."""

    corpus_digest: str
    definition: dict[str, Any]
    cases: dict[str, _Case]  # type: ignore[assignment]


@dataclass(frozen=True)
class Committed:
    """A committed baseline. ``ranks`` maps query id to the ranks of its relevant tools; None without them."""

    scores: BaselineScores
    ranks: Ranks | None = field(default=None)


def digests(golden: GoldenData, depth: int) -> dict[str, str]:
    """Return digests of everything a baseline is made from, by readable name."""
    return {
        "golden set": golden.digest,
        "corpus": golden.corpus.digest,
        "metric definitions": digest_of(definition(depth)),
    }


def read(suite: RetrievalSuite) -> Committed | None:
    """Return the committed baseline of a suite; None if there is none yet.

    Raises:
        DataFileError: The file is not a baseline of a golden set.
    """
    path = suite.settings.baseline
    if path is None or not Path(path).is_file():
        return None
    document = load(Path(path))
    if is_baseline(document.data):
        return _own(document, suite)
    return _flat(document, suite)


def _flat(document: Document, suite: RetrievalSuite) -> Committed:
    if not is_flat_baseline(document.data):
        message = "expected a baseline, written by --mcpeval-bless or a mapping with `recall_at`"
        raise DataFileError([document.problem(message=message)])
    model: FlatBaselineModel = validate(FlatBaselineModel, document)
    problems = [*_problems_of_keys(document, suite), *_problems_of_origin(document, suite)]
    if problems:
        raise DataFileError(problems)
    return Committed(BaselineScores(_known(model), tolerance=_tolerance(model.tolerance)))


def _problems_of_keys(document: Document, suite: RetrievalSuite) -> Iterator[Problem]:
    """Yield problems of keys that are nearly one of ours, and of tolerances for unknown metrics.

    Ignore other keys.
    """
    known = list(_Metrics.model_fields)
    for key in document.data:
        near = [name for name in known if key not in known and likeness(str(key), name) >= _NEAR]
        if near:
            message = f"unknown key {shown(key)} (did you mean {shown(near[0])}?)"
            yield document.problem(key, message=message)
    if suite.settings.gates.tolerance is None:
        depth = suite.settings.depth
        for metric in document.data.get("tolerance", ()):
            if metric in METRICS and cutoff_of(metric) > depth:
                message = f"tolerance.{metric}: {beyond_depth(metric, depth)}"
                yield document.problem("tolerance", metric, message=message)


def _problems_of_origin(document: Document, suite: RetrievalSuite) -> Iterator[Problem]:
    """Yield differences between what the baseline was made from and the current files."""
    golden, data = suite.golden, document.data
    wanted = {
        "corpus_version": ("corpus", golden.corpus.version, data.get("corpus_version")),
        "digest": ("golden set", golden.digest, data.get("digest")),
        "corpus_digest": ("corpus", golden.corpus.digest, data.get("corpus_digest")),
        "definition": ("metric definitions", definition(suite.settings.depth), data.get("definition")),
    }
    command = bless_command(suite.key, suite.settings.baseline)
    if "definition" in data and "cases" in data:
        message = (
            f"has `cases` but no `kind: baseline`: restore that key, or write the file again with {command}"
        )
        yield document.problem(message=message)
    for key, (part, here, found) in wanted.items():
        same = found == here or (isinstance(found, int) and str(found) == here)
        if key in data and not same:
            yield document.problem(key, message=f"{key}: {mismatch_words([part], command)}")


def _known(model: _Metrics) -> dict[str, float]:
    return flat(model.model_dump(exclude_none=True))


def _tolerance(given: Mapping[str, float]) -> dict[str, float]:
    """Return the tolerances of our metrics; the file may have those of other kinds too."""
    return {name: value for name, value in given.items() if name in METRICS}


def _own(document: Document, suite: RetrievalSuite) -> Committed:
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
    if problems := list(_problems_of_keys(document, suite)):
        raise DataFileError(problems)
    if differing_digests(found, digests(suite.golden, suite.settings.depth)):
        return Committed(BaselineScores(_known(model), tolerance=tolerance, digests=found))
    problems = list(_problems_of_ranks(document, model, suite))
    if problems:
        raise DataFileError(problems)
    # A query with fewer runs than others counts equally in the remaining ones.
    count = max((len(case.runs) for case in model.cases.values()), default=1)
    runs = [
        {query: case.runs[run % len(case.runs)] for query, case in model.cases.items()}
        for run in range(count)
    ]
    labels = {query.id: query.labels for query in suite.golden.queries}
    each = [score(from_ranks(labels, ranks, labels)) for ranks in runs]
    scores = replace(average(each), depth=suite.settings.depth)
    problems = list(_problems_of_metrics(document, _known(model), scores.means()))
    if problems:
        raise DataFileError(problems)

    def first_rank(ranks: Mapping[str, int]) -> float:
        return min(ranks.values(), default=math.inf)

    worst = {query: max((run[query] for run in runs), key=first_rank) for query in model.cases}
    return Committed(BaselineScores(_known(model), scores, tolerance, found), worst)


def _problems_of_ranks(
    document: Document, model: RetrievalBaselineModel, suite: RetrievalSuite
) -> Iterator[Problem]:
    """Yield problems of ranks that cannot come from these queries: somebody edited the file."""
    hint = f"bless it again with {bless_command(suite.key, suite.settings.baseline)}"
    yield from differing_cases(document, model.cases, suite.golden.by_id, hint)
    for query in [query for query in model.cases if query in suite.golden.by_id]:
        labels = suite.golden.by_id[query].labels
        for ranks in model.cases[query].runs:
            message = _rank_problem(ranks, labels, suite.settings.depth)
            if message:
                yield document.problem("cases", query, message=f"{query}: {message}; {hint}")


def _rank_problem(ranks: Mapping[str, int], labels: Mapping[str, int], depth: int) -> str:
    irrelevant = next((tool for tool in ranks if not labels.get(tool)), None)
    if irrelevant is not None:
        return f"{shown(irrelevant)} has a rank, but is not a relevant tool of the query"
    if len(set(ranks.values())) < len(ranks):
        return "two tools have the same rank"
    deep = max(ranks.values(), default=0)
    return f"expected ranks up to {depth}, the depth, found {deep}" if deep > depth else ""


def _problems_of_metrics(
    document: Document, committed: Mapping[str, float], found: Mapping[str, float]
) -> Iterator[Problem]:
    """Yield metrics that do not follow from the ranks in the file."""
    for metric, value in found.items():
        group, _, cutoff = metric.rpartition("_")
        at = (group, cutoff) if group in document.data else (metric,)
        if metric not in committed:
            yield document.problem(*at, message=f"{metric} is missing: its cases have {value!r}")
        elif not abs(committed[metric] - value) <= SLACK:
            message = f"{metric} is {committed[metric]!r}, but its cases have {value!r}"
            yield document.problem(*at, message=f"{message}: undo the edit, or bless again")


def content(suite: RetrievalSuite, samples: Iterable[Sample], means: Mapping[str, float]) -> dict[str, Any]:
    """Return the content of a new baseline: the metrics of the set, and the ranks of every query.

    A metric that needs more results than the depth is None.
    """
    by_id = {sample.id: sample for sample in samples}
    return {
        "digest": suite.golden.digest,
        "corpus_version": suite.golden.corpus.version,
        "corpus_digest": suite.golden.corpus.digest,
        "definition": definition(suite.settings.depth),
        **nested({metric: means.get(metric) for metric in METRICS}),
        "cases": {
            query: {
                "outcome": "passed" if sample.outcome == "passed" else "failed",
                **(
                    {"ranks_of_runs": [_ranks(run) for run in sample.runs]}
                    if sample.runs
                    else {"ranks": _ranks(sample)}
                ),
            }
            for query, sample in sorted(by_id.items())
        },
    }


def _ranks(sample: Sample) -> dict[str, int]:
    ranks: Mapping[str, int | None] = sample.measured.get("ranks", {})
    return {tool: rank for tool, rank in sorted(ranks.items()) if rank is not None}
