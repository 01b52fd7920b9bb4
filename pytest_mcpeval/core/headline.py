"""What is said of a suite in one line: the number that matters most, its change, and what it took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, median, stdev

from pytest_mcpeval.core.gate import SLACK
from pytest_mcpeval.core.repeating import of_each_run, share_of_runs
from pytest_mcpeval.core.sample import Sample


@dataclass(frozen=True)
class Spent:
    """What cases took: milliseconds in the middle and at the 95th percentile, tokens and US dollars in all.

    None for what no case reports.
    """

    median_ms: float | None = None
    p95_ms: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True)
class Headline:
    """The number of a suite that matters most, or of one of the things it evaluates, its ``subject``.

    ``value`` and ``baseline`` are shares; ``text`` is the value for people, with its spread over runs.
    ``beside`` is what it must not be read without. ``change`` is how much of the suite got better (or worse,
    if negative) since the baseline, a share too, and ``change_text`` says it; None without a baseline.
    """

    name: str
    text: str
    value: float | None = None
    subject: str = ""
    beside: str = ""
    baseline: float | None = None
    change: float | None = None
    change_text: str = ""
    spent: Spent = field(default_factory=Spent)


def pass_rate(samples: Sequence[Sample], beside: str = "") -> list[Headline]:
    """The share of cases that passed; nothing where none was to be judged."""
    kept = [sample for sample in samples if not sample.is_set_aside]
    if not kept:
        return []
    rates = [_passed(run) for run in of_each_run(kept)]
    text = percent(mean(rates), stdev(rates) if len(rates) > 1 else None)
    return [Headline("pass rate", text, mean(rates), beside=beside, spent=spent_on(kept))]


def _passed(samples: Sequence[Sample]) -> float:
    return mean(share_of_runs(sample, lambda run: run.outcome == "passed") for sample in samples)


def percent(share: float, deviation: float | None = None) -> str:
    """A share for people: ``66.7 %``, or ``66.7 ± 1.2 %`` over runs."""
    spread = "" if deviation is None else f" ± {100 * deviation:.1f}".removesuffix(".0")
    return f"{100 * share:.1f}".removesuffix(".0") + f"{spread} %"


def change_in_words(won: int, lost: int) -> str:
    """How many cases got better and worse: ``+2 −1``, or ``=``."""
    return " ".join([f"+{won}"] * bool(won) + [f"\N{MINUS SIGN}{lost}"] * bool(lost)) or "="


def signed(change: float) -> str:
    """A difference for people: ``+0.012``, or ``=``."""
    return "=" if abs(change) <= SLACK else f"{change:+.3f}".replace("-", "\N{MINUS SIGN}")


def spent_on(samples: Sequence[Sample]) -> Spent:
    """What some cases took, where their samples tell it.

    They do in ``run``: ``latency_ms``, or else ``processingTimeMs``, or else ``seconds``, and
    ``total_cost_usd``; and in ``measured``: ``total_tokens``. The percentile is by nearest rank.
    """
    times = sorted(
        float(time)
        for run in (sample.run for sample in samples)
        if (time := run.get("latency_ms") or run.get("processingTimeMs") or 1000 * run.get("seconds", 0))
    )
    costs = [cost for sample in samples if (cost := sample.run.get("total_cost_usd")) is not None]
    tokens = [count for sample in samples if (count := sample.measured.get("total_tokens")) is not None]
    return Spent(
        median_ms=median(times) if times else None,
        p95_ms=times[math.ceil(0.95 * len(times)) - 1] if times else None,
        tokens=sum(tokens) if tokens else None,
        cost_usd=math.fsum(costs) if costs else None,
    )
