"""What became of every assertion since an earlier run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.sample import Check, Sample
from pytest_mcpeval.kinds.agent.outcomes import rule_of
from pytest_mcpeval.kinds.agent.scoring import CaseRow

Transition = Literal[
    "newly_passing",
    "newly_failing",
    "turned_out_failing",
    "newly_inconclusive",
    "introduced",
    "removed",
    "unchanged",
]
TRANSITIONS: tuple[Transition, ...] = get_args(Transition)

NOW: Mapping[str, Transition] = {
    "passed": "newly_passing",
    "failed": "newly_failing",
    "inconclusive": "newly_inconclusive",
}

Key = tuple[str, str]
"""Case id, and the digest of the assertion."""


def transitions(samples: Sequence[Sample], old: Iterable[CaseRow]) -> dict[str, Any]:
    """``counts`` of every kind of transition, and ``changed``: all but the unchanged, in order.

    An assertion is the same when its kind, target and what it expects are; one that was edited is a removed
    and an introduced one. Cases without outcomes, because they could not be captured, say nothing and are
    left out of both sides.
    """
    rows = {row.case_id: row for row in old if row.outcome != "error"}
    errors = {sample.id for sample in samples if not sample.checks}
    was = {key: found for row in rows.values() if row.case_id not in errors for key, found in _old(row)}
    now = {(one.id, digest_of(check.rule)): check for one in samples for check in one.checks}
    listed = [
        _entry(key[0], check, was[key][1] if key in was else None, check.status) for key, check in now.items()
    ]
    listed += [
        {"case": key[0], **rule, "transition": "removed", "was": status, "is": None}
        for key, (rule, status) in was.items()
        if key not in now
    ]
    counts = {name: sum(entry["transition"] == name for entry in listed) for name in TRANSITIONS}
    return {"counts": counts, "changed": [entry for entry in listed if entry["transition"] != "unchanged"]}


def _entry(case: str, check: Check, was: str | None, now: str) -> dict[str, Any]:
    transition: Transition = "introduced" if was is None else "unchanged" if was == now else NOW[now]
    if (was, now) == ("inconclusive", "failed"):
        # It is not known whether it passed before: it may always have failed.
        transition = "turned_out_failing"
    return {"case": case, **check.rule, "transition": transition, "was": was, "is": now}


def _old(row: CaseRow) -> Iterable[tuple[Key, tuple[Mapping[str, Any], str]]]:
    for outcome in row.outcomes:
        rule = rule_of(outcome.assertion_kind, outcome.target, outcome.expected)
        yield (row.case_id, digest_of(rule)), (rule, outcome.status)


def named(entry: Mapping[str, Any]) -> str:
    """One transition for people: ``case must_call search``."""
    target = f" {entry['target']}" if entry.get("target") else ""
    return f"{entry['case']} {entry['type']}{target}"
