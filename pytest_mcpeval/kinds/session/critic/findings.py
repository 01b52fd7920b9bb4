"""What a critic finds: severity, dimension, whom it concerns, and the calls that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pytest_mcpeval.text.visible import visible

Severity = Literal["Critical", "Major", "Minor", "Suggestion"]
Dimension = Literal["glue_code", "redundant_calls", "response_shape", "parameter_inference", "cross_mcp"]

SEVERITIES: tuple[Severity, ...] = ("Critical", "Major", "Minor", "Suggestion")
"""The worst first."""

DIMENSIONS: tuple[Dimension, ...] = (
    "glue_code",
    "redundant_calls",
    "response_shape",
    "parameter_inference",
    "cross_mcp",
)

CROSS_MCP = "cross-mcp"
UNATTRIBUTED = "unattributed"


class Finding(BaseModel):
    """One finding of a critic.

    ``mcp_name`` is an attached server, ``cross-mcp`` or ``unattributed``; ``evidence_ids`` are ids of
    transcript entries, as the critic gave them.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    id: str
    severity: Severity
    dimension: Dimension
    mcp_name: str
    summary: str
    evidence_ids: tuple[str, ...]
    recommendation: str = ""


def wire_line(text: str) -> str:
    """A text as it stands in the output of a critic: on one line, control characters spelled out."""
    return " ".join(visible(text).split())


def counts(findings: Iterable[Finding]) -> dict[Severity, int]:
    """Severity → number of findings, all severities named, the worst first."""
    found = Counter(finding.severity for finding in findings)
    return {severity: found[severity] for severity in SEVERITIES}


def found_words(findings: Iterable[Finding], dropped: int) -> str:
    """``1 Critical, 0 Major, 2 Minor, 0 Suggestion findings; 2 dropped``."""
    return f"{count_words(findings)} findings{f'; {dropped} dropped' if dropped else ''}"


def count_words(findings: Iterable[Finding]) -> str:
    """``1 Critical, 0 Major, 2 Minor, 0 Suggestion``."""
    return ", ".join(f"{number} {severity}" for severity, number in counts(findings).items())
