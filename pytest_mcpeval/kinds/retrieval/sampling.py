"""Samples → rankings and scores. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_mcpeval.kinds.retrieval.metrics import Scores, average, evaluate_many
from pytest_mcpeval.kinds.retrieval.rankings import Ranking
from pytest_mcpeval.kinds.retrieval.retrievers.asking import PROBLEMS, kinds_of
from pytest_mcpeval.kinds.retrieval.slices import LabelledQuery, slices
from pytest_mcpeval.kinds.retrieval.summaries import sliced, summary
from pytest_mcpeval.repeating import of_each_run, runs_of
from pytest_mcpeval.samples import Sample


def answered(samples: Iterable[Sample]) -> list[Sample]:
    """The samples that hold a ranked list, be it empty; a target that could not be made ready leaves none.

    Those that were set aside do not count.
    """
    return [sample for sample in samples if "ranked" in sample.measured and not sample.is_set_aside]


def scores_of(samples: Iterable[Sample]) -> Scores:
    """The samples that hold a ranked list, scored: the means of each query over its runs."""
    kept = answered(samples)
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
    return Ranking(sample.id, sample.measured["ranked"], sample.measured["labels"])


def measure(samples: Sequence[Sample]) -> dict[str, Any]:
    """The metrics of some samples, those of each slice, and how many queries had which problem."""
    scores = scores_of(samples)
    groups = slices(map(_query, answered(samples)))
    return {**summary(scores), "problems": _problems(samples), "slices": sliced(scores, groups)}


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
    return LabelledQuery(sample.id, measured["query"], measured["labels"], sample.traits.get("notes", ""))
