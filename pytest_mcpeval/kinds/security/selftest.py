"""Proof that the measurement can fail: with useless detectors, and with a noisy one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_mcpeval.core.gate import SLACK, GateResult
from pytest_mcpeval.core.proof import AskTwice, Proof
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.security.detectors.asking import request_of
from pytest_mcpeval.kinds.security.detectors.settings import ENTRY_FIELDS
from pytest_mcpeval.kinds.security.gates import FPR, RECALL, DetectorGates, judge_gates, percent
from pytest_mcpeval.kinds.security.rates import Confusion, Row
from pytest_mcpeval.kinds.security.sampling import row_of
from pytest_mcpeval.kinds.security.spec import SecuritySuite, case_id

NOISE = 0.25
"""Share of the unflagged benign entries that the noise flags."""

SEED = 20_260_531


@dataclass(frozen=True)
class Verdicts:
    """A detector's gates, and its verdicts on all judged entries in every run.

    ``requests`` are what the detector gets of the entries.
    """

    given: DetectorGates
    runs: Sequence[Sequence[Row]]
    requests: Sequence[Mapping[str, Any]]


def proofs_of(suite: SecuritySuite, ask_twice: AskTwice) -> dict[str, list[Proof]]:
    """Headline → proofs, for each detector of a corpus."""
    # Recorded verdicts may have more than two runs: use all of them.
    asked = ask_twice([case.id for case in suite.cases], "entries", max(2, suite.runs))

    def sample(case: str) -> Sample:
        runs = tuple(Sample(suite.key, suite.kind, case, "passed", measured=run) for run in asked[case])
        return replace(runs[0], runs=runs)

    found = {}
    for detector, model in suite.settings.detectors.items():
        samples = [sample(case_id(detector, entry.id)) for entry in suite.judged]
        by_run = list(zip(*([row_of(run) for run in one.runs] for one in samples), strict=True))
        given = DetectorGates(suite.key, detector, suite.gates_of(detector), [row_of(one) for one in samples])
        requests = [] if model.verdict_files else [request_of(model, one.seen) for one in suite.judged]
        found[f"{len(samples)} entries, {detector}"] = selftest(Verdicts(given, by_run, requests))
    return found


def selftest(verdicts: Verdicts) -> list[Proof]:
    """Replace a detector by useless ones, and see whether its gates notice."""
    given = verdicts.given
    return [
        _unchanged(verdicts.runs),
        _all_alike(
            given, True, "a detector that always flags breaks the ceiling", FPR, "`fpr_ceiling` is not set"
        ),
        _all_alike(
            given,
            False,
            "a detector that never flags fails the recall floor",
            RECALL,
            "`recall_floor` is not set, so that it would pass",
        ),
        _noisy(given),
        _sees_no_labels(verdicts.requests),
    ]


def _unchanged(runs: Sequence[Sequence[Row]]) -> Proof:
    name = "an unchanged detector gives the same verdicts"
    everything = list(zip(*runs, strict=True))
    differing = [rows[0].entry for rows in everything if len({row.flagged for row in rows}) > 1]
    if differing:
        return Proof(name, None, f"{len(differing)} of {len(everything)} entries differ: use `runs`")
    message = f"all verdicts on {len(everything)} entries are the same in {len(runs)} runs"
    return Proof(name, True, message)


def _judged(given: DetectorGates, rows: Sequence[Row]) -> dict[str, GateResult]:
    spoilt = replace(given, rows=rows)
    return {gate.name.removeprefix(f"{given.detector}-"): gate for gate in judge_gates(spoilt)}


def _all_alike(given: DetectorGates, flagged: bool, name: str, gate: str, not_set: str) -> Proof:
    """Whether a gate fails for the same verdict on everything."""
    rows = [replace(row, flagged=float(flagged), unanswered=0.0) for row in given.rows]
    result = _judged(given, rows)[gate]
    if gate == RECALL and not given.counts.recall.of:
        return Proof(name, None, "recall is not measured: no entry is malicious")
    if result.verdict == "not_set":
        return Proof(name, False, not_set)
    rate = "FPR" if gate == FPR else "recall"
    return Proof(name, result.verdict == "failed", f"{rate} {percent(result.value or 0)}; {result.verdict}")


def _noisy(given: DetectorGates) -> Proof:
    """Return whether noise trips a gate; the seed is fixed."""
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
    tripped = [gate.name for gate in _judged(given, rows).values() if gate.verdict == "failed"]
    change = f"FPR {percent(old)} → {percent(new)}; tripped: {', '.join(tripped) or 'none'}"
    return Proof(name, new > old + SLACK and bool(tripped), change)


def _sees_no_labels(requests: Sequence[Mapping[str, Any]]) -> Proof:
    name = "a detector gets no label, category or id"
    if not requests:
        return Proof(name, True, "its verdicts are recorded, so it gets nothing")
    found = {key for request in requests for key in (*request, *(request.get("entry") or ()))}
    if leaking := sorted(found - {"entry", *ENTRY_FIELDS}):
        return Proof(name, False, f"its requests hold {', '.join(leaking)}")
    return Proof(name, True, f"{len(requests)} requests hold only {', '.join(ENTRY_FIELDS)}")
