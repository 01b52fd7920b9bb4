"""The end of a session: samples → metrics → gates, as plain data for every report."""

from __future__ import annotations

import json
import os
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pytest_mcpeval.core.bless import Blessing, write_baselines
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.charts import Chart
from pytest_mcpeval.core.evaluation import Evaluation, SuiteResult
from pytest_mcpeval.core.gate import (
    Completeness,
    GateResult,
    Verdict,
    completeness,
    fail_closed,
    names,
    overall,
)
from pytest_mcpeval.core.judging_input import SessionState, SuiteRun
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.sample import NOT_PASSED, Outcome, Sample
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.core.tables import Row, Table
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import visible

ARTIFACTS_GATE = "artifacts"
JUDGING_GATE = "judging"

Found = TypeVar("Found")


class Incidents:
    """What kinds raised while they judged: gates in error, so that the other suites keep their reports.

    Messages show paths relative to ``root``.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._messages: dict[tuple[str, str], list[str]] = {}

    @property
    def gates(self) -> list[GateResult]:
        """One gate in error for each suite in which something was raised."""
        return [
            GateResult(suite, name, "error", "\n".join(dict.fromkeys(messages)))
            for (suite, name), messages in self._messages.items()
        ]

    def guarded(
        self, suite: str, otherwise: Found, call: Callable[..., Found], *args: Any, **options: Any
    ) -> Found:
        """What a call returns; something ``otherwise``, and a gate of the suite in error, if it raises."""
        try:
            return call(*args, **options)
        except KeyboardInterrupt:
            raise
        except OSError as error:
            message = f"what belongs to the whole run cannot be read or written: {error}"
            self._messages.setdefault((suite, ARTIFACTS_GATE), []).append(_short(message, self._root))
        except BaseException as error:  # Outcomes of pytest are no `Exception`.
            self._messages.setdefault((suite, JUDGING_GATE), []).append(
                _short(raised_where(error), self._root)
            )
        return otherwise


def raised_where(error: BaseException) -> str:
    """What was raised, and where: in the last two functions that were called."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename != __file__]
    places = ", which called ".join(f"{one.name} ({one.filename}:{one.lineno})" for one in frames[-2:])
    return f"{type(error).__name__}: {error}" + (f"; raised in {places}" if places else "")


SHARD_REASON = "not evaluated: this run is a shard, and `pytest-mcpeval merge` decides"


def evaluate(
    kinds: Sequence[Kind[Any]],
    suites: Sequence[SuiteRun],
    state: SessionState,
    root: Path,
    *,
    bless: bool = False,
    shard: bool = False,
    is_merged: bool = False,
) -> Evaluation:
    """Judge suites on their samples, and write baselines with ``bless``. ``kinds`` are those of the suites.

    Messages show paths relative to ``root``. Gates of a ``shard`` are not evaluated. Where shards are merged,
    each of them has written what kinds write when a session ends.
    """
    results = [_result(one, state, root, bless=bless, shard=shard) for one in suites]
    incidents = Incidents(root)
    notes = [] if is_merged else _finalized(suites, results, incidents, state)
    blessing = Blessing(results)
    if bless:
        blessing = incidents.guarded("mcpeval", blessing, write_baselines, suites, results, state, root)
    tables: list[Table] = []
    charts: list[Chart] = []
    totals: dict[str, Any] = {}
    totals_of_run: dict[str, Any] = {}
    for kind in kinds:
        name = kind.name
        of_kind = [(one, result) for one, result in zip(suites, results, strict=True) if one.kind is kind]
        whole = {result.key: _with_missing(one, result.samples, result.complete) for one, result in of_kind}
        everything = [sample for samples in whole.values() for sample in samples]
        tables += _tables(kind, whole, [result for _, result in of_kind], incidents)
        if came_back := {one.selection.suite: one.samples for one, _ in of_kind if one.samples}:
            charts += incidents.guarded(name, list[Chart](), kind.charts, came_back)
        totals[name] = incidents.guarded(name, {}, _plain, kind.totals, everything)
        totals_of_run[name] = incidents.guarded(name, {}, _plain, kind.totals_of_run, everything)
    verdict = _verdict(blessing, state, incidents.gates, shard=shard)
    return Evaluation(
        suites=blessing.suites,
        tables=[*tables, _repeated(results)],
        verdict=verdict,
        reason=_reason(verdict, blessing, state, incidents.gates, shard=shard),
        notes=[*notes, *_unlooked(blessing.suites), *blessing.notes],
        session_gates=[*incidents.gates, *blessing.gates],
        charts=charts,
        totals=totals,
        totals_of_run=totals_of_run,
    )


def _finalized(
    suites: Sequence[SuiteRun], results: Sequence[SuiteResult], incidents: Incidents, state: SessionState
) -> list[str]:
    """What kinds write when a session ends: sentences on it."""
    notes: list[str] = []
    others = [redactor.text(test) for test in state.others]
    for one, result in zip(suites, results, strict=True):
        if one.suite is not None:
            finalize = one.kind.finalize
            notes += incidents.guarded(
                result.key, [], finalize, one.suite, result.samples, others_failed=others
            )
    return notes


def _tables(
    kind: Kind[Any],
    whole: Mapping[str, Sequence[Sample]],
    results: Sequence[SuiteResult],
    incidents: Incidents,
) -> list[Table]:
    samples = {key: listed for key, listed in whole.items() if listed}
    compared = {
        result.key: result.compared for result in results if result.key in samples and result.compared
    }
    return [
        *(incidents.guarded(kind.name, list[Table](), kind.tables, samples) if samples else []),
        *(incidents.guarded(kind.name, list[Table](), kind.comparison_tables, compared) if compared else []),
    ]


def _repeated(results: Sequence[SuiteResult]) -> Table:
    """The suites whose cases were asked several times, and how many cases did not stay the same."""
    rows = [
        Row(
            (
                result.key,
                str(result.metrics["runs"]),
                f"{len(result.metrics['changed'])} of {len(result.samples)}",
                f"{result.metrics['changed_share'] * 100:.1f} %",
            )
        )
        for result in results
        if "runs" in result.metrics
    ]
    return Table("Between runs", ("", "runs", "changed", "share"), tuple(rows))


def _result(one: SuiteRun, state: SessionState, root: Path, *, bless: bool, shard: bool) -> SuiteResult:
    selection, kind, samples = one.selection, one.kind, one.samples
    complete = completeness(
        selection.expected,
        frozenset(selection.selected),
        {sample.id: sample for sample in samples},
        stopped=state.stopped,
        crashed=frozenset(selection.cases_of(state.crashed)),
    )
    incidents = Incidents(root)
    key = selection.suite
    gates = incidents.guarded(
        key, list[GateResult](), _gates, one, complete, root, bless=bless, are_left_out=shard
    )
    samples = incidents.guarded(key, samples, _decided, one, gates)
    for_information = incidents.guarded(key, list[str](), _for_information, one, samples, gates)
    everything = _with_missing(one, samples, complete)
    return SuiteResult(
        selection=selection,
        complete=complete,
        samples=samples,
        metrics=incidents.guarded(key, {}, _plain, kind.measure_over_runs, everything),
        run=incidents.guarded(key, {}, _plain, kind.measure_run, samples),
        compared={} if complete.partial else incidents.guarded(key, {}, _plain, _compared, one, samples),
        attachments={
            sample.id: incidents.guarded(key, [], kind.attachments, sample)
            for sample in samples
            if sample.outcome in NOT_PASSED
        },
        for_information=for_information,
        # Last, when everything that may raise has been called.
        gates=[*gates, *incidents.gates],
    )


def _plain(call: Callable[..., Found], *args: Any) -> Found:
    """What a call returns, which has to be JSON: the report of all suites is.

    Raises:
        TypeError: It is none.
    """
    found = call(*args)
    json.dumps(found)
    return found


def _decided(one: SuiteRun, gates: Sequence[GateResult]) -> list[Sample]:
    """The samples: a wrong case is tolerated if a gate decides on it that was evaluated in this run."""
    evaluated = [gate.name for gate in gates if gate.verdict in ("passed", "failed")]
    suite = one.suite

    def decided(sample: Sample) -> Sample:
        if sample.outcome not in ("wrong", "tolerated"):
            return sample
        is_tolerated = suite is not None and any(one.kind.decides(suite, name, sample) for name in evaluated)
        outcome: Outcome = "tolerated" if is_tolerated else "wrong"
        return replace(sample, outcome=outcome, runs=tuple(map(decided, sample.runs)))

    return [decided(sample) for sample in one.samples]


def _for_information(one: SuiteRun, samples: Sequence[Sample], gates: Sequence[GateResult]) -> list[str]:
    """The wrong cases that no gate which is set looks at, beside one that was evaluated."""
    suite = one.suite
    if suite is None:
        return []
    is_set = [gate.name for gate in gates if gate.verdict != "not_set"]
    evaluated = [gate.name for gate in gates if gate.verdict in ("passed", "failed")]
    return [
        sample.id
        for sample in samples
        if sample.outcome == "wrong"
        and not any(one.kind.decides(suite, name, sample) for name in is_set)
        and any(one.kind.leaves_to_no_gate(suite, name, sample) for name in evaluated)
    ]


def _unlooked(results: Sequence[SuiteResult]) -> list[str]:
    """A sentence for each suite with wrong cases that no gate looks at."""
    return [
        f"{result.key}: no gate looks at {counted(len(result.for_information), 'wrong case')} "
        f"({', '.join(sorted(labels))}): shown for information, and no part of the verdict"
        for result in results
        if (
            labels := {
                f"{sample.label or 'WRONG'} of {sample.traits.get('detector', result.selection.kind)}"
                for sample in result.samples
                if sample.id in result.for_information
            }
        )
    ]


def _with_missing(one: SuiteRun, samples: Sequence[Sample], complete: Completeness) -> Sequence[Sample]:
    """The samples, and one in error for each case that was to run and did not come back."""
    if complete.partial or not complete.missing or one.suite is None:
        return samples
    found = {sample.id: sample for sample in samples}
    missing = frozenset(complete.missing)
    return [
        found[case.id] if case.id in found else _missing(one.kind, one.suite, case)
        for case in one.suite.cases
        if case.id in found or case.id in missing
    ]


def _missing(kind: Kind[Any], suite: Suite[Any], case: Case[Any]) -> Sample:
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome="error",
        message="the case was to run and did not come back",
        traits=dict(case.traits),
        measured=asked_of(kind, suite, case),
    )


def asked_of(kind: Kind[Any], suite: Suite[Any], case: Case[Any]) -> Mapping[str, Any]:
    """What is measured of a case that brought no answer; nothing if its kind cannot say."""
    with suppress(Exception):
        return kind.asked_of(suite, case)
    return {}


def _compared(one: SuiteRun, samples: Sequence[Sample]) -> Mapping[str, Any]:
    if one.suite is None:
        return {}
    try:
        return one.kind.compare(one.suite, samples)
    except DataFileError:
        # A gate in error tells of it.
        return {}


def _gates(
    one: SuiteRun, complete: Completeness, root: Path, *, bless: bool, are_left_out: bool
) -> list[GateResult]:
    kind, suite = one.kind, one.suite
    try:
        if one.problem is not None:
            raise one.problem
        if suite is None:
            return []
        if complete.partial or are_left_out:
            gates = [
                GateResult(suite.key, name, "not_evaluated", SHARD_REASON) for name in kind.gate_names(suite)
            ]
        else:
            gates = kind.gates(suite, one.samples, blessing=bless)
        held = [_held(kind, suite, gate, complete) for gate in gates]
    except DataFileError as error:
        broken = GateResult(one.selection.suite, "baseline", "error", visible(str(error.relative_to(root))))
        held = fail_closed([broken], complete)
    return [replace(gate, message=_short(gate.message, root)) for gate in held]


def _held(kind: Kind[Any], suite: Suite[Any], gate: GateResult, complete: Completeness) -> GateResult:
    """A gate held to the completeness of the cases it is judged on."""
    cases = None if complete.partial else kind.cases_of_gate(suite, gate.name)
    (found,) = fail_closed([gate], complete if cases is None else complete.among(cases))
    return found


def _short(text: str, root: Path) -> str:
    """A text with paths below the root directory relative to it, as everywhere in pytest's output."""
    return text.replace(f"{root}{os.sep}", "")


def _verdict(
    blessing: Blessing, state: SessionState, others: Sequence[GateResult], *, shard: bool
) -> Verdict:
    results = blessing.suites
    outcomes = {sample.outcome for result in results for sample in result.samples}
    missing = any(result.complete.missing and not result.complete.partial for result in results)
    return overall(
        [*(gate for result in results for gate in result.gates), *blessing.gates, *others],
        failed=bool(state.failures) or "failed" in outcomes or missing,
        errors="error" in outcomes or state.has_incidents,
        partial=shard or not results or any(map(_is_undecided, results)),
    )


def _reason(
    verdict: Verdict, blessing: Blessing, state: SessionState, others: Sequence[GateResult], *, shard: bool
) -> str:
    """Why a run has its verdict, the weightiest first: what is wrong with it, else what passed."""
    results = blessing.suites
    gates = Counter(
        gate.verdict
        for gate in [*(gate for result in results for gate in result.gates), *blessing.gates, *others]
    )
    cases = Counter(sample.outcome for result in results for sample in result.samples)
    undecided = sum(len(result.undecided) for result in results)
    unlooked = sum(len(result.for_information) for result in results)
    missing = sum(len(result.complete.missing) for result in results if not result.complete.partial)
    judged = counted(gates.total() - gates["not_set"] - gates["not_evaluated"], "gate")
    parts = [
        f"{counted(cases['error'], 'case')} in error" if cases["error"] else "",
        f"{counted(missing, 'case')} missing" if missing else "",
        f"{counted(len(state.uncollected), 'file')} not collected: {names(state.uncollected)}"
        if state.uncollected
        else "",
        f"a worker died{f' in {names(sorted(state.crashed))}' if state.crashed else ''}"
        if state.lost_worker
        else "",
        f"{counted(gates['error'], 'gate')} in error" if gates["error"] else "",
        f"{gates['failed']} of {judged} failed" if gates["failed"] else "",
        f"{counted(cases['failed'], 'case')} failed" if cases["failed"] else "",
        f"{counted(len(state.others), 'other test')} failed: {names(state.others)}" if state.others else "",
        "a shard: `pytest-mcpeval merge` decides" if shard else "",
        _not_evaluated(results, 0 if shard else gates["not_evaluated"]),
        f"{counted(undecided, 'wrong case')} on which no gate decided" if undecided else "",
        f"{counted(cases['inconclusive'], 'case')} inconclusive" if cases["inconclusive"] else "",
        *(f"{counted(count, 'case')} {label}" for label, count in sorted(_labels(results).items())),
        "" if results else "no suite was collected",
    ]
    if verdict == "passed":
        parts = [
            f"{counted(gates['passed'], 'gate')} passed" if gates["passed"] else "",
            f"{counted(cases['passed'], 'case')} passed" if cases["passed"] else "",
            f"{counted(cases['tolerated'], 'case')} tolerated" if cases["tolerated"] else "",
            f"{counted(unlooked, 'wrong case')} that no gate looks at" if unlooked else "",
        ]
    return ", ".join(part for part in parts if part)


def _labels(results: Sequence[SuiteResult]) -> Counter[str]:
    """Why kinds set cases aside: their words for it."""
    samples = (sample for result in results for sample in result.samples)
    return Counter(sample.label.lower() for sample in samples if sample.outcome == "skipped" and sample.label)


def _not_evaluated(results: Sequence[SuiteResult], gates: int) -> str:
    """What was left out of the suites that are not whole, and that it kept gates from being evaluated."""
    partial = [result.complete for result in results if result.complete.partial]
    total = sum(complete.expected for complete in partial)
    selected = total - sum(complete.deselected for complete in partial)
    measured = sum(complete.measured for complete in partial)
    how = f"stopped after {measured} of {total}" if selected == total else f"{selected} of {total}"
    words = f"{how} cases{'' if selected == total else ' selected'}" if partial else ""
    return ": ".join(filter(None, ["gates were not evaluated" if gates else "", words]))


def _is_undecided(result: SuiteResult) -> bool:
    """Whether the suite was cut down, or a case has no verdict: evidence is missing, no gate decided on it,
    or it was not judged.

    A case that its kind set aside has a label, one that a mark did has none.
    """
    return bool(result.complete.partial or result.undecided) or any(
        sample.outcome == "inconclusive" or (sample.outcome == "skipped" and sample.label)
        for sample in result.samples
    )
