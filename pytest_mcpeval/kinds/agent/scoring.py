"""Captured evidence → the outcomes of a case, and the roll-up over the cases of an agent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pytest_mcpeval.kinds.agent.assertions import ASSERTIONS
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome
from pytest_mcpeval.kinds.agent.recovery import recovery
from pytest_mcpeval.kinds.agent.schema import AgentCase, Observability

SCORE_VERSION = 1
STATUSES = ("passed", "failed", "inconclusive")

CaseOutcome = Literal["passed", "failed", "inconclusive", "error"]


@dataclass(frozen=True)
class CaseScore:
    """The outcomes of one case, in the order of the kinds of assertion.

    ``error`` says why it could not be captured; then there are no outcomes.
    """

    agent: str
    case_id: str
    outcomes: tuple[AssertionOutcome, ...]
    error: str | None = None

    @property
    def outcome(self) -> CaseOutcome:
        """Failed when any assertion failed, passed when all passed, inconclusive otherwise."""
        found = {outcome.status for outcome in self.outcomes}
        if self.error is not None:
            return "error"
        if "failed" in found:
            return "failed"
        return "inconclusive" if "inconclusive" in found else "passed"

    def as_data(self) -> dict[str, Any]:
        """The content of ``score.json`` of a case. Paths are relative to the folder it lies in."""
        return {
            "version": SCORE_VERSION,
            "agent_name": self.agent,
            "case_id": self.case_id,
            "case_dir": ".",
            **self._body(),
        }

    def _body(self) -> dict[str, Any]:
        listed = [outcome.as_data() for outcome in self.outcomes]
        body = {"outcome": self.outcome, **totals_of(listed), "outcomes": listed}
        return body if self.error is None else {**body, "error": self.error}


def score_case(agent: str, case: AgentCase, captured: Captured, observability: Observability) -> CaseScore:
    """Evaluate every assertion of a case on what was captured."""
    outcomes = [outcome for evaluate in ASSERTIONS.values() for outcome in evaluate(case, captured)]
    return CaseScore(agent, case.id, tuple(_with_recovery(outcome, observability) for outcome in outcomes))


def _with_recovery(outcome: AssertionOutcome, observability: Observability) -> AssertionOutcome:
    if outcome.reason is None:
        return outcome
    return replace(outcome, recovery=recovery(outcome.reason, observability))


def totals_of(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many outcomes there are, and of each status."""
    statuses = [outcome["outcome"] for outcome in outcomes]
    return {"total": len(statuses), **{status: statuses.count(status) for status in STATUSES}}


def agent_score(
    agent: str,
    run_id: str,
    cases: Sequence[Mapping[str, Any]],
    *,
    not_scored: Sequence[str] = (),
    others_failed: Sequence[str] = (),
) -> dict[str, Any]:
    """The content of ``score.json`` of an agent, from those of its cases. Paths are relative to it.

    ``not_scored`` are its other cases, which did not run or were only captured: no total counts them.
    ``others_failed`` is what failed in the session besides cases.
    """
    rows = [
        {"case_id": case["case_id"], "case_dir": case["case_id"], **_without_head(case)} for case in cases
    ]
    outcomes = [outcome for row in rows for outcome in row["outcomes"]]
    by_case = [row["outcome"] for row in rows]
    return {
        "version": SCORE_VERSION,
        "agent_name": agent,
        "run_id": run_id,
        "cases_total": len(rows),
        **{f"cases_{status}": by_case.count(status) for status in (*STATUSES, "error")},
        **totals_of(outcomes),
        "by_assertion_kind": by_assertion_kind(outcomes),
        "by_target": by_target(outcomes),
        "cases": rows,
        "not_scored": [*not_scored],
        **({"others_failed": [*others_failed]} if others_failed else {}),
    }


def _without_head(case: Mapping[str, Any]) -> dict[str, Any]:
    head = ("version", "agent_name", "case_id", "case_dir")
    return {key: value for key, value in case.items() if key not in head}


def by_assertion_kind(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Totals for every kind of assertion that occurs, in the order of the kinds."""
    groups = {kind: [one for one in outcomes if one["assertion_kind"] == kind] for kind in ASSERTIONS}
    return {kind: totals_of(group) for kind, group in groups.items() if group}


def by_target(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Totals for every tool and agent that an assertion is about, by name."""
    targets = sorted({one["target"] for one in outcomes if one["target"] is not None})
    return {target: totals_of([one for one in outcomes if one["target"] == target]) for target in targets}
