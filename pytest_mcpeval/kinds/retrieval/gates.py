"""The gates of a retrieval set: its scores against a baseline, against floors, and on pinned queries. Pure.

1. ``<metric>``: the metric of the set has not fallen by more than a tolerance.
2. ``<metric>_sign_flip``: chance can explain the fall of its per-query values, by a paired test.
3. ``max_lost``: no more queries lost against the baseline than chance explains, or than a number that is set.
4. ``pinned``: every pinned query has a relevant tool within its top k.
5. ``<metric>_floor``: the metric of the set is at least a fixed value.

The first three need a baseline; the second and third need one with a value for every query.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pytest_mcpeval.core.baseline import differing_digests, mismatch_words
from pytest_mcpeval.core.gate import SLACK, GateResult, at_least, by_chance, figure, names, switched_off
from pytest_mcpeval.core.statistics import DRAWS, SEED, SignFlipTest, sign_flip_test
from pytest_mcpeval.kinds.retrieval.gate_input import (
    DEFAULT_SHARE,
    LOST_LEVEL,
    BaselineScores,
    GateInput,
    GateSettings,
)

BASELINE_GATE = "baseline"
MAX_LOST_GATE = "max_lost"
PINNED_GATE = "pinned"


def gate_names(settings: GateSettings, baseline: BaselineScores | None = None) -> list[str]:
    """The names of a set's gates, known without scores, in the order they are reported."""
    floors = (f"{metric}_floor" for metric in settings.floors)
    return [*_comparing(settings, settings.tolerances(baseline)), PINNED_GATE, *floors]


def _comparing(settings: GateSettings, tolerances: Mapping[str, float]) -> list[str]:
    tests = [f"{metric}_sign_flip" for metric in settings.significance]
    return [*tolerances, *tests, *([] if settings.max_lost is None else [MAX_LOST_GATE])]


def judge_gates(given: GateInput, *, blessing: bool = False) -> list[GateResult]:
    """Every gate of a set. With ``blessing``, those that compare with a baseline are left out.

    A gate without anything to compare with has the verdict ``not_set`` and says why. Without a baseline a
    gate ``baseline`` fails, unless floors are set; one made from other data is an error.
    """
    compared = [] if blessing else list(_compared(given))
    off = (switched_off(given.suite, name, setting) for name, setting in given.settings.off.items())
    return [*compared, _pinned(given), *_floors(given), *off]


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
        for metric, tolerance in given.tolerances.items():
            yield _tolerance(given, given.baseline, metric, tolerance)
        for metric, limit in given.settings.significance.items():
            yield _sign_flip(given, metric, limit)
        if given.settings.max_lost is not None:
            yield _max_lost(given)


def _not_set(given: GateInput, reason: str) -> Iterator[GateResult]:
    for name in _comparing(given.settings, given.tolerances):
        yield GateResult(given.suite, name, "not_set", f"not set: {reason}")


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
    if old - tolerance <= SLACK and tolerance != DEFAULT_SHARE:
        message = (
            f"any value is within the tolerance {figure(tolerance)} of the baseline's {figure(old)}: lower it"
        )
        return replace(result, verdict="error", baseline=old, message=message)
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
    """Return a share of a set as a number of queries: ``2.35 of 47 queries``."""
    return f"{round(share * count, 2):g} of {count} {'query' if count == 1 else 'queries'}"


def _sign_flip(given: GateInput, metric: str, limit: float) -> GateResult:
    name = f"{metric}_sign_flip"
    comparison = given.comparison(metric)
    if comparison is None:
        return GateResult(given.suite, name, "not_set", _no_queries(given, metric))
    value, old = given.means.get(metric, 0.0), given.baseline.metrics[metric] if given.baseline else 0.0
    test = sign_flip_test(comparison.differences)
    verdict: Literal["passed", "failed"] = "failed" if test.p < limit - SLACK else "passed"
    words = f"{metric} {figure(value)}, {_change(value, old)}; {_test_words(test, limit)}"
    words = f"{words}; {comparison.words()}"
    return GateResult(given.suite, name, verdict, words, test.p, None, limit, wanted="at least")


def _test_words(test: SignFlipTest, limit: float) -> str:
    if not test.differing:
        return "no query differs"
    differ = "1 query differs" if test.differing == 1 else f"{test.differing} queries differ"
    if test.lowest_p >= limit:
        needed = math.floor(-math.log2(limit)) + 1
        return f"{differ}, and at least {needed} must differ to show that a fall is not chance"
    method = "exact" if test.exact else f"{DRAWS:,} draws, seed {SEED}"
    return (
        f"a fall this large happens {by_chance(test.p)}, and fails below {100 * limit:g} of 100 "
        f"(paired sign-flip test, {method}; {differ})"
    )


def _no_queries(given: GateInput, metric: str) -> str:
    return (
        f"not set: the baseline holds no {metric} of single queries; bless one that does with "
        f"{given.bless_command}"
    )


def _max_lost(given: GateInput) -> GateResult:
    metric, wanted = given.settings.lost_by, given.settings.max_lost
    comparison = given.comparison(metric)
    if comparison is None:
        return GateResult(given.suite, MAX_LOST_GATE, "not_set", _no_queries(given, metric))
    share = given.tolerances.get(metric, DEFAULT_SHARE)
    limit = wanted if isinstance(wanted, int) else int(share * len(given.scores.ids) + SLACK)
    lost = len(comparison.lost)
    has_failed = lost > limit
    parts = [f"by {metric}, at most {limit} may be lost", comparison.words()]
    if has_failed and wanted == "chance":
        test = comparison.falls()
        has_failed = test.p < LOST_LEVEL - SLACK
        parts.append(
            f"{lost} or more are lost {by_chance(test.p)} (exact permutation test), and below "
            f"{100 * LOST_LEVEL:g} of 100 the gate fails"
        )
        if not has_failed:
            parts.append(f"for a search that always gives the same answer, set `max_lost: {limit}`")
    verdict: Literal["passed", "failed"] = "failed" if has_failed else "passed"
    message = "; ".join(parts)
    return GateResult(given.suite, MAX_LOST_GATE, verdict, message, float(lost), 0.0, float(limit))


def _pinned(given: GateInput) -> GateResult:
    pinned = given.settings.pinned
    if not pinned:
        return GateResult(given.suite, PINNED_GATE, "not_set", "not set: no query is pinned")
    ranks = dict(zip(given.scores.ids, given.scores.first_rank.tolist(), strict=True))
    lost = [query for query, k in pinned.items() if not 0 < ranks.get(query, 0) <= k]
    if not lost:
        message = f"all {len(pinned)} pinned queries find a relevant tool within their top k"
        return GateResult(given.suite, PINNED_GATE, "passed", message, 0.0, None, 0.0)
    places = {query: f"rank {rank}" if (rank := ranks.get(query, 0)) else "not found" for query in lost}
    said = [f"{query} ({place}, wanted within {pinned[query]})" for query, place in places.items()]
    message = f"{len(lost)} of {len(pinned)} pinned queries lost: {names(said)}"
    return GateResult(given.suite, PINNED_GATE, "failed", message, float(len(lost)), None, 0.0)


def _floors(given: GateInput) -> Iterator[GateResult]:
    highest = given.scores.highest_recalls()
    for metric, floor in given.settings.floors.items():
        result = at_least(given.suite, f"{metric}_floor", given.means.get(metric), floor)
        if floor > highest.get(metric, 1.0) + SLACK:
            unreachable = f"{result.message}; the labels allow at most {figure(highest[metric])}"
            result = replace(result, message=unreachable)
        yield result
