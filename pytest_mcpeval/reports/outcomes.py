"""How cases ended, in words: one of several runs, and several of one item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_mcpeval.core.gate import names
from pytest_mcpeval.core.repeating import WORST_FIRST
from pytest_mcpeval.core.sample import NOT_PASSED, Sample


def not_passed(samples: Iterable[Sample]) -> list[Sample]:
    """The samples of cases that have something to explain."""
    return [sample for sample in samples if sample.outcome in NOT_PASSED]


def word_of(sample: Sample) -> str:
    """One word on how a case ended: its kind's own for a tolerated one."""
    return sample.label or sample.outcome.upper()


def lines_on_runs(sample: Sample) -> Iterator[str]:
    """How a case ended that was asked several times."""
    if sample.runs:
        counts = Counter(word_of(run) for run in sample.runs)
        counts_of_words = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        yield f"asked {len(sample.runs)} times: {counts_of_words}; shown is the first {word_of(sample)}"


def batch_message(samples: Sequence[Sample]) -> str:
    """How many cases of a batch did not pass, and which: ``1 of 8 cases FAILED: q5; 2 MISSED: q3, q7``."""
    groups: dict[str, list[str]] = {}
    for sample in sorted(not_passed(samples), key=lambda sample: WORST_FIRST.index(sample.outcome)):
        groups.setdefault(word_of(sample), []).append(sample.id)
    (word, ids), *others = groups.items()
    first = f"{len(ids)} of {len(samples)} cases {word}: {names(ids)}"
    return "; ".join([first, *(f"{len(ids)} {word}: {names(ids)}" for word, ids in others)])
