"""Intervals and paired tests. Pure functions of plain numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_ENUMERATED = 20
"""Up to so many differing pairs, all 2ⁿ sign assignments are counted; above, they are drawn."""

DRAWS = 10_000

SEED = 20_260_531
"""Of the drawn sign assignments: the same differences give the same p in every run."""

_TIED = 1e-9
"""Sums of differences closer than this, relative to their size, are equal."""


def lowest_p(differing: int) -> float:
    """The lowest p of a sign-flip test of so many differing pairs."""
    return 0.5**differing if differing <= MOST_ENUMERATED else 1 / (DRAWS + 1)


@dataclass(frozen=True)
class SignFlipTest:
    """A paired sign-flip test.

    ``p`` is one-sided: how probable a total at least as low is, if a difference had either sign with equal
    chance. ``differing`` pairs count. ``exact`` says whether all assignments were counted.
    """

    p: float
    differing: int
    exact: bool

    @property
    def lowest_p(self) -> float:
        """The lowest p that so many differing pairs can give; with four, it is 1/16."""
        return lowest_p(self.differing)


def sign_flip_test(differences: Sequence[float], *, draws: int = DRAWS, seed: int = SEED) -> SignFlipTest:
    """Test whether paired differences (new − old) tend to be negative.

    The randomisation test of Fisher (The Design of Experiments, 1935), which Smucker, Allan and Carterette
    (CIKM 2007) recommend for comparing retrieval systems: under the null hypothesis each difference is as
    likely to be +d as −d, and p is the share of the 2ⁿ assignments whose sum is at most the one observed.
    With more than 20 differing pairs, assignments are drawn, and the observed one is counted among them:
    p = (1 + those at most as high) / (1 + draws), after Phipson and Smyth (2010).
    """
    kept = [abs(difference) for difference in differences if abs(difference) > _TIED]
    if not kept:
        return SignFlipTest(1.0, 0, True)
    # A tie with the observed sum counts, whatever the order in which floats were added.
    highest = math.fsum(differences) + _TIED * max(1.0, math.fsum(kept))
    if len(kept) <= MOST_ENUMERATED:
        return SignFlipTest(float((_all_sums(kept) <= highest).mean()), len(kept), True)
    drawn = int((_drawn_sums(kept, draws, seed) <= highest).sum())
    return SignFlipTest((1 + drawn) / (1 + draws), len(kept), False)


def _all_sums(sizes: Sequence[float]) -> NDArray[np.float64]:
    import numpy as np

    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _drawn_sums(sizes: Sequence[float], draws: int, seed: int) -> NDArray[np.float64]:
    """Sums under random signs; of m differences of one size, Binomial(m, ½) are positive."""
    import numpy as np

    generator = np.random.default_rng(seed)
    sums = np.zeros(draws)
    for size, count in sorted(Counter(sizes).items()):
        sums += size * (2.0 * generator.binomial(count, 0.5, draws) - count)
    return sums


MOST_RUNS = 20
"""Of a case that was asked more often, so many runs decide whether it has fallen."""

CASE_LEVEL = 0.05
"""A case has fallen when chance alone would do it less often than this, or as rarely as its runs can show."""


def has_fallen(old: Sequence[float], new: Sequence[float]) -> bool:
    """Whether the values of a case's new runs are lower than those of its old runs, beyond chance.

    By an exact permutation test of Mann and Whitney's statistic: the pairs of an old and a new run in which
    the new value is the lower one, less those in which it is the higher one. For hits and misses, that is
    Fisher's exact test. Two runs each cannot show that chance does it in less than 5 % of cases: every new
    value must then be lower than every old one. So with one run each a lower value is a fall, with three it
    is from 3 of 3 hits to none, with five from 5 of 5 to one, or from 4 to none.
    """
    if old == new:
        return False
    old, new = old[:MOST_RUNS], new[:MOST_RUNS]
    excess = sum((b < a - _TIED) - (b > a + _TIED) for a in old for b in new)
    return excess >= _falls_by_chance(*_levels(old, new)).least


@dataclass(frozen=True)
class FallsTest:
    """A test of how many cases have fallen.

    ``expected`` is how many fall by chance alone, on average; ``p`` how probable at least as many are.
    """

    fallen: int
    expected: float
    p: float


def falls_test(cases: Iterable[tuple[Sequence[float], Sequence[float]]]) -> FallsTest:
    """Test whether more cases have fallen (`has_fallen`) than chance explains.

    Each case has its values in the old runs and in the new ones. An exact permutation test, stratified by
    case: if nothing has changed, any of a case's runs may as well be the old ones. The number of falls is
    then a sum of independent indicators of known probability (a Poisson binomial variable), of which p is the
    upper tail. With one run each, it is McNemar's exact test (Psychometrika 1947): of the cases that differ,
    each has fallen with probability ½.
    """
    import numpy as np

    listed = list(cases)
    fallen = sum(has_fallen(old, new) for old, new in listed)
    found = (_falls_by_chance(*_levels(old[:MOST_RUNS], new[:MOST_RUNS])) for old, new in listed)
    chances = [one.share for one in found if one.share]
    counts = np.ones(1)
    for chance in chances:
        counts = np.convolve(counts, [1 - chance, chance])
    return FallsTest(fallen, math.fsum(chances), float(min(1.0, counts[fallen:].sum())))


def _levels(old: Sequence[float], new: Sequence[float]) -> tuple[tuple[int, ...], int]:
    """How often each value occurs among all, the lowest first, and how many values are old."""
    counts = Counter(round(value, 9) for value in (*old, *new))
    return tuple(counts[value] for value in sorted(counts)), len(old)


@dataclass(frozen=True)
class _ByChance:
    """Which ways to choose the new ones among some runs are a fall.

    Those with an excess of ``least`` or more, which are a ``share`` of all.
    """

    least: float
    share: float


@lru_cache(maxsize=10_000)
def _falls_by_chance(counts: tuple[int, ...], old: int) -> _ByChance:
    new = sum(counts) - old
    # (new values so far, excess of pairs so far in which the new value is the lower one) → ways
    ways: Counter[tuple[int, int]] = Counter({(0, 0): 1})
    seen = 0
    for count in counts:
        after: Counter[tuple[int, int]] = Counter()
        for (below, excess), number in ways.items():
            for chosen in range(min(count, new - below) + 1):
                change = (count - chosen) * below - chosen * (seen - below)
                after[below + chosen, excess + change] += number * math.comb(count, chosen)
        ways, seen = after, seen + count
    totals = {excess: number for (chosen, excess), number in ways.items() if chosen == new}
    total = math.comb(old + new, old)
    least, falls = math.inf, 0
    for excess in sorted(totals, reverse=True):
        if falls + totals[excess] > max(1, CASE_LEVEL * total + _TIED):
            break
        least, falls = excess, falls + totals[excess]
    return _ByChance(least, falls / total)


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a share."""

    lower: float
    upper: float


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """The two-sided interval of Clopper and Pearson (Biometrika 1934) for a binomial share.

    Its ends are quantiles of beta distributions: B(α/2; x, n − x + 1) and B(1 − α/2; x + 1, n − x), with
    α = 1 − ``confidence``; 0 when nothing succeeded, 1 when all did. It covers at least as often as it says.

    Raises:
        ValueError: There was no trial, or there were more successes than trials.
    """
    from scipy.special import betaincinv

    _check_counts(successes, trials)
    tail = (1 - confidence) / 2
    lower = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    upper = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Interval(lower, upper)


def upper_limit(successes: int, trials: int, confidence: float = 0.95) -> float:
    """The one-sided upper limit of Clopper and Pearson: the share is below it with this confidence.

    It is the quantile B(``confidence``; x + 1, n − x) of a beta distribution; with nothing in n trials,
    1 − (1 − ``confidence``)^(1/n), about 3/n at 95 %.

    Raises:
        ValueError: There was no trial, or there were more successes than trials.
    """
    from scipy.special import betaincinv

    _check_counts(successes, trials)
    if successes == trials:
        return 1.0
    return float(betaincinv(successes + 1, trials - successes, confidence))


def _check_counts(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials or not trials:
        raise ValueError(f"a share needs 0 ≤ successes ≤ trials and a trial, found {successes} of {trials}")


def trials_to_certify(ceiling: float, successes: int = 0, confidence: float = 0.95) -> int:
    """How many trials it takes to show that a share is at most ``ceiling`` when ``successes`` occur in them.

    The smallest n with P(X ≤ successes | n, ceiling) ≤ 1 − ``confidence``, which is the same as
    `upper_limit` ≤ ceiling. Without any, it is ⌈ln(1 − confidence) / ln(1 − ceiling)⌉: 29 benign entries
    without a false alarm certify a false-positive rate of at most 10 % at 95 % confidence.

    Raises:
        ValueError: The ceiling is not between 0 and 1, both excluded: no number of trials shows it.
    """
    if not 0 < ceiling < 1:
        raise ValueError(f"a ceiling between 0 and 1 can be certified, not {ceiling}")
    too_few, enough = successes, max(1, 2 * successes)
    while not _certifies(enough, ceiling, successes, confidence):
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _certifies(middle, ceiling, successes, confidence):
            enough = middle
        else:
            too_few = middle
    return enough


def _certifies(trials: int, ceiling: float, successes: int, confidence: float) -> bool:
    from scipy.special import bdtr

    # A limit that is met exactly must not fail for the last bit of a float.
    return bool(bdtr(successes, trials, ceiling) <= (1 - confidence) * (1 + _TIED))
