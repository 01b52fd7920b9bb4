"""The gates of an agent: pass rate, missing evidence, and newly failing assertions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mcpeval.core.gate import SLACK, GateResult, Verdict, figure, names, switched_off
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.agent.metrics import pass_rate, without_set_aside
from pytest_mcpeval.kinds.agent.settings import GatesModel
from pytest_mcpeval.kinds.agent.transitions import named
from pytest_mcpeval.loading.messages import counted

PASS_RATE, MAX_INCONCLUSIVE, NEWLY_FAILING = "pass_rate", "max_inconclusive", "newly_failing"


def gate_names(gates: GatesModel, *, has_baseline: bool) -> list[str]:
    """The gates of an agent, in the order they are reported."""
    given = {
        PASS_RATE: gates.pass_rate is not None,
        MAX_INCONCLUSIVE: gates.max_inconclusive is not None,
        NEWLY_FAILING: has_baseline and gates.newly_failing is not None,
    }
    return [name for name, is_given in given.items() if is_given]


def judge_gates(
    suite: str, gates: GatesModel, samples: Sequence[Sample], compared: Mapping[str, Any] | None
) -> list[GateResult]:
    """Every gate, judged; ``compared`` are the transitions since an earlier run, None without one."""
    kept = without_set_aside(samples)
    found = []
    if gates.pass_rate is not None:
        found.append(_pass_rate(suite, kept, gates.pass_rate))
    if gates.max_inconclusive is not None:
        found.append(_max_inconclusive(suite, kept, gates.max_inconclusive))
    if compared is not None and gates.newly_failing is not None:
        found.append(_newly_failing(suite, compared, gates.newly_failing))
    off = [name for name in sorted(gates.model_fields_set) if getattr(gates, name) is None]
    return [*found, *(switched_off(suite, name, f"{name}: null") for name in off)]


def _pass_rate(suite: str, kept: Sequence[Sample], limit: float) -> GateResult:
    value = pass_rate(kept)
    wrong = [sample.id for sample in kept if sample.outcome != "passed"]
    share = f"{len(kept) - len(wrong)} of {len(kept)} cases passed ({figure((value or 0) * 100)} %)"
    listed = f"; not passed: {names(wrong)}" if wrong else ""
    message = f"{share}, wanted at least {figure(limit * 100)} %{listed}"
    holds = value is not None and value >= limit - SLACK
    return GateResult(suite, PASS_RATE, _verdict(holds), message, value, None, limit, wanted="at least")


def _max_inconclusive(suite: str, kept: Sequence[Sample], limit: int) -> GateResult:
    open_ = [sample.id for sample in kept for check in sample.checks if check.status == "inconclusive"]
    listed = f": {names(list(dict.fromkeys(open_)))}" if open_ else ""
    message = f"{counted(len(open_), 'inconclusive assertion')}, at most {limit} may be{listed}"
    return GateResult(
        suite, MAX_INCONCLUSIVE, _verdict(len(open_) <= limit), message, float(len(open_)), None, float(limit)
    )


def _newly_failing(suite: str, compared: Mapping[str, Any], limit: int) -> GateResult:
    found = [entry for entry in compared["changed"] if entry["transition"] == "newly_failing"]
    counts = compared["counts"]
    changes = ", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in counts)
    listed = f"; newly failing: {names([named(entry) for entry in found])}" if found else ""
    message = f"{changes}; at most {limit} may newly fail{listed}"
    return GateResult(
        suite, NEWLY_FAILING, _verdict(len(found) <= limit), message, float(len(found)), 0.0, float(limit)
    )


def _verdict(holds: bool) -> Verdict:
    return "passed" if holds else "failed"
