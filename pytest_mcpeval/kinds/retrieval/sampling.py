"""Samples → rankings and scores. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_mcpeval.core.repeating import of_each_run, runs_of
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.retrieval.metrics import Scores, average, evaluate_many, sliced, summary
from pytest_mcpeval.kinds.retrieval.rankings import Ranking
from pytest_mcpeval.kinds.retrieval.retrievers.asking import PROBLEMS, kinds_of
from pytest_mcpeval.kinds.retrieval.spec import GoldenQuery, slices


def answered(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples with a ranked list, even an empty one; skipped and xfailed queries do not count.

    A target that could not be opened leaves no ranked list.
    """
    return [sample for sample in samples if "ranked" in sample.measured and not sample.is_set_aside]


def scorable(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples that metrics are computed from: if any query was asked, all that were not
    skipped or xfailed.  A query without a ranked list counts as if nothing was returned, as in the
    gates.
    """
    kept = [sample for sample in samples if "labels" in sample.measured and not sample.is_set_aside]
    return kept if answered(kept) else []


def missing(samples: Iterable[Sample]) -> list[str]:
    """Return the queries that should have a ranked list and have none."""
    return [one.id for one in samples if "ranked" not in one.measured and not one.is_set_aside]


def scores_of(samples: Iterable[Sample]) -> Scores:
    """The samples that count, scored: the means of each query over its runs."""
    kept = scorable(samples)
    runs = of_each_run(kept)
    depth = max((sample.measured["depth"] for sample in kept), default=1)
    rankings = (
        [Ranking(one.id, one.measured.get("ranked", ()), one.measured["labels"]) for one in run]
        for run in runs
    )
    return average([evaluate_many(of_run, depth) for of_run in rankings])


def scores_of_all(queries: Iterable[GoldenQuery], samples: Iterable[Sample], depth: int) -> Scores:
    """Return the scores of every query of a set.

    A query without a ranked list counts as if nothing was returned.
    """
    asked = list(queries)
    each = []
    for run in of_each_run(answered(samples)):
        ranked = {sample.id: sample.measured["ranked"] for sample in run}
        each.append(evaluate_many((Ranking(q.id, ranked.get(q.id, ()), q.labels) for q in asked), depth))
    return average(each)


def measure(samples: Sequence[Sample]) -> dict[str, Any]:
    """The metrics of some samples, those of each slice, and how many queries had which problem.

    ``missing`` are the queries that left no answer to measure.
    """
    scores = scores_of(samples)
    groups = slices(map(_query, scorable(samples)))
    found = [
        kinds_of(problem for run in runs_of(sample) for problem in run.measured.get("problems", ()))
        for sample in answered(samples)
    ]
    counts = {name: sum(name in kinds for kinds in found) for name in PROBLEMS}
    return {
        **summary(scores),
        "missing": missing(samples),
        # Kind of problem → in how many queries it was, in any run.
        "problems": {name: count for name, count in counts.items() if count},
        "slices": sliced(scores, groups),
    }


def measure_run(samples: Sequence[Sample]) -> dict[str, Any]:
    """Times in milliseconds, and the scores that the target gave its hits."""
    times = [sample.run["processingTimeMs"] for sample in answered(samples)]
    return {
        "averageProcessingTime": sum(times) / len(times) if times else None,
        "cases": {sample.id: dict(sample.run) for sample in samples},
    }


def _query(sample: Sample) -> GoldenQuery:
    measured = sample.measured
    notes = measured.get("notes", sample.traits.get("notes", ""))
    return GoldenQuery(sample.id, measured["query"], measured["labels"], notes)
