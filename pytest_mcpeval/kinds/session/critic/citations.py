"""Whether what a finding cites exists, and has to do with whom it concerns. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from pytest_mcpeval.kinds.session.critic.findings import CROSS_MCP, UNATTRIBUTED, Finding
from pytest_mcpeval.kinds.session.records import server_of

NEUTRAL_TOOLS = frozenset({"__budget_abort__", "__wallclock_abort__", "__blocked__"})
"""Entries that the guard wrote itself: they speak for no server."""


class DanglingCitation(BaseModel):
    """A claim that could not be verified. ``cited_id`` is None when it is about all ids of a finding."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    finding_id: str
    cited_id: str | None = None
    reason: str


@dataclass(frozen=True)
class Cited:
    """What matters of a transcript entry: its tool, and the servers its scenario is meant for."""

    tool: str
    targets: Collection[str] = ()

    @property
    def is_neutral(self) -> bool:
        """Whether the entry speaks for no server."""
        return self.tool in NEUTRAL_TOOLS

    def concerns(self, server: str, servers: Collection[str]) -> bool:
        """Whether the entry is a call to the server, or from a scenario that is meant for it.

        ``servers`` are all of them: ``mcp__git__hub__x`` is no call to `git` where there is a `git__hub`.
        """
        return server_of(self.tool, servers) == server or server in self.targets


def dangling_citations(
    findings: Iterable[Finding], entries: Mapping[str, Cited], servers: Collection[str]
) -> list[DanglingCitation]:
    """Every claim that does not hold.

    ``entries`` maps the ids of the transcript to its entries, ``servers`` are the attached ones.
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
    """Why the entries do not speak for the finding's server, or an empty text.

    The words are part of the format of ``state.json``, and programs compare them.
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
