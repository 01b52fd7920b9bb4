"""Blessing: writes all new baselines if the whole run qualifies, else none."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.baseline import write_baseline
from pytest_mcpeval.core.evaluation import SuiteResult
from pytest_mcpeval.core.gate import GateResult, gate_nodeid, names
from pytest_mcpeval.core.judging_input import SessionState, SuiteRun
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.loading import DataFileError, load

BLESS_GATE = "bless"
NOTHING_TO_BLESS = (
    "nothing to bless: no suite of this run names a baseline. Say `baseline: FILE` in the suite or in its "
    "entry in mcpeval.yaml"
)
NO_SUITE = (
    "nothing to bless: no suite was run. Data files lie below `datasets/`, are named in an entry of a "
    "mcpeval.yaml, or are given on the command line"
)


@dataclass(frozen=True)
class NewBaseline:
    """A new baseline and its path; ``name`` is the path as shown."""

    kind: Kind[Any]
    suite: Suite[Any]
    path: Path
    name: str
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Blessing:
    """The suites after an attempt to bless, with what was written, and gates that belong to no suite."""

    suites: Sequence[SuiteResult]
    notes: Sequence[str] = ()
    gates: Sequence[GateResult] = ()


def write_baselines(
    suites: Sequence[SuiteRun], results: Sequence[SuiteResult], state: SessionState, root: Path
) -> Blessing:
    """Write every baseline, or none: a refusal is a failed gate of each suite that has one.

    ``suites`` and ``results`` are in the same order; messages show paths relative to ``root``.
    """
    new = {}
    for one, result in zip(suites, results, strict=True):
        found = None if one.suite is None else one.kind.baseline(one.suite, result.samples)
        if one.suite is not None and found is not None:
            name = Path(os.path.relpath(found[0], root)).as_posix()
            new[result.key] = NewBaseline(one.kind, one.suite, found[0], name, found[1])
    if not new:
        message = NOTHING_TO_BLESS if results or state.has_incidents else NO_SUITE
        return Blessing(results, gates=[GateResult("mcpeval", BLESS_GATE, "failed", message)])
    aside = [result for result in results if result.key in new and result.complete.set_aside]
    if refusal := _refusal(results, state) or _set_aside(aside) or _shared_path(new) or _foreign(new):
        refused = []
        for result in results:
            if (baseline := new.get(result.key)) is not None:
                message = f"refused to write {baseline.path.name}: {refusal}"
                gate = GateResult(result.key, BLESS_GATE, "failed", message)
                result = replace(result, gates=[*result.gates, gate])
            refused.append(result)
        return Blessing(refused)
    try:
        notes = []
        for baseline in new.values():
            kept = write_baseline(baseline.path, baseline.suite, baseline.content)
            others = f"; {', '.join(kept)} kept" if kept else ""
            notes.append(f"blessed {baseline.name} ({len(baseline.content['cases'])} cases{others})")
        return Blessing(results, notes)
    except OSError as error:
        return Blessing(results, gates=[GateResult("mcpeval", BLESS_GATE, "error", f"cannot write: {error}")])


def _set_aside(results: Sequence[SuiteResult]) -> str:
    """Return a refusal if cases were skipped or xfailed, so they have no values; or an empty text."""
    found = [f"{result.key} ({names(result.complete.set_aside)})" for result in results]
    if not found:
        return ""
    return f"cases of {', '.join(found)} were skipped or xfailed: remove the marks or the cases"


def _foreign(new: Mapping[str, NewBaseline]) -> str:
    """Return a refusal if a file would be lost that is not a baseline of the suite; or an empty text."""
    for one in new.values():
        if one.path.exists() and (found := _otherwise(one)):
            return (
                f"{one.name} exists and {found}, so it would be lost: name another file with "
                "`baseline:`, or remove it"
            )
    return ""


def _otherwise(new: NewBaseline) -> str:
    """Return what an existing file is if it is not a baseline that may be replaced; or an empty text."""
    try:
        data = load(new.path).data
    except (DataFileError, OSError):
        return "cannot be read as a baseline"
    if not new.kind.is_baseline(data):
        return "is not a baseline"
    of = data.get("of", new.kind.name)
    return "" if of == new.kind.name else f"is a baseline of a {of} suite"


def _shared_path(new: Mapping[str, NewBaseline]) -> str:
    """Return a refusal if suites name the same file, so one would overwrite the other; or an empty text."""
    owners: dict[Path, str] = {}
    for key, one in new.items():
        if one.path in owners:
            suites = f"{owners[one.path]} and {key}"
            return f"{suites} name the same file {one.name}; give each its own `baseline:`"
        owners[one.path] = key
    return ""


def _refusal(results: Sequence[SuiteResult], state: SessionState) -> str:
    """Return why the run cannot be blessed, or an empty text."""
    if state.stopped:
        return "the run was stopped early"
    partial = [result.key for result in results if result.complete.deselected]
    if partial:
        return f"the run is filtered: not all cases of {', '.join(partial)} were selected"
    if state.exit_status:
        return f"the run is red: a part of it has the exit status {state.exit_status}"
    if state.has_incidents:
        return "the run is incomplete: a file could not be collected, or a worker died"
    lacking = [result.key for result in results if not result.complete.whole]
    if lacking:
        return f"the run is incomplete: cases of {', '.join(lacking)} are missing or in error"
    gates = [gate for result in results for gate in result.gates if gate.verdict not in ("passed", "not_set")]
    if state.failures or gates:
        red = [gate_nodeid(gate) for gate in gates]
        return "the run is red" + (f": {', '.join(red)}" if red else f": {state.failures} failed")
    return ""
