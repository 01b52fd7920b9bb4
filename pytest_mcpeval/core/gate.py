"""Gates: rules over metrics that can fail a run. Pure; `judging` turns the results into reports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_mcpeval.core.sample import Sample

Verdict = Literal["passed", "failed", "error", "not_evaluated", "not_set"]
"""``not_evaluated``: the run was cut down on purpose.

``not_set``: the gate has nothing to compare with, which its message explains; it does not affect the verdict.
"""

Wanted = Literal["at least", "at most"]

SLACK = 1e-9
"""Two metrics closer than this are equal: floats are never compared raw."""


@dataclass(frozen=True)
class GateResult:
    """One gate, judged. ``limit`` is the value at which it would just pass: its value is ``wanted`` at least
    or at most that.

    ``timed``: its value is a time, which differs from run to run though nothing has changed. ``cases``
    made it fail, where the message does not name them.
    """

    suite: str
    name: str
    verdict: Verdict
    message: str
    value: float | None = None
    baseline: float | None = None
    limit: float | None = None
    timed: bool = False
    wanted: Wanted = "at most"
    cases: tuple[str, ...] = ()


def gate_nodeid(gate: GateResult) -> str:
    """The node id under which a gate is reported."""
    return f"{gate.suite}::gates::{gate.name}"


def at_least(suite: str, name: str, value: float | None, limit: float, *, unit: str = "") -> GateResult:
    """A gate that wants ``value >= limit``; a value that could not be measured fails."""
    return _compared(suite, name, value, limit, "at least", unit)


def at_most(suite: str, name: str, value: float | None, limit: float, *, unit: str = "") -> GateResult:
    """A gate that wants ``value <= limit``; a value that could not be measured fails."""
    return _compared(suite, name, value, limit, "at most", unit)


def _compared(
    suite: str, name: str, value: float | None, limit: float, words: Wanted, unit: str
) -> GateResult:
    if value is None:
        message = f"no case reported a value; wanted {words} {figure(limit)}{unit}"
        return GateResult(suite, name, "failed", message, None, None, limit, wanted=words)
    holds = value >= limit - SLACK if words == "at least" else value <= limit + SLACK
    message = f"{figure(value)}{unit}, wanted {words} {figure(limit)}{unit}"
    verdict: Verdict = "passed" if holds else "failed"
    return GateResult(suite, name, verdict, message, value, None, limit, wanted=words)


def figure(value: float) -> str:
    """A number for people: four digits, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def switched_off(suite: str, name: str, setting: str) -> GateResult:
    """Return the result of a gate that is turned off on purpose by ``setting``."""
    return GateResult(suite, name, "not_set", f"not set: `{setting}`")


def by_chance(p: float) -> str:
    """Return how often something happens by chance, as text: ``by chance in 3.1 of 100 runs``."""
    for runs in (100, 1000, 10_000):
        if p * runs >= 1 - SLACK:
            return f"by chance in {round(p * runs, 1):g} of {runs:,} runs"
    return "by chance in less than 1 of 10,000 runs"


@dataclass(frozen=True)
class Completeness:
    """How completely a suite was measured, compared with the cases in its file.

    ``deselected`` were left out on purpose (``-k``, ``file::id``); ``missing`` were to run and left no
    sample, and of them ``crashed`` took their process down; ``errors`` could not ask; ``set_aside`` were
    skipped or are expected to fail.
    """

    expected: int
    measured: int
    deselected: int = 0
    missing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    stopped: bool = False
    crashed: tuple[str, ...] = ()

    def among(self, cases: Collection[str]) -> Completeness:
        """The same of some of the cases only."""
        missing, errors, set_aside, crashed = (
            tuple(case for case in found if case in cases)
            for found in (self.missing, self.errors, self.set_aside, self.crashed)
        )
        return replace(
            self,
            expected=len(cases),
            measured=len(cases) - len(missing),
            missing=missing,
            errors=errors,
            set_aside=set_aside,
            crashed=crashed,
        )

    @property
    def partial(self) -> bool:
        """Whether the run was cut down on purpose, so that gates cannot be judged."""
        return bool(self.deselected) or (self.stopped and len(self.missing) > len(self.crashed))

    @property
    def whole(self) -> bool:
        """Whether every case of the suite was asked and answered."""
        return not (self.deselected or self.missing or self.errors)


def completeness(
    expected: Sequence[str],
    selected: Collection[str],
    samples: Mapping[str, Sample],
    *,
    stopped: bool,
    crashed: Collection[str] = (),
) -> Completeness:
    """Compare the samples of a suite with the cases its file holds.

    ``stopped`` says that a person or ``-x`` ended the session early; a worker that died is not a stop.
    ``crashed`` are the cases during which a worker died.
    """
    measured = [samples[case] for case in expected if case in samples]
    missing = tuple(case for case in expected if case in selected and case not in samples)
    return Completeness(
        expected=len(expected),
        measured=len(measured),
        deselected=sum(case not in selected for case in expected),
        missing=missing,
        errors=tuple(sample.id for sample in measured if sample.outcome == "error"),
        set_aside=tuple(sample.id for sample in measured if sample.is_set_aside),
        stopped=stopped,
        crashed=tuple(case for case in missing if case in crashed),
    )


def fail_closed(gates: Iterable[GateResult], complete: Completeness) -> list[GateResult]:
    """Adjust gate results to completeness: in a partial run they are not evaluated, in an incomplete
    one they fail.  A gate that is not set, or that its kind did not evaluate, is unchanged.
    """
    shortfall = _shortfall_words(complete)
    left_out = f"not evaluated: stopped after {complete.measured} of {complete.expected} cases"
    if complete.deselected:
        selected = complete.expected - complete.deselected
        left_out = f"not evaluated: {selected} of {complete.expected} cases selected"
    held = []
    for gate in gates:
        verdict, message = gate.verdict, gate.message
        if verdict != "not_set" and complete.partial:
            verdict, message = "not_evaluated", left_out
        elif verdict not in ("not_set", "not_evaluated") and shortfall:
            verdict = "error" if verdict == "error" else "failed"
            message = f"{shortfall}; {message}"
        elif verdict not in ("not_set", "not_evaluated") and complete.set_aside:
            message = f"{message} (skipped or xfailed: {names(complete.set_aside)})"
        held.append(replace(gate, verdict=verdict, message=message))
    return held


def _shortfall_words(complete: Completeness) -> str:
    parts = []
    if complete.missing:
        parts.append(
            f"{len(complete.missing)} of {complete.expected} cases missing: {names(complete.missing)}"
        )
    if complete.errors:
        parts.append(
            f"{len(complete.errors)} of {complete.expected} cases in error: {names(complete.errors)}"
        )
    if not parts and complete.measured == len(complete.set_aside):
        parts.append("no case was measured")
    return "; ".join(parts)


def names(ids: Sequence[str], limit: int = 10) -> str:
    """Case ids for a message: all of a few, the first ones and a count of many."""
    listed = ", ".join(ids[:limit])
    return listed if len(ids) <= limit else f"{listed} and {len(ids) - limit} more"
