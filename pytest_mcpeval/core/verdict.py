"""The verdict of a run, and its reason in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_mcpeval.core.bless import Blessing
from pytest_mcpeval.core.evaluation import SuiteResult
from pytest_mcpeval.core.gate import GateResult, Verdict, names
from pytest_mcpeval.core.judging_input import SessionState
from pytest_mcpeval.loading.messages import counted


def verdict_of(
    blessing: Blessing, state: SessionState, others: Sequence[GateResult], *, shard: bool
) -> Verdict:
    """The verdict of a run: the worst of its parts. ``others`` are gates that belong to no suite."""
    results = blessing.suites
    outcomes = {sample.outcome for result in results for sample in result.samples}
    missing = any(result.complete.missing and not result.complete.partial for result in results)
    return overall(
        [*(gate for result in results for gate in result.gates), *blessing.gates, *others],
        failed=bool(state.failures) or "failed" in outcomes or missing,
        errors="error" in outcomes or state.has_incidents,
        partial=shard or not results or any(map(_is_undecided, results)),
    )


def reason_of(
    verdict: Verdict, blessing: Blessing, state: SessionState, others: Sequence[GateResult], *, shard: bool
) -> str:
    """Why a run has its verdict, the weightiest first: what is wrong with it, else what passed."""
    results = blessing.suites
    gates = Counter(
        gate.verdict
        for gate in [*(gate for result in results for gate in result.gates), *blessing.gates, *others]
    )
    cases = Counter(sample.outcome for result in results for sample in result.samples)
    set_aside = Counter(
        sample.label.lower()
        for result in results
        for sample in result.samples
        if sample.outcome == "skipped" and sample.label
    )
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
        exit_status_words(state.exit_status) if state.exit_status else "",
        f"{counted(gates['error'], 'gate')} in error" if gates["error"] else "",
        f"{gates['failed']} of {judged} failed" if gates["failed"] else "",
        f"{counted(cases['failed'], 'case')} failed" if cases["failed"] else "",
        f"{counted(len(state.others), 'other test')} failed: {names(state.others)}" if state.others else "",
        "a shard: `pytest-mcpeval merge` decides" if shard else "",
        _not_evaluated(results, 0 if shard else gates["not_evaluated"]),
        f"{counted(undecided, 'wrong case')} on which no gate decided" if undecided else "",
        f"{counted(cases['inconclusive'], 'case')} inconclusive" if cases["inconclusive"] else "",
        *(f"{counted(count, 'case')} {label}" for label, count in sorted(set_aside.items())),
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


def exit_status_words(status: int) -> str:
    """Why a session did not pass whose tests did."""
    return f"exit status {status}, which a conftest.py, a plugin or pytest itself gave the session"


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

    A case skipped by its kind has a label; one skipped by a mark has none.
    """
    return bool(result.complete.partial or result.undecided) or any(
        sample.outcome == "inconclusive" or (sample.outcome == "skipped" and sample.label)
        for sample in result.samples
    )


def overall(gates: Iterable[GateResult], *, failed: bool, errors: bool, partial: bool) -> Verdict:
    """The verdict of a whole run: the worst of its parts."""
    verdicts = {gate.verdict for gate in gates}
    if errors or "error" in verdicts:
        return "error"
    if failed or "failed" in verdicts:
        return "failed"
    if partial or "not_evaluated" in verdicts:
        return "not_evaluated"
    return "passed"
