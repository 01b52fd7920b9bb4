"""Findings of a critic: severity, dimension, server and evidence, and checks of their citations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pytest_mcpeval.kinds.session.records import SYNTHETIC_TOOLS, server_of
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
    transcript entries, as the critic gave them. A baseline keeps neither id nor evidence.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    id: str = ""
    severity: Severity
    dimension: Dimension
    mcp_name: str
    summary: str
    evidence_ids: tuple[str, ...] = ()
    recommendation: str = ""


def wire_line(text: str) -> str:
    """Return a text as a critic writes it: on one line, with control characters escaped."""
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


class DanglingCitation(BaseModel):
    """A citation that could not be verified. ``cited_id`` is None if it concerns all ids of a finding."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    finding_id: str
    cited_id: str | None = None
    reason: str


@dataclass(frozen=True)
class Cited:
    """A transcript entry for checking citations: its tool, and its scenario's target servers."""

    tool: str
    targets: Collection[str] = ()

    @property
    def is_neutral(self) -> bool:
        """Whether the entry concerns no particular server."""
        return self.tool in SYNTHETIC_TOOLS

    def concerns(self, server: str, servers: Collection[str]) -> bool:
        """Whether the entry is a call to the server, or from a scenario that is meant for it.

        ``servers`` are all of them: ``mcp__git__hub__x`` is not a call to `git` where there is a `git__hub`.
        """
        return server_of(self.tool, servers) == server or server in self.targets


def dangling_citations(
    findings: Iterable[Finding], entries: Mapping[str, Cited], servers: Collection[str]
) -> list[DanglingCitation]:
    """Return every citation that cannot be verified. ``entries`` maps the ids of the transcript to
    its entries, ``servers`` are the attached ones.
    """
    return [problem for finding in findings for problem in _problems(finding, entries, servers)]


def _problems(
    finding: Finding, entries: Mapping[str, Cited], servers: Collection[str]
) -> Iterator[DanglingCitation]:
    for cited in finding.evidence_ids:
        if cited not in entries:
            yield DanglingCitation(finding_id=finding.id, cited_id=cited, reason="id not found in transcript")
    known = [entries[cited] for cited in finding.evidence_ids if cited in entries]
    reason = _attribution_problem(finding, known, servers)
    if reason:
        yield DanglingCitation(finding_id=finding.id, reason=reason)


def _attribution_problem(finding: Finding, known: Sequence[Cited], servers: Collection[str]) -> str:
    """Return why the entries do not concern the finding's server, or an empty text.

    The texts are part of the format of ``state.json``, and programs compare them.
    """
    if finding.mcp_name == UNATTRIBUTED:
        return ""
    telling = [entry for entry in known if not entry.is_neutral]
    if finding.mcp_name == CROSS_MCP:
        spanned = {server for server in servers if any(entry.concerns(server, servers) for entry in telling)}
        return "" if len(spanned) >= 2 else "cross-mcp finding evidence spans fewer than 2 MCPs"
    if known and not telling:
        return "all cited ids are attribution-neutral — cannot verify attribution"
    if any(entry.concerns(finding.mcp_name, servers) for entry in telling):
        return ""
    return f"no cited id plausibly attributed to {finding.mcp_name}"
