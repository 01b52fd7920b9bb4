"""Cases asked several times: one sample of all runs, and how much the runs differ. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import mean, stdev
from typing import Any

from pytest_mcpeval.core.sample import Outcome, Sample

WORST_FIRST: tuple[Outcome, ...] = (
    "failed",
    "error",
    "inconclusive",
    "wrong",
    "tolerated",
    "xfailed",
    "skipped",
    "passed",
)

LATENCY = "processingTimeMs"


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of several things together: that of the worst."""
    return min(outcomes, key=WORST_FIRST.index)


def combined(runs: Sequence[Sample]) -> Sample:
    """One sample of a case for all its runs: that of the first of the worst, with all of them in ``runs``.

    A single run stays as it is. The time is the mean over the runs.
    """
    if len(runs) == 1:
        return runs[0]
    outcome = worst([run.outcome for run in runs])
    same = [run for run in runs if run.outcome == outcome]
    message = f"{same[0].message} ({len(same)} of {len(runs)} runs)" if same[0].message else ""
    return replace(same[0], message=message, run=_run_of(same[0], runs), runs=tuple(runs))


def _run_of(chosen: Sample, runs: Sequence[Sample]) -> dict[str, Any]:
    found: dict[str, Any] = {**chosen.run, "runs": [dict(run.run) for run in runs]}
    times = [run.run[LATENCY] for run in runs if run.run.get(LATENCY)]
    return found | ({LATENCY: math.fsum(times) / len(times)} if times else {})


def judged_otherwise(sample: Sample, outcome: Outcome, message: str) -> Sample:
    """The sample with another outcome, in all its runs."""
    runs = tuple(judged_otherwise(run, outcome, message) for run in sample.runs)
    return replace(sample, outcome=outcome, message=message, runs=runs, cause="")


def runs_of(sample: Sample) -> Sequence[Sample]:
    """The samples of each run of a case; the sample itself of a case that was asked once."""
    return sample.runs or (sample,)


def number_of_runs(samples: Sequence[Sample]) -> int:
    """How many times cases were asked; a case that could not be asked has no runs."""
    return max((len(runs_of(sample)) for sample in samples), default=1)


def of_each_run(samples: Sequence[Sample]) -> list[list[Sample]]:
    """The samples of the first run, of the second, and so on, in the order of the cases.

    A case that could not be asked at all is in each of them as it is.
    """
    return [
        [sample.runs[number] if sample.runs else sample for sample in samples]
        for number in range(number_of_runs(samples))
    ]


def share_of_runs(sample: Sample, holds: Callable[[Sample], bool]) -> float:
    """The share of a case's runs of which something holds: 0 or 1 for a case that was asked once."""
    return sum(map(holds, sample.runs)) / len(sample.runs) if sample.runs else float(holds(sample))


def mean_over_runs(sample: Sample, value_of: Callable[[Sample], float | None]) -> float | None:
    """The mean of a value over those of a case's runs that have one, or None."""
    values = [value for run in runs_of(sample) if (value := value_of(run)) is not None]
    return mean(values) if values else None


def ended(samples: Iterable[Sample], outcome: Outcome) -> float:
    """How many cases ended so, each with the share of its runs that did; whole numbers as such."""
    return whole(math.fsum(share_of_runs(sample, lambda run: run.outcome == outcome) for sample in samples))


def whole(number: float) -> float:
    """A whole number as such."""
    return int(number) if float(number).is_integer() else number


def in_cases(count: float) -> str:
    """A number of cases for people: ``5``, or ``5.33`` of several runs."""
    found = whole(count)
    return str(found) if isinstance(found, int) else f"{found:.2f}"


def changed(samples: Sequence[Sample], result_of: Callable[[Sample], object]) -> list[str]:
    """The cases whose result was not the same in every run."""
    return [
        sample.id
        for sample in samples
        if any(result_of(run) != result_of(sample.runs[0]) for run in sample.runs)
    ]


def standard_deviations(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sample standard deviation over runs of every share and mean in nested metrics.

    These are the floats; counts, words, and what was undefined in a run are left out, and so are groups
    without any.
    """
    found: dict[str, Any] = {}
    for name in runs[0]:
        values = [run.get(name) for run in runs]
        if all(isinstance(value, Mapping) for value in values):
            found[name] = standard_deviations(values)  # type: ignore[arg-type]
        elif all(isinstance(value, float) for value in values):
            found[name] = stdev(values)  # type: ignore[type-var]
    return {name: value for name, value in found.items() if value != {}}
