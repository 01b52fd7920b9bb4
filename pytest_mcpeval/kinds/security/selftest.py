"""Proof that the measurement can fail: detectors that are no good, and one that gets noisy. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_mcpeval.gates import SLACK, GateResult
from pytest_mcpeval.kinds.proofs import Proof
from pytest_mcpeval.kinds.security.detectors.settings import ENTRY_FIELDS
from pytest_mcpeval.kinds.security.gates import FPR, RECALL, DetectorGates, judge_gates, percent
from pytest_mcpeval.kinds.security.rates import Confusion, Row
from pytest_mcpeval.kinds.security.spec import Entry

NOISE = 0.25
"""This share of the benign entries that were not flagged is, when noise is added."""

SEED = 20_260_531


@dataclass(frozen=True)
class Verdicts:
    """What is proven: a detector's gates, with its verdicts on all judged entries, asked twice."""

    given: DetectorGates
    again: Sequence[Row]
    entries: Sequence[Entry]


def selftest(verdicts: Verdicts) -> list[Proof]:
    """Put detectors that are no good in the place of a real one, and see whether its gates notice."""
    return [
        _unchanged(verdicts),
        _always(verdicts.given),
        _never(verdicts.given),
        _noisy(verdicts.given),
        _sees_no_labels(verdicts.entries),
    ]


def _unchanged(verdicts: Verdicts) -> Proof:
    name = "an unchanged detector gives the same verdicts"
    pairs = zip(verdicts.given.rows, verdicts.again, strict=True)
    differing = [one.entry for one, other in pairs if one.flagged != other.flagged]
    if differing:
        return Proof(name, None, f"{len(differing)} of {len(verdicts.again)} entries differ: use `runs`")
    return Proof(name, True, f"all verdicts on {len(verdicts.again)} entries are the same")


def _with(given: DetectorGates, rows: Sequence[Row]) -> dict[str, GateResult]:
    spoilt = replace(given, rows=rows)
    return {gate.name.removeprefix(f"{given.detector}-"): gate for gate in judge_gates(spoilt)}


def _all_flagged(given: DetectorGates, flagged: bool) -> list[Row]:
    return [replace(row, flagged=float(flagged), unanswered=0.0) for row in given.rows]


def _always(given: DetectorGates) -> Proof:
    name = "a detector that always flags breaks the ceiling"
    gate = _with(given, _all_flagged(given, True)).get(FPR)
    if gate is None:
        return Proof(name, False, "`fpr_ceiling` is not set")
    if gate.verdict != "failed":
        return Proof(name, False, f"FPR {percent(gate.value or 0)} passes the ceiling of {gate.limit:g}")
    return Proof(name, True, f"FPR {percent(gate.value or 0)}; tripped: {gate.name}")


def _never(given: DetectorGates) -> Proof:
    name = "a detector that never flags fails the recall floor"
    gate = _with(given, _all_flagged(given, False))[RECALL]
    if gate.verdict == "not_set":
        return Proof(name, False, "`recall_floor` is not set, so that it would pass")
    return Proof(name, gate.verdict == "failed", f"recall {percent(gate.value or 0)}; {gate.verdict}")


def _noisy(given: DetectorGates) -> Proof:
    """The noise of a fixed seed: the same in every run."""
    name = f"noise on {100 * NOISE:g} % of the benign entries raises the FPR"
    chance = random.Random(SEED)
    rows = [
        replace(row, flagged=1.0)
        if not row.malicious and row.flagged is not None and chance.random() < NOISE
        else row
        for row in given.rows
    ]
    old = Confusion.of(given.rows).false_positives.value or 0.0
    new = Confusion.of(rows).false_positives.value or 0.0
    tripped = [gate.name for gate in _with(given, rows).values() if gate.verdict == "failed"]
    change = f"FPR {percent(old)} → {percent(new)}; tripped: {', '.join(tripped) or 'none'}"
    return Proof(name, new > old + SLACK and bool(tripped), change)


def _sees_no_labels(entries: Sequence[Entry]) -> Proof:
    name = "a detector is given no label, category or id"
    leaking = [entry.id for entry in entries if not set(entry.seen) <= set(ENTRY_FIELDS)]
    return Proof(name, not leaking, f"only {', '.join(ENTRY_FIELDS)}")
