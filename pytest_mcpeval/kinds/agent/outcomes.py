"""The outcome of an assertion: passed, failed or inconclusive, with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_mcpeval.core.sample import Check, CheckStatus

ReasonKind = Literal[
    "DOMSnapshotMissing",
    "DOMSnapshotTooLarge",
    "DOMSnapshotUnreadable",
    "ObservabilityLogMissing",
    "ObservabilityLogMalformed",
    "ArgumentsNotCaptured",
    "GenerationFieldMissing",
    "EvidenceIncomplete",
]


@dataclass(frozen=True)
class Evidence:
    """A captured file, relative to the folder of the case, and the place in it."""

    artifact_path: str
    detail: str


@dataclass(frozen=True)
class Reason:
    """Which evidence is missing, and where it was expected."""

    kind: ReasonKind
    message: str
    expected_artifact_path: str


@dataclass(frozen=True)
class AssertionOutcome:
    """One assertion, evaluated.

    ``target`` is the tool or agent it is about, None for those about the whole case. ``expected`` is what was
    asserted, ``observed`` what the evidence shows; ``message`` says it in a sentence. ``evidence`` is given
    for passed and failed ones, ``reason`` and ``recovery`` (numbered steps) for inconclusive ones.
    """

    assertion_kind: str
    target: str | None
    status: Annotated[CheckStatus, Field(validation_alias="outcome")]
    expected: Any
    message: str
    observed: Any = None
    evidence: Evidence | None = None
    reason: Reason | None = None
    recovery: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.evidence is None and self.status != "inconclusive":
            raise ValueError(f"{self.status} without `evidence`: the evidence is missing")

    def as_data(self) -> dict[str, Any]:
        """The outcome as it stands in ``score.json``."""
        found: dict[str, Any] = {
            "assertion_kind": self.assertion_kind,
            "target": self.target,
            "outcome": self.status,
            "expected": self.expected,
            "message": self.message,
        }
        if self.evidence is not None:
            found["evidence"] = dict(vars(self.evidence))
        if self.status == "failed":
            found["observed"] = self.observed
        if self.reason is not None:
            found["reason"] = dict(vars(self.reason))
            found["recovery"] = list(self.recovery)
        return found

    def as_check(self) -> Check:
        """The outcome as a check of a sample: what is asserted and what became of it."""
        rule = rule_of(self.assertion_kind, self.target, self.expected)
        details = None if self.reason is None else {"reason": self.reason.kind}
        timed = self.assertion_kind == "max_latency_ms"
        return Check(rule, self.status, self.message, details, timed=timed)


def rule_of(kind: str, target: str | None, expected: Any) -> Mapping[str, Any]:
    """An assertion as plain data; two with the same rule are the same assertion."""
    return {"type": kind, **({} if target is None else {"target": target}), "expected": expected}
