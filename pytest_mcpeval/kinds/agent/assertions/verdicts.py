"""The three ways an assertion can end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome, Evidence, Reason


@dataclass(frozen=True)
class Judged:
    """The assertion to judge: its kind, the tool or agent it is about, and what it expects."""

    kind: str
    target: str | None
    expected: Any


def passed(judged: Judged, message: str, evidence: Evidence) -> AssertionOutcome:
    """It holds."""
    return AssertionOutcome(judged.kind, judged.target, "passed", judged.expected, message, evidence=evidence)


def failed(judged: Judged, message: str, observed: Any, evidence: Evidence) -> AssertionOutcome:
    """It does not."""
    return AssertionOutcome(
        judged.kind, judged.target, "failed", judged.expected, message, observed, evidence
    )


def decided(judged: Judged, holds: bool, message: str, observed: Any, evidence: Evidence) -> AssertionOutcome:
    """It holds, or it does not."""
    return passed(judged, message, evidence) if holds else failed(judged, message, observed, evidence)


def bounded(
    judged: Judged, holds: bool, message: str, observed: Any, evidence: Evidence, doubt: Reason | None
) -> AssertionOutcome:
    """Return the verdict of a limit, which passes only with complete evidence."""
    if holds and doubt is not None:
        both = replace(doubt, message=f"{message}, but the evidence may be incomplete: {doubt.message}")
        return inconclusive(judged, both)
    return decided(judged, holds, message, observed, evidence)


def inconclusive(judged: Judged, reason: Reason) -> AssertionOutcome:
    """Return an inconclusive outcome; `scoring` adds how to resolve it."""
    return AssertionOutcome(
        judged.kind, judged.target, "inconclusive", judged.expected, reason.message, reason=reason
    )
