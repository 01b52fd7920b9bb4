"""How often do the default gates fail for nothing, and how often do they notice a fall?

Searches and detectors are simulated, and judged by the gate functions of the plugin with the settings that
hold when none are given. A noisy query or entry is right in each run with probability 1/2; the others are
always right or always wrong. Every cell of the tables is drawn with a seed of its own, made from what it is
about, so that it can be computed alone. Writes the tables of docs/gates-and-baselines.md as Markdown;
``--quick`` simulates fewer pairs of runs.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_mcpeval.kinds.retrieval.definitions import METRICS
from pytest_mcpeval.kinds.retrieval.gate_input import BaselineScores, GateInput, GateSettings
from pytest_mcpeval.kinds.retrieval.gates import judge_gates as judge_retrieval
from pytest_mcpeval.kinds.retrieval.metrics import Scores, average
from pytest_mcpeval.kinds.security.gates import DetectorGates, OldVerdicts
from pytest_mcpeval.kinds.security.gates import judge_gates as judge_security
from pytest_mcpeval.kinds.security.rates import Row
from pytest_mcpeval.kinds.security.schema import DetectorGatesModel

SIZES = (141, 500)
NOISE = (0, 10, 30)
RUNS = (1, 3, 5)
PAIRS = 1000
QUICK_PAIRS = 50
RECALL = 0.68
"""Share of the steady queries that find their tool, and of the steady malicious entries that are flagged."""

FALL = 0.05

Shares = NDArray[np.float64]


def generator(*cell: object) -> np.random.Generator:
    """The random numbers of a cell."""
    return np.random.default_rng(zlib.crc32(repr(cell).encode()))


def chances(kind: str, size: int, noise: int, random: np.random.Generator) -> Shares:
    """How probable each of some queries or entries is right: always, never, or, when noisy, half the time.

    Every second entry of a corpus is benign; those that are not noisy are never flagged.
    """
    found = (random.random(size) < RECALL).astype(np.float64)
    if kind == "security":
        found[1::2] = 1.0
    found[: round(size * noise / 100)] = 0.5
    return found


def asked(right: Shares, runs: int, random: np.random.Generator) -> list[Shares]:
    """Whether each is right, run by run."""
    return [(random.random(len(right)) < right).astype(np.float64) for _ in range(runs)]


def retrieval_gates(old: Sequence[Shares], new: Sequence[Shares]) -> dict[str, bool]:
    """Gate → whether it fails, of the default gates of a golden set with one relevant tool for each query."""

    def scores(runs: Sequence[Shares]) -> Scores:
        ids = tuple(f"q{number}" for number in range(len(runs[0])))
        ones = np.ones(len(ids), dtype=np.int64)
        return average([Scores(ids, np.tile(hits[:, None], len(METRICS)), ones, ones) for hits in runs])

    given = GateInput("s", GateSettings(), scores(new), BaselineScores.of(scores(old)))
    return {gate.name: gate.verdict == "failed" for gate in judge_retrieval(given)}


def security_gates(old: Sequence[Shares], new: Sequence[Shares]) -> dict[str, bool]:
    """The same of one detector and a corpus of which every second entry is malicious."""
    rights = [np.mean(runs, axis=0) for runs in (old, new)]
    malicious = [number % 2 == 0 for number in range(len(rights[0]))]
    flagged = [
        [float(share) if bad else 1 - float(share) for share, bad in zip(right, malicious, strict=True)]
        for right in rights
    ]
    rows = [
        Row(f"e{number}", bad, "attack" if bad else "benign", share, runs=len(new))
        for number, (share, bad) in enumerate(zip(flagged[1], malicious, strict=True))
    ]
    baseline = OldVerdicts({row.entry: share for row, share in zip(rows, flagged[0], strict=True)}, len(old))
    given = DetectorGates("s", "d", DetectorGatesModel(), rows, baseline)
    return {gate.name.removeprefix("d-"): gate.verdict == "failed" for gate in judge_security(given)}


KINDS = {"retrieval": retrieval_gates, "security": security_gates}
POINT_ESTIMATES = {"recall_at_5": "tolerance", "fpr_ceiling": "FPR ceiling"}
"""Gates that hold a rate to a limit, and test nothing."""


def false_alarms(kind: str, size: int, noise: int, runs: int, pairs: int) -> tuple[float, float]:
    """How often, with nothing changed, a gate that tests fails; and a gate on a point estimate."""
    random = generator("unchanged", kind, size, noise, runs)
    tests = points = 0
    for _ in range(pairs):
        right = chances(kind, size, noise, random)
        failed = KINDS[kind](asked(right, runs, random), asked(right, runs, random))
        tests += any(has_failed for name, has_failed in failed.items() if name not in POINT_ESTIMATES)
        points += any(has_failed for name, has_failed in failed.items() if name in POINT_ESTIMATES)
    return tests / pairs, points / pairs


def power(size: int, noise: int, runs: int, pairs: int) -> float:
    """How often the sign-flip gate notices that recall@5 falls by `FALL`, because steady queries are lost."""
    # The same searches whatever the number of runs.
    searches, random = generator("searches", size, noise), generator("answers", size, noise, runs)
    noticed = 0
    for _ in range(pairs):
        old = chances("retrieval", size, noise, searches)
        is_lost = (old == 1) & (searches.random(size) < FALL / (RECALL * (1 - noise / 100)))
        new = np.where(is_lost, 0.0, old)
        failed = retrieval_gates(asked(old, runs, random), asked(new, runs, random))
        noticed += failed["recall_at_5_sign_flip"]
    return noticed / pairs


def false_alarm_row(kind: str, size: int, noise: int, pairs: int) -> str:
    """A row of the first table."""
    found = [false_alarms(kind, size, noise, runs, pairs) for runs in RUNS]
    cells = [f"{100 * tests:.1f} %" for tests, _ in found] + [f"{100 * points:.1f} %" for _, points in found]
    return f"| {kind} | {size} | {noise} % | {' | '.join(cells)} |"


def power_row(size: int, noise: int, pairs: int) -> str:
    """A row of the second table."""
    cells = [f"{100 * power(size, noise, runs, pairs):.0f} %" for runs in RUNS]
    return f"| {size} | {noise} % | {' | '.join(cells)} |"


def header(*columns: str) -> str:
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def tables(pairs: int) -> Iterator[str]:
    """Both tables as Markdown, line by line."""
    runs = [f"{number} {'run' if number == 1 else 'runs'}" for number in RUNS]
    yield header("", "cases", "noisy", *runs, *(f"point estimate, {number}" for number in runs))
    yield from (false_alarm_row(kind, n, noise, pairs) for kind in KINDS for n in SIZES for noise in NOISE)
    yield ""
    yield header("queries", "noisy", *runs)
    yield from (power_row(n, noise, pairs) for n in SIZES for noise in NOISE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_PAIRS} pairs of runs instead of {PAIRS}"
    )
    quick = parser.parse_args().quick
    for line in tables(QUICK_PAIRS if quick else PAIRS):
        print(line, flush=True)


if __name__ == "__main__":
    main()
