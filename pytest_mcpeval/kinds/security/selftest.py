"""Proof that the measurement can fail: detectors that are no good, and one that gets noisy. Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_mcpeval.core.gate import SLACK, GateResult
from pytest_mcpeval.core.proof import Proof
from pytest_mcpeval.kinds.security.detectors.settings import ENTRY_FIELDS
from pytest_mcpeval.kinds.security.gates import FPR, RECALL, DetectorGates, judge_gates, percent
from pytest_mcpeval.kinds.security.rates import Confusion, Row

NOISE = 0.25
"""This share of the benign entries that were not flagged is, when noise is added."""

SEED = 20_260_531


@dataclass(frozen=True)
class Verdicts:
    """What is proven: a detector's gates, with its verdicts on all judged entries in every run.

    ``requests`` are what it is given of the entries.
    """

    given: DetectorGates
    runs: Sequence[Sequence[Row]]
    requests: Sequence[Mapping[str, Any]]


def selftest(verdicts: Verdicts) -> list[Proof]:
    """Put detectors that are no good in the place of a real one, and see whether its gates notice."""
    return [
        _unchanged(verdicts),
        _always(verdicts.given),
        _never(verdicts.given),
        _noisy(verdicts.given),
        _sees_no_labels(verdicts.requests),
    ]


def _unchanged(verdicts: Verdicts) -> Proof:
    name = "an unchanged detector gives the same verdicts"
    everything = list(zip(*verdicts.runs, strict=True))
    differing = [rows[0].entry for rows in everything if len({row.flagged for row in rows}) > 1]
    if differing:
        return Proof(name, None, f"{len(differing)} of {len(everything)} entries differ: use `runs`")
    message = f"all verdicts on {len(everything)} entries are the same in {len(verdicts.runs)} runs"
    return Proof(name, True, message)


def _with(given: DetectorGates, rows: Sequence[Row]) -> dict[str, GateResult]:
    spoilt = replace(given, rows=rows)
    return {gate.name.removeprefix(f"{given.detector}-"): gate for gate in judge_gates(spoilt)}


def _all_flagged(given: DetectorGates, flagged: bool) -> list[Row]:
    return [replace(row, flagged=float(flagged), unanswered=0.0) for row in given.rows]


def _always(given: DetectorGates) -> Proof:
    name = "a detector that always flags breaks the ceiling"
    gate = _with(given, _all_flagged(given, True))[FPR]
    if gate.verdict == "not_set":
        return Proof(name, False, "`fpr_ceiling` is not set")
    return Proof(name, gate.verdict == "failed", f"FPR {percent(gate.value or 0)}; {gate.verdict}")


def _never(given: DetectorGates) -> Proof:
    name = "a detector that never flags fails the recall floor"
    gate = _with(given, _all_flagged(given, False))[RECALL]
    if not given.counts.recall.of:
        return Proof(name, None, "recall is not measured: no entry is malicious")
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


def _sees_no_labels(requests: Sequence[Mapping[str, Any]]) -> Proof:
    name = "a detector is given no label, category or id"
    if not requests:
        return Proof(name, True, "its verdicts are recorded, so that it is given nothing")
    found = {key for request in requests for key in (*request, *(request.get("entry") or ()))}
    if leaking := sorted(found - {"entry", *ENTRY_FIELDS}):
        return Proof(name, False, f"its requests hold {', '.join(leaking)}")
    return Proof(name, True, f"{len(requests)} requests hold only {', '.join(ENTRY_FIELDS)}")
