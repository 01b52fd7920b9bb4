"""Samples → rankings and scores. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_mcpeval.core.repeating import of_each_run, runs_of
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.retrieval.metrics import Scores, average, evaluate_many
from pytest_mcpeval.kinds.retrieval.rankings import Ranking
from pytest_mcpeval.kinds.retrieval.retrievers.asking import PROBLEMS, kinds_of
from pytest_mcpeval.kinds.retrieval.slices import LabelledQuery, slices
from pytest_mcpeval.kinds.retrieval.summaries import sliced, summary


def answered(samples: Iterable[Sample]) -> list[Sample]:
    """The samples that hold a ranked list, be it empty; a target that could not be made ready leaves none.

    Those that were set aside do not count.
    """
    return [sample for sample in samples if "ranked" in sample.measured and not sample.is_set_aside]


def counted(samples: Iterable[Sample]) -> list[Sample]:
    """The samples that metrics are made of: of a set that was asked at all, every query not set aside.

    One that left no ranked list counts as if nothing was returned, as it does for the gates.
    """
    kept = [sample for sample in samples if "labels" in sample.measured and not sample.is_set_aside]
    return kept if answered(kept) else []


def missing(samples: Iterable[Sample]) -> list[str]:
    """The queries that left no ranked list, though they were to."""
    return [one.id for one in samples if "ranked" not in one.measured and not one.is_set_aside]


def scores_of(samples: Iterable[Sample]) -> Scores:
    """The samples that count, scored: the means of each query over its runs."""
    kept = counted(samples)
    runs = of_each_run(kept)
    return average([evaluate_many(map(_ranking, run), _depth(kept)) for run in runs])


def scores_of_all(queries: Iterable[LabelledQuery], samples: Iterable[Sample], depth: int) -> Scores:
    """Every query of a set, scored: one that left no ranked list counts as if nothing was returned."""
    asked = list(queries)
    return average(
        [
            evaluate_many((Ranking(q.id, ranked.get(q.id, ()), q.labels) for q in asked), depth)
            for ranked in map(_ranked, of_each_run(answered(samples)))
        ]
    )


def _ranked(samples: Iterable[Sample]) -> dict[str, Sequence[str]]:
    return {sample.id: sample.measured["ranked"] for sample in samples}


def _ranking(sample: Sample) -> Ranking:
    return Ranking(sample.id, sample.measured.get("ranked", ()), sample.measured["labels"])


def measure(samples: Sequence[Sample]) -> dict[str, Any]:
    """The metrics of some samples, those of each slice, and how many queries had which problem.

    ``missing`` are the queries that left no answer to measure.
    """
    scores = scores_of(samples)
    groups = slices(map(_query, counted(samples)))
    return {
        **summary(scores),
        "missing": missing(samples),
        "problems": _problems(samples),
        "slices": sliced(scores, groups),
    }


def _problems(samples: Sequence[Sample]) -> dict[str, int]:
    """Kind of problem → in how many queries it was, in any run; those that were in none are left out."""
    found = [
        kinds_of(problem for run in runs_of(sample) for problem in run.measured.get("problems", ()))
        for sample in answered(samples)
    ]
    counts = {name: sum(name in kinds for kinds in found) for name in PROBLEMS}
    return {name: count for name, count in counts.items() if count}


def measure_run(samples: Sequence[Sample]) -> dict[str, Any]:
    """Times in milliseconds, and the scores that the target gave its hits."""
    times = [sample.run["processingTimeMs"] for sample in answered(samples)]
    return {
        "averageProcessingTime": sum(times) / len(times) if times else None,
        "cases": {sample.id: dict(sample.run) for sample in samples},
    }


def _depth(samples: Sequence[Sample]) -> int:
    return max((sample.measured["depth"] for sample in samples), default=1)


def _query(sample: Sample) -> LabelledQuery:
    measured = sample.measured
    notes = measured.get("notes", sample.traits.get("notes", ""))
    return LabelledQuery(sample.id, measured["query"], measured["labels"], notes)
