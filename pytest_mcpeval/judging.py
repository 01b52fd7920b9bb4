"""The end of a session: samples → metrics → gates, as plain data for every report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_mcpeval.baseline import write_baseline
from pytest_mcpeval.charts import Chart
from pytest_mcpeval.gates import (
    Completeness,
    GateResult,
    Verdict,
    completeness,
    fail_closed,
    gate_nodeid,
    overall,
)
from pytest_mcpeval.kinds.base import Kind, Suite
from pytest_mcpeval.ledger import Ledger, Selection
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.runtime import Runtime
from pytest_mcpeval.samples import Sample
from pytest_mcpeval.tables import Row, Table

BLESS_GATE = "bless"
ARTIFACTS_GATE = "artifacts"
NOTHING_TO_BLESS = (
    "nothing to bless: no suite of this run names a baseline. Say `baseline: FILE` in the suite or in its "
    "entry in mcpeval.yaml"
)


@dataclass(frozen=True)
class SuiteResult:
    """One suite at the end of a session. ``compared`` is what changed against its baseline."""

    selection: Selection
    complete: Completeness
    samples: Sequence[Sample]
    metrics: Mapping[str, Any]
    run: Mapping[str, Any]
    gates: Sequence[GateResult]
    compared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The suite's path relative to the root directory."""
        return self.selection.suite


@dataclass(frozen=True)
class Evaluation:
    """Everything a report shows. ``notes`` are sentences on what was written.

    ``session_gates`` belong to no suite.
    """

    suites: Sequence[SuiteResult]
    tables: Sequence[Table]
    verdict: Verdict
    notes: Sequence[str] = ()
    session_gates: Sequence[GateResult] = ()
    charts: Sequence[Chart] = ()

    @property
    def gates(self) -> list[GateResult]:
        """All gates, in the order of their suites."""
        return [*(gate for suite in self.suites for gate in suite.gates), *self.session_gates]


@dataclass(frozen=True)
class SessionState:
    """How the session went besides the samples.

    ``stopped``: a person or ``-x`` ended it early. ``failures``: failed reports so far. ``crashed``: node ids
    during which a worker died. ``incidents``: files that could not be collected, and workers that died.
    """

    stopped: bool = False
    failures: int = 0
    crashed: frozenset[str] = frozenset()
    incidents: int = 0


@dataclass(frozen=True)
class Blessing:
    """The suites after an attempt to bless, with what was written, and gates that belong to no suite."""

    suites: Sequence[SuiteResult]
    notes: Sequence[str] = ()
    gates: Sequence[GateResult] = ()


def evaluate(runtime: Runtime, ledger: Ledger, state: SessionState) -> Evaluation:
    """Judge every suite that was collected, and bless baselines when asked to."""
    results = [_result(runtime, ledger, ledger.selections[key], state) for key in sorted(ledger.selections)]
    concluded = _concluded(runtime, results)
    blessing = _blessed(runtime, results, state) if runtime.settings.bless else Blessing(results)
    return Evaluation(
        suites=blessing.suites,
        tables=[
            *(table for kind in runtime.kinds.values() for table in _tables(kind, ledger, results)),
            _repeated(results),
        ],
        verdict=_verdict(blessing, state, concluded.gates),
        notes=[*concluded.notes, *blessing.notes],
        session_gates=[*concluded.gates, *blessing.gates],
        charts=[chart for kind in runtime.kinds.values() for chart in _charts(kind, ledger)],
    )


def _concluded(runtime: Runtime, results: Sequence[SuiteResult]) -> Blessing:
    """What kinds write when a session ends: sentences on it, and gates in error for what was not written."""
    notes: list[str] = []
    gates: list[GateResult] = []
    for result in results:
        try:
            suite = _suite(runtime, result.selection)
            if suite is not None:
                found = runtime.kind(suite.kind).conclude(suite, result.samples)
                notes += [_short(note, runtime) for note in found]
        except OSError as error:
            message = f"what belongs to the whole run cannot be written: {error}"
            gates.append(GateResult(result.key, ARTIFACTS_GATE, "error", message))
        except DataFileError:
            # Told where the file was collected.
            continue
    return Blessing(results, notes, gates)


def _charts(kind: Kind[Any], ledger: Ledger) -> list[Chart]:
    samples = ledger.of_kind(kind.name)
    return kind.charts(samples) if samples else []


def _tables(kind: Kind[Any], ledger: Ledger, results: Sequence[SuiteResult]) -> list[Table]:
    samples = ledger.of_kind(kind.name)
    compared = {
        result.key: result.compared for result in results if result.key in samples and result.compared
    }
    return [
        *(kind.tables(samples) if samples else []),
        *(kind.comparison_tables(compared) if compared else []),
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
        if any(sample.runs for sample in result.samples)
    ]
    return Table("Between runs", ("", "runs", "changed", "share"), tuple(rows))


def _result(runtime: Runtime, ledger: Ledger, selection: Selection, state: SessionState) -> SuiteResult:
    samples = ledger.samples_of(selection)
    kind = runtime.kind(selection.kind)
    complete = completeness(
        selection.expected,
        frozenset(selection.selected),
        {sample.id: sample for sample in samples},
        stopped=state.stopped,
        crashed=frozenset(selection.cases_of(state.crashed)),
    )
    return SuiteResult(
        selection=selection,
        complete=complete,
        samples=samples,
        metrics=kind.measure_over_runs(samples),
        run=kind.measure_run(samples),
        gates=_gates(runtime, selection, samples, complete),
        compared={} if complete.partial else _compared(runtime, selection, samples),
    )


def _compared(runtime: Runtime, selection: Selection, samples: Sequence[Sample]) -> Mapping[str, Any]:
    try:
        suite = _suite(runtime, selection)
        return {} if suite is None else runtime.kind(selection.kind).compare(suite, samples)
    except DataFileError:
        # A gate in error tells of it.
        return {}


def _gates(
    runtime: Runtime, selection: Selection, samples: Sequence[Sample], complete: Completeness
) -> list[GateResult]:
    try:
        suite = _suite(runtime, selection)
        if suite is None:
            return []
        kind = runtime.kind(selection.kind)
        if complete.partial:
            gates = [GateResult(suite.key, name, "not_evaluated", "") for name in kind.gate_names(suite)]
        else:
            gates = kind.gates(suite, samples, blessing=runtime.settings.bless)
    except DataFileError as error:
        gates = [GateResult(selection.suite, "baseline", "error", runtime.described(error))]
    return [_with_short_paths(gate, runtime) for gate in fail_closed(gates, complete)]


def _with_short_paths(gate: GateResult, runtime: Runtime) -> GateResult:
    """Paths below the root directory relative to it, as everywhere in pytest's output."""
    return replace(gate, message=_short(gate.message, runtime))


def _short(text: str, runtime: Runtime) -> str:
    return text.replace(f"{runtime.settings.rootdir}{os.sep}", "")


def _suite(runtime: Runtime, selection: Selection) -> Suite[Any] | None:
    return None if selection.path is None else runtime.suite(Path(selection.path))


def _verdict(blessing: Blessing, state: SessionState, others: Sequence[GateResult]) -> Verdict:
    results = blessing.suites
    outcomes = {sample.outcome for result in results for sample in result.samples}
    missing = any(result.complete.missing and not result.complete.partial for result in results)
    return overall(
        [*(gate for result in results for gate in result.gates), *blessing.gates, *others],
        failed=bool(state.failures) or "failed" in outcomes or missing,
        errors="error" in outcomes or bool(state.incidents),
        partial=not results or any(map(_is_undecided, results)),
    )


def _is_undecided(result: SuiteResult) -> bool:
    """Whether the suite was cut down, or a case has no verdict: evidence is missing, or it was not judged.

    A case that its kind set aside has a label, one that a mark did has none.
    """
    return result.complete.partial or any(
        sample.outcome == "inconclusive" or (sample.outcome == "skipped" and sample.label)
        for sample in result.samples
    )


def _blessed(runtime: Runtime, results: Sequence[SuiteResult], state: SessionState) -> Blessing:
    """Write every baseline, or none: a refusal is a failed gate of each suite that has one."""
    new = {result.key: found for result in results if (found := _new_baseline(runtime, result)) is not None}
    if not new:
        return Blessing(results, gates=[GateResult("mcpeval", BLESS_GATE, "failed", NOTHING_TO_BLESS)])
    if refusal := _refusal(results, state) or _shared_path(runtime, new):
        message = f"refused to write {{path}}: {refusal}"
        return Blessing([_refused(result, new.get(result.key), message) for result in results])
    try:
        return Blessing(results, [_written(runtime, *found) for found in new.values()])
    except OSError as error:
        return Blessing(results, gates=[GateResult("mcpeval", BLESS_GATE, "error", f"cannot write: {error}")])


def _shared_path(runtime: Runtime, new: Mapping[str, tuple[Path, Suite[Any], Mapping[str, Any]]]) -> str:
    """Which suites name the same file, so that one would overwrite the other; or an empty text."""
    owners: dict[Path, str] = {}
    for key, (path, _, _) in new.items():
        if path in owners:
            suites = f"{owners[path]} and {key}"
            return f"{suites} name the same file {runtime.key(path)}; give each a `baseline:` of its own"
        owners[path] = key
    return ""


def _written(runtime: Runtime, path: Path, suite: Suite[Any], content: Mapping[str, Any]) -> str:
    write_baseline(path, suite, content)
    return f"blessed {runtime.key(path)} ({len(content['cases'])} cases)"


def _new_baseline(runtime: Runtime, result: SuiteResult) -> tuple[Path, Suite[Any], Mapping[str, Any]] | None:
    suite = _suite(runtime, result.selection)
    found = None if suite is None else runtime.kind(suite.kind).baseline(suite, result.samples)
    return None if suite is None or found is None else (found[0], suite, found[1])


def _refusal(results: Sequence[SuiteResult], state: SessionState) -> str:
    """Why the run is not fit to be blessed, or an empty text."""
    if state.stopped:
        return "the run was stopped early"
    partial = [result.key for result in results if result.complete.deselected]
    if partial:
        return f"the run is filtered: not all cases of {', '.join(partial)} were selected"
    if state.incidents:
        return "the run is incomplete: a file could not be collected, or a worker died"
    lacking = [result.key for result in results if not result.complete.whole]
    if lacking:
        return f"the run is incomplete: cases of {', '.join(lacking)} are missing or in error"
    gates = [gate for result in results for gate in result.gates if gate.verdict not in ("passed", "not_set")]
    if state.failures or gates:
        red = [gate_nodeid(gate) for gate in gates]
        return "the run is red" + (f": {', '.join(red)}" if red else f": {state.failures} failed")
    return ""


def _refused(
    result: SuiteResult, new: tuple[Path, Suite[Any], Mapping[str, Any]] | None, message: str
) -> SuiteResult:
    if new is None:
        return result
    gate = GateResult(result.key, BLESS_GATE, "failed", message.format(path=new[0].name))
    return replace(result, gates=[*result.gates, gate])
