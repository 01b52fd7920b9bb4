"""How often the default gates fail for nothing, and that the docs show what the simulation writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from gate_error_rates import (
    KINDS,
    NOISE,
    PAIRS,
    RUNS,
    SIZES,
    false_alarms,
    power,
)

PAGE = Path(__file__).parents[2] / "docs/gates-and-baselines.md"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("runs", RUNS)
def test_an_unchanged_noisy_system_is_rarely_red(kind: str, runs: int) -> None:
    # Of 60 pairs of runs, nine or more fail in 3 of 1,000 simulations when five of a hundred may.
    for noise in (10, 30):
        tests, _ = false_alarms(kind, 141, noise, runs, 60)
        assert tests * 60 < 9, noise
    assert false_alarms(kind, 141, 0, runs, 5) == (0.0, 0.0)


def test_a_fall_is_noticed() -> None:
    assert power(500, 0, 1, 20) == 1.0
    assert power(141, 0, 1, 100) > 0.7


def test_the_docs_have_a_row_for_everything_and_the_rows_are_those_of_the_script() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for kind in KINDS:
        for size in SIZES:
            for noise in NOISE:
                (row,) = (line for line in lines if line.startswith(f"| {kind} | {size} | {noise} % |"))
                tested = [float(cell.strip(" %")) for cell in row.split("|")[4:7]]
                assert max(tested) <= 5.0, row
            if (kind, size, noise) == ("retrieval", 141, 10):
                assert tested[0] == pytest.approx(
                    100 * false_alarms(kind, size, noise, 1, PAIRS)[0], abs=0.05
                )
    (row,) = (line for line in lines if line.startswith("| 141 | 0 % |"))
    assert row.split("|")[3].strip() == f"{100 * power(141, 0, 1, PAIRS):.0f} %"
