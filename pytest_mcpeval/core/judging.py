"""The end of a session: samples → metrics → gates → an evaluation, as plain data for every report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pytest_mcpeval.core.bless import Blessing, write_baselines
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.charts import Chart
from pytest_mcpeval.core.error_gates import ErrorGates, relative_paths
from pytest_mcpeval.core.evaluation import Evaluation, SuiteResult
from pytest_mcpeval.core.gate import Completeness, GateResult, completeness, fail_closed
from pytest_mcpeval.core.headline import Headline
from pytest_mcpeval.core.judging_input import SessionState, SuiteRun
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.sample import NOT_PASSED, Outcome, Sample
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.core.tables import Row, Table
from pytest_mcpeval.core.verdict import reason_of, verdict_of
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import visible

Found = TypeVar("Found")

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
    pairs = list(zip(suites, results, strict=True))
    errors = ErrorGates(root)
    notes: list[str] = []
    others_failed = [redactor.text(test) for test in state.others]
    for one, result in pairs:
        if one.suite is not None and not is_merged:
            finalize = one.kind.finalize
            notes += errors.call(
                result.key, [], finalize, one.suite, result.samples, others_failed=others_failed
            )
    blessing = Blessing(results)
    if bless:
        blessing = errors.call("mcpeval", blessing, write_baselines, suites, results, state, root)
    tables: list[Table] = []
    charts: list[Chart] = []
    totals: dict[str, Any] = {}
    totals_of_run: dict[str, Any] = {}
    for kind in kinds:
        name, of_kind = kind.name, [pair for pair in pairs if pair[0].kind is kind]
        counting = {one.key: _all_samples(run, one.samples, one.complete) for run, one in of_kind}
        measured = {key: samples for key, samples in counting.items() if samples}
        compared = {one.key: one.compared for _, one in of_kind if one.key in measured and one.compared}
        if measured:
            tables += errors.call(name, list[Table](), kind.tables, measured)
        if compared:
            tables += errors.call(name, list[Table](), kind.comparison_tables, compared)
        if came_back := {run.selection.suite: run.samples for run, _ in of_kind if run.samples}:
            charts += errors.call(name, list[Chart](), kind.charts, came_back)
        everything = [sample for samples in counting.values() for sample in samples]
        totals[name] = errors.call(name, {}, _json_of, kind.totals, everything)
        totals_of_run[name] = errors.call(name, {}, _json_of, kind.totals_of_run, everything)
    verdict = verdict_of(blessing, state, errors.gates, shard=shard)
    return Evaluation(
        suites=blessing.suites,
        tables=[*tables, _table_of_runs(results)],
        verdict=verdict,
        reason=reason_of(verdict, blessing, state, errors.gates, shard=shard),
        notes=[*notes, *_notes_for_information(blessing.suites), *blessing.notes],
        session_gates=[*errors.gates, *blessing.gates],
        charts=charts,
        totals=totals,
        totals_of_run=totals_of_run,
    )


def _result(one: SuiteRun, state: SessionState, root: Path, *, bless: bool, shard: bool) -> SuiteResult:
    """One suite, judged."""
    selection, kind, samples = one.selection, one.kind, one.samples
    complete = completeness(
        selection.expected,
        frozenset(selection.selected),
        {sample.id: sample for sample in samples},
        stopped=state.stopped,
        crashed=frozenset(selection.cases_of(state.crashed)),
    )
    errors, key = ErrorGates(root), selection.suite
    gates = errors.call(key, list[GateResult](), _gates, one, complete, root, bless=bless, shard=shard)
    samples = errors.call(key, samples, _tolerated, one, gates)
    gates = errors.call(key, gates, _with_cases, one, samples, gates)
    for_information = errors.call(key, list[str](), _for_information, one, samples, gates)
    everything = _all_samples(one, samples, complete)
    metrics: Mapping[str, Any] = errors.call(key, {}, _json_of, kind.measure_over_runs, everything)
    compared: Mapping[str, Any] = (
        {} if complete.partial else errors.call(key, {}, _json_of, _compared, one, samples)
    )
    return SuiteResult(
        selection=selection,
        complete=complete,
        samples=samples,
        metrics=metrics,
        run=errors.call(key, {}, _json_of, kind.measure_run, samples),
        compared=compared,
        headlines=errors.call(key, list[Headline](), kind.headlines, one.suite, everything, metrics, compared)
        if everything and metrics
        else (),
        attachments={
            sample.id: errors.call(key, [], kind.attachments, sample)
            for sample in samples
            if sample.outcome in NOT_PASSED
        },
        for_information=for_information,
        lines={} if one.suite is None else {case.id: case.line for case in one.suite.cases},
        # Last, when everything that may raise has been called.
        gates=[*gates, *errors.gates],
    )


def _gates(
    one: SuiteRun, complete: Completeness, root: Path, *, bless: bool, shard: bool
) -> list[GateResult]:
    """Return the gates of a suite, each adjusted to the completeness of the cases it is judged on."""
    kind, suite = one.kind, one.suite
    found: list[GateResult] = []
    try:
        if one.problem is not None:
            raise one.problem
        if suite is None:
            return []
        if complete.partial or shard:
            names = kind.gate_names(suite)
            gates = [GateResult(suite.key, name, "not_evaluated", SHARD_REASON) for name in names]
        else:
            gates = kind.gates(suite, one.samples, blessing=bless)
        for gate in gates:
            cases = None if complete.partial else kind.cases_of_gate(suite, gate.name)
            found += fail_closed([gate], complete if cases is None else complete.among(cases))
    except DataFileError as error:
        broken = GateResult(one.selection.suite, "baseline", "error", visible(str(error.relative_to(root))))
        found = fail_closed([broken], complete)
    return [replace(gate, message=relative_paths(gate.message, root)) for gate in found]


def _tolerated(one: SuiteRun, gates: Sequence[GateResult]) -> list[Sample]:
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


def _with_cases(one: SuiteRun, samples: Sequence[Sample], gates: Sequence[GateResult]) -> list[GateResult]:
    """The gates; those that failed name the cases that did it, if their message does not."""
    suite = one.suite
    wrong = [sample for sample in samples if sample.outcome in ("failed", "wrong", "tolerated")]

    def with_cases(gate: GateResult) -> GateResult:
        if suite is None or gate.verdict != "failed" or any(sample.id in gate.message for sample in wrong):
            return gate
        own = tuple(sample.id for sample in wrong if one.kind.decides(suite, gate.name, sample))
        return replace(gate, cases=own)

    return [with_cases(gate) for gate in gates]


def _for_information(one: SuiteRun, samples: Sequence[Sample], gates: Sequence[GateResult]) -> list[str]:
    """Return the wrong cases that no gate looks at, if another gate on the same target was evaluated."""
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


def _all_samples(one: SuiteRun, samples: Sequence[Sample], complete: Completeness) -> Sequence[Sample]:
    """Return the samples, and one in error for each selected case without a result."""
    suite = one.suite
    if complete.partial or not complete.missing or suite is None:
        return samples
    found = {sample.id: sample for sample in samples}
    missing = frozenset(complete.missing)
    message = "the case was selected but has no result"
    return [
        found.get(case.id) or unasked(one.kind, suite, case, "error", message)
        for case in suite.cases
        if case.id in found or case.id in missing
    ]


def unasked(
    kind: Kind[Any], suite: Suite[Any], case: Case[Any], outcome: Outcome, message: str, cause: str = ""
) -> Sample:
    """Return the sample of a case without an answer, with what metrics need to count it."""
    measured: Mapping[str, Any] = {}
    with suppress(Exception):  # An exception of the kind here must not hide why the case was not asked.
        measured = kind.asked_of(suite, case)
    traits = dict(case.traits)
    return Sample(
        suite.key, kind.name, case.id, outcome, (), message, traits=traits, measured=measured, cause=cause
    )


def _compared(one: SuiteRun, samples: Sequence[Sample]) -> Mapping[str, Any]:
    if one.suite is not None:
        with suppress(DataFileError):  # A gate in error shows it.
            return one.kind.compare(one.suite, samples)
    return {}


def _json_of(function: Callable[..., Found], *args: Any) -> Found:
    """Return the result of a function, which must be JSON data for the report.

    Raises:
        TypeError: It is not JSON data.
    """
    found = function(*args)
    json.dumps(found)
    return found


def _table_of_runs(results: Sequence[SuiteResult]) -> Table:
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


def _notes_for_information(results: Sequence[SuiteResult]) -> list[str]:
    """A sentence for each suite with wrong cases that no gate looks at."""
    return [
        f"{result.key}: no gate looks at {counted(len(result.for_information), 'wrong case')} "
        f"({', '.join(sorted(labels))}): shown for information only"
        for result in results
        if (
            labels := {
                f"{sample.label or 'WRONG'} of {sample.traits.get('detector', result.selection.kind)}"
                for sample in result.samples
                if sample.id in result.for_information
            }
        )
    ]
