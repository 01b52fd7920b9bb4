"""Intervals and paired tests, against brute force and scipy."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import binom, binomtest, fisher_exact, permutation_test

from pytest_mcpeval.core.statistics import (
    DRAWS,
    MOST_ENUMERATED,
    clopper_pearson,
    falls_test,
    has_fallen,
    sign_flip_test,
    trials_to_certify,
    upper_limit,
)


def by_hand(differences: list[int]) -> float:
    """p by writing down every assignment of signs, in whole numbers."""
    kept = [difference for difference in differences if difference]
    sums = [
        sum(s * d for s, d in zip(signs, kept, strict=True)) for signs in product([1, -1], repeat=len(kept))
    ]
    return sum(total <= sum(kept) for total in sums) / len(sums)


@settings(deadline=None)
@given(some.lists(some.integers(-6, 6), max_size=10))
def test_sign_flips_are_counted_exactly(differences: list[int]) -> None:
    test = sign_flip_test([difference / 6 for difference in differences])
    assert test.exact
    assert test.p == by_hand(differences)
    assert test.differing == sum(difference != 0 for difference in differences)


def test_scipy_counts_the_same() -> None:
    chance = random.Random(3)
    for _ in range(20):
        differences = [chance.uniform(-1, 0.7) for _ in range(8)]
        theirs = permutation_test(
            (differences,), sum, permutation_type="samples", alternative="less", n_resamples=10_000
        )
        assert sign_flip_test(differences).p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_only_losses_are_significant() -> None:
    assert sign_flip_test([-1.0] * 5).p == 1 / 32
    assert sign_flip_test([1.0] * 5).p == 1.0
    assert sign_flip_test([-1.0] * 4).p == 1 / 16
    assert sign_flip_test([-1.0, 1.0]).p == 0.75


def test_equal_values_do_not_count() -> None:
    assert sign_flip_test([0.0] * 100 + [1e-12]).p == 1.0
    assert sign_flip_test([-1.0] * 5 + [0.0] * 1000) == sign_flip_test([-1.0] * 5)


def test_ties_with_the_observed_sum_count_in_spite_of_float_addition() -> None:
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    assert sign_flip_test([-0.1, -0.2, 0.3]).p == by_hand([-1, -2, 3])
    assert sign_flip_test([0.3, -0.2, -0.1]).p == by_hand([-1, -2, 3])


def test_twenty_differing_pairs_are_enumerated_and_more_are_drawn() -> None:
    twenty = sign_flip_test([-1.0] * MOST_ENUMERATED)
    assert twenty.exact
    assert twenty.p == 0.5**20 == twenty.lowest_p
    more = sign_flip_test([-1.0] * 21)
    assert not more.exact
    assert more.p == 1 / (1 + DRAWS) == more.lowest_p


def test_drawn_signs_come_near_the_exact_p_and_are_the_same_every_time() -> None:
    differences = [-1.0] * 18 + [1.0] * 9
    test = sign_flip_test(differences)
    # The sum is at most −9 when at most 9 of 27 equal differences are positive.
    exact = float(binom.cdf(9, 27, 0.5))
    assert abs(test.p - exact) < 4 * math.sqrt(exact * (1 - exact) / DRAWS)
    assert sign_flip_test(differences) == test
    assert sign_flip_test(differences, seed=1).p != test.p


def test_drawn_signs_of_differences_of_many_sizes() -> None:
    chance = random.Random(5)
    differences = [chance.uniform(-1, 0.8) for _ in range(60)]
    theirs = permutation_test(
        (differences,), sum, permutation_type="samples", alternative="less", n_resamples=100_000, rng=1
    )
    assert abs(sign_flip_test(differences).p - theirs.pvalue) < 0.02
    assert theirs.pvalue > 0.05


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 29), (3, 47), (46, 47), (150, 300)])
def test_scipy_has_the_same_interval(successes: int, trials: int, confidence: float) -> None:
    ours = clopper_pearson(successes, trials, confidence)
    theirs = binomtest(successes, trials).proportion_ci(confidence, method="exact")
    assert (ours.lower, ours.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    one_sided = binomtest(successes, trials, alternative="less").proportion_ci(confidence, method="exact")
    assert upper_limit(successes, trials, confidence) == pytest.approx(one_sided.high, abs=1e-12)


def test_an_interval_covers_at_least_as_often_as_it_says() -> None:
    for share in (0.02, 0.1, 0.5):
        covered = [n for n in range(41) if _holds(share, n)]
        assert sum(binom.pmf(n, 40, share) for n in covered) >= 0.95


def _holds(share: float, successes: int) -> bool:
    interval = clopper_pearson(successes, 40)
    return interval.lower <= share <= interval.upper


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (2, 1), (-1, 3)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} of {trials}"):
        clopper_pearson(successes, trials)
    with pytest.raises(ValueError, match=f"{successes} of {trials}"):
        upper_limit(successes, trials)


def test_benign_entries_needed_without_a_false_alarm() -> None:
    assert trials_to_certify(0.10) == math.ceil(math.log(0.05) / math.log(0.9)) == 29
    assert trials_to_certify(0.05) == 59
    assert trials_to_certify(0.01) == 299
    # Two show it exactly, 0.3² = 1 − 0.91, though not in floats.
    assert trials_to_certify(0.7, confidence=0.91) == 2


@pytest.mark.parametrize("ceiling", [0.02, 0.1, 0.37, 0.9])
@pytest.mark.parametrize("successes", [0, 1, 2, 7])
def test_so_many_trials_certify_and_one_fewer_does_not(ceiling: float, successes: int) -> None:
    trials = trials_to_certify(ceiling, successes)
    assert upper_limit(successes, trials) <= ceiling + 1e-12
    assert trials == successes + 1 or upper_limit(successes, trials - 1) > ceiling


@pytest.mark.parametrize("ceiling", [0.0, 1.0, -0.1, 1.5])
def test_a_ceiling_nothing_can_show_is_refused(ceiling: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        trials_to_certify(ceiling)


def excess(old: Sequence[float], new: Sequence[float]) -> int:
    """Pairs of an old and a new value in which the new one is lower, less those in which it is higher."""
    return sum((later < earlier) - (later > earlier) for earlier in old for later in new)


def splits(old: Sequence[float], new: Sequence[float]) -> list[tuple[list[float], list[float]]]:
    """Every way to tell which of all values are the old ones."""
    pooled = [*old, *new]
    chosen = [set(places) for places in combinations(range(len(pooled)), len(old))]
    return [
        ([pooled[at] for at in places], [one for at, one in enumerate(pooled) if at not in places])
        for places in chosen
    ]


def tail(old: Sequence[float], new: Sequence[float]) -> float:
    """How probable an excess as high is when any of the values may as well be the old ones."""
    all_splits = splits(old, new)
    return sum(excess(*one) >= excess(old, new) for one in all_splits) / len(all_splits)


SERIES = some.lists(some.sampled_from([0.0, 1 / 3, 0.5, 1.0]), min_size=1, max_size=5)


@settings(deadline=None, max_examples=150)
@given(SERIES, SERIES)
def test_a_case_has_fallen_when_chance_does_it_rarely(old: list[float], new: list[float]) -> None:
    least = 1 / math.comb(len(old) + len(new), len(old))
    assert has_fallen(old, new) == (tail(old, new) <= max(0.05, least) + 1e-12)


@settings(deadline=None, max_examples=60)
@given(some.lists(some.tuples(SERIES, SERIES), max_size=3))
def test_the_falls_of_several_cases_are_counted_exactly(cases: list[tuple[list[float], list[float]]]) -> None:
    shares = []
    for old, new in cases:
        all_splits = splits(old, new)
        shares.append(sum(has_fallen(*one) for one in all_splits) / len(all_splits))
    fallen = sum(has_fallen(old, new) for old, new in cases)
    p = 0.0
    for falls in product([True, False], repeat=len(cases)):
        if sum(falls) >= fallen:
            p += math.prod(
                share if falls_here else 1 - share for share, falls_here in zip(shares, falls, strict=True)
            )
    found = falls_test(cases)
    assert (found.fallen, found.expected, found.p) == pytest.approx((fallen, sum(shares), p))


def test_of_hits_a_fall_is_decided_by_fishers_test() -> None:
    for before, after in product(range(6), repeat=2):
        table = np.array([[before, 5 - before], [after, 5 - after]])
        p = fisher_exact(table, alternative="greater").pvalue
        old, new = ([1.0] * hits + [0.0] * (5 - hits) for hits in (before, after))
        assert has_fallen(old, new) == (p <= 0.05), (before, after)


def test_with_one_run_each_falls_are_judged_by_mcnemars_test() -> None:
    cases = [([1.0], [0.0])] * 7 + [([0.0], [1.0])] * 3 + [([1.0], [1.0])] * 20
    found = falls_test(cases)
    assert (found.fallen, found.expected) == (7, 5.0)
    assert found.p == pytest.approx(binomtest(7, 10, alternative="greater").pvalue)


def test_many_runs_take_no_longer_than_twenty() -> None:
    values = [number / 100 for number in range(100)]
    assert has_fallen(values[::-1], values)
    assert falls_test([(values[::-1], values)]).fallen == 1
