"""The gates of a retrieval set: its scores against a baseline, against floors, and on pinned queries. Pure.

1. ``<metric>``: the metric of the set has not fallen by more than a tolerance.
2. ``<metric>_sign_flip``: the fall of its per-query values is no more than chance, by an exact paired test.
3. ``max_lost``: no more than so many queries lost against the baseline.
4. ``pinned``: every pinned query has a relevant tool within its top k.
5. ``<metric>_floor``: the metric of the set is at least a fixed value.

The first three need a baseline; the second and third one that holds a value for every query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pytest_mcpeval.baseline import differing_digests, mismatch_words
from pytest_mcpeval.gates import SLACK, GateResult, at_least, figure, names
from pytest_mcpeval.kinds.retrieval.gate_input import (
    DEFAULT_SHARE,
    BaselineScores,
    GateInput,
    GateSettings,
)
from pytest_mcpeval.stats import SignFlipTest, sign_flip_test

BASELINE_GATE = "baseline"
MAX_LOST_GATE = "max_lost"
PINNED_GATE = "pinned"


def gate_names(settings: GateSettings, baseline: BaselineScores | None = None) -> list[str]:
    """The names of a set's gates, known without scores, in the order they are reported."""
    return [*_comparing(settings, settings.tolerances(baseline)), *_absolute(settings)]


def _comparing(settings: GateSettings, tolerances: Mapping[str, float]) -> list[str]:
    tests = [f"{metric}_sign_flip" for metric in settings.significance]
    return [*tolerances, *tests, *([] if settings.max_lost is None else [MAX_LOST_GATE])]


def _absolute(settings: GateSettings) -> list[str]:
    return [PINNED_GATE, *(f"{metric}_floor" for metric in settings.floors)]


def judge_gates(given: GateInput, *, blessing: bool = False) -> list[GateResult]:
    """Every gate of a set. With ``blessing``, those that compare with a baseline are left out.

    A gate that lacks what it compares with has the verdict ``not_set`` and says why. Without a baseline a
    gate ``baseline`` fails, unless floors are set; one made from other data is an error.
    """
    compared = [] if blessing else list(_compared(given))
    return [*compared, _pinned(given), *_floors(given)]


def _compared(given: GateInput) -> Iterator[GateResult]:
    if given.baseline is None:
        reason = f"no baseline yet: write it with {given.bless_command}"
        if not given.settings.floors:
            yield GateResult(given.suite, BASELINE_GATE, "failed", reason)
        yield from _not_set(given, reason)
    elif differing := differing_digests(given.baseline.digests, given.digests):
        message = mismatch_words(differing, given.bless_command)
        yield GateResult(given.suite, BASELINE_GATE, "error", message)
        yield from _not_set(given, "the baseline does not fit")
    else:
        yield from _against(given, given.baseline)


def _not_set(given: GateInput, reason: str) -> Iterator[GateResult]:
    for name in _comparing(given.settings, given.tolerances):
        yield GateResult(given.suite, name, "not_set", f"not set: {reason}")


def _against(given: GateInput, baseline: BaselineScores) -> Iterator[GateResult]:
    for metric, tolerance in given.tolerances.items():
        yield _tolerance(given, baseline, metric, tolerance)
    for metric, limit in given.settings.significance.items():
        yield _sign_flip(given, metric, limit)
    if given.settings.max_lost is not None:
        yield _max_lost(given)


def compared(given: GateInput) -> dict[str, Any]:
    """What changed against the baseline: ``metrics``, new − old, and ``queries``, those won, lost and tied.

    Empty without a baseline, or with one that does not fit.
    """
    baseline = given.baseline
    if baseline is None or differing_digests(baseline.digests, given.digests):
        return {}
    deltas = {name: given.means[name] - old for name, old in baseline.metrics.items() if name in given.means}
    comparison = given.comparison(given.settings.lost_by)
    queries = {} if comparison is None else {"by": comparison.metric, **comparison.as_data()}
    return {
        "metrics": {name: change if abs(change) > SLACK else 0.0 for name, change in deltas.items()},
        "queries": queries,
    }


def _tolerance(given: GateInput, baseline: BaselineScores, metric: str, tolerance: float) -> GateResult:
    value, old = given.means.get(metric), baseline.metrics.get(metric)
    if value is None:
        return GateResult(given.suite, metric, "failed", "no query was scored", None, old)
    if old is None:
        message = f"the baseline holds no {metric}: bless a new one with {given.bless_command}"
        return GateResult(given.suite, metric, "error", message, value)
    result = at_least(given.suite, metric, value, old - tolerance)
    comparison = given.comparison(metric)
    queries = "the baseline names no queries" if comparison is None else comparison.words()
    count = len(given.scores.ids)
    message = (
        f"{metric} {figure(value)}, {_change(value, old)}; tolerance {figure(tolerance)} = "
        f"{in_queries(tolerance, count)}; {queries}"
    )
    return replace(result, baseline=old, message=message)


def _change(value: float, old: float) -> str:
    if abs(value - old) <= SLACK:
        return "as in the baseline"
    direction = "above" if value > old else "below"
    return f"{figure(abs(value - old))} {direction} the baseline's {figure(old)}"


def in_queries(share: float, count: int) -> str:
    """A share of a set, said in queries: ``2.35 of 47 queries``."""
    return f"{round(share * count, 2):g} of {count} {'query' if count == 1 else 'queries'}"


def _sign_flip(given: GateInput, metric: str, limit: float) -> GateResult:
    name = f"{metric}_sign_flip"
    comparison = given.comparison(metric)
    if comparison is None:
        return GateResult(given.suite, name, "not_set", _no_queries(given, metric))
    test = sign_flip_test(list(comparison.differences.values()))
    verdict: Literal["passed", "failed"] = "failed" if test.p < limit - SLACK else "passed"
    message = f"{_test_words(test, limit)}, wanted at least {figure(limit)}; {comparison.words()}"
    return GateResult(given.suite, name, verdict, f"{metric}: {message}", test.p, None, limit)


def _test_words(test: SignFlipTest, limit: float) -> str:
    differ = "1 query differs" if test.differing == 1 else f"{test.differing} queries differ"
    method = "exact" if test.exact else "drawn"
    too_few = ", too few for a lower p than that" if test.lowest_p >= limit else ""
    return f"p = {figure(test.p)} that a fall like this is chance ({method}; {differ}{too_few})"


def _no_queries(given: GateInput, metric: str) -> str:
    return (
        f"not set: the baseline holds no {metric} of single queries; bless one that does with "
        f"{given.bless_command}"
    )


def _max_lost(given: GateInput) -> GateResult:
    metric = given.settings.lost_by
    comparison = given.comparison(metric)
    if comparison is None:
        return GateResult(given.suite, MAX_LOST_GATE, "not_set", _no_queries(given, metric))
    limit = allowed_losses(given.settings, given.tolerances, len(given.scores.ids))
    lost = len(comparison.lost)
    verdict: Literal["passed", "failed"] = "failed" if lost > limit else "passed"
    message = f"by {metric}, at most {limit} may be lost; {comparison.words()}"
    return GateResult(given.suite, MAX_LOST_GATE, verdict, message, float(lost), 0.0, float(limit))


def allowed_losses(settings: GateSettings, tolerances: Mapping[str, float], count: int) -> int:
    """How many of ``count`` queries may be lost: the number set, or what the tolerance amounts to."""
    if isinstance(settings.max_lost, int):
        return settings.max_lost
    share = tolerances.get(settings.lost_by, DEFAULT_SHARE)
    return int(share * count + SLACK)


def _pinned(given: GateInput) -> GateResult:
    pinned = given.settings.pinned
    if not pinned:
        return GateResult(given.suite, PINNED_GATE, "not_set", "not set: no query is pinned")
    ranks = dict(zip(given.scores.ids, given.scores.first_rank.tolist(), strict=True))
    lost = [query for query, k in pinned.items() if not 0 < ranks.get(query, 0) <= k]
    if not lost:
        message = f"all {len(pinned)} pinned queries find a relevant tool within their top k"
        return GateResult(given.suite, PINNED_GATE, "passed", message, 0.0, None, 0.0)
    said = [_rank_words(query, ranks.get(query, 0), pinned[query]) for query in lost]
    message = f"{len(lost)} of {len(pinned)} pinned queries lost: {names(said)}"
    return GateResult(given.suite, PINNED_GATE, "failed", message, float(len(lost)), None, 0.0)


def _rank_words(query: str, rank: int, k: int) -> str:
    found = f"rank {rank}" if rank else "not found"
    return f"{query} ({found}, wanted within {k})"


def _floors(given: GateInput) -> Iterator[GateResult]:
    highest = given.scores.highest_recalls()
    for metric, floor in given.settings.floors.items():
        result = at_least(given.suite, f"{metric}_floor", given.means.get(metric), floor)
        if floor > highest.get(metric, 1.0) + SLACK:
            unreachable = f"{result.message}; the labels allow at most {figure(highest[metric])}"
            result = replace(result, message=unreachable)
        yield result
