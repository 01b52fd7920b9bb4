"""What the report of an evaluation says, before it is Markdown or html. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_mcpeval.kinds.session.critic.findings import (
    CROSS_MCP,
    SEVERITIES,
    UNATTRIBUTED,
    Finding,
    count_words,
)
from pytest_mcpeval.kinds.session.figures import ServerFigures, figures_of
from pytest_mcpeval.kinds.session.records import TranscriptEntry
from pytest_mcpeval.kinds.session.state import State, seconds_between

NO_FINDINGS = "No findings — surface behaved well in the scenarios run."
NOT_CALLED = "No findings — never called in the scenarios run."
NOTHING_TO_EVALUATE = "No MCPs attached — nothing to evaluate"
NO_SUMMARY = "The critic wrote no summary."

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)")


@dataclass(frozen=True)
class Caveat:
    """Something that limits what the report says; ``raw`` is text to be shown as it is."""

    text: str
    raw: str = ""


@dataclass(frozen=True)
class SkippedServer:
    """A server that was not called: by its disposition, or ``filtered`` for a reason at discovery."""

    name: str
    filtered: str | None
    notes: str = ""


@dataclass(frozen=True)
class Report:
    """The content of a report; texts in it are not escaped."""

    state: State
    entries: tuple[TranscriptEntry, ...]
    duration: str
    headline: str
    synthesis: str
    by_server: tuple[tuple[str, tuple[Finding, ...]], ...]
    called: frozenset[str]
    unattributed: tuple[Finding, ...]
    cross: tuple[Finding, ...]
    cross_words: str
    skipped: tuple[SkippedServer, ...]
    caveats: tuple[Caveat, ...]
    figures: tuple[ServerFigures, ...]

    def no_findings(self, server: str) -> str:
        """What stands under a server without findings: one that was never called has not behaved at all."""
        return NO_FINDINGS if server in self.called else NOT_CALLED

    @property
    def aborted(self) -> int:
        """The scenarios that were aborted."""
        return sum(entry.status == "aborted" for entry in self.state.execution)


def report_of(state: State, entries: Sequence[TranscriptEntry]) -> Report:
    """The report on a state whose findings are checked."""
    findings = sorted(state.critic_findings, key=lambda finding: SEVERITIES.index(finding.severity))
    cross = tuple(finding for finding in findings if finding.mcp_name == CROSS_MCP)
    figures = tuple(figures_of(state.attached_mcps, entries))
    return Report(
        state=state,
        entries=tuple(entries),
        duration=duration(state),
        headline=f"{count_words(findings)} findings",
        synthesis=synthesis(state.critic_summary),
        by_server=tuple(
            (name, tuple(finding for finding in findings if finding.mcp_name == name))
            for name in state.server_names()
        ),
        called=frozenset(one.server for one in figures if one.calls),
        unattributed=tuple(finding for finding in findings if finding.mcp_name == UNATTRIBUTED),
        cross=cross,
        cross_words="" if cross else _no_cross_words(state),
        skipped=tuple(_skipped(state)),
        caveats=tuple(_caveats(state)),
        figures=figures,
    )


def duration(state: State) -> str:
    """``12m 34s`` from the beginning to the end of execution; ``incomplete`` when it has not ended."""
    if state.session_started is None or state.session_ended is None:
        return "incomplete"
    seconds = seconds_between(state.session_started, state.session_ended) - state.interrupted_seconds
    return "{}m {}s".format(*divmod(round(max(0.0, seconds)), 60))


def synthesis(summary: str) -> str:
    """The first two sentences of the critic's own summary, word for word."""
    return " ".join(_SENTENCE_END.split(" ".join(summary.split()))[:2])


def _no_cross_words(state: State) -> str:
    exercised = any(len(set(scenario.targets_mcps)) >= 2 for scenario in state.scenarios)
    return f"Cross-MCP handoffs: {'none produced friction' if exercised else 'not exercised'}."


def _skipped(state: State) -> Iterator[SkippedServer]:
    for scope in state.safety_dispositions:
        if scope.disposition == "skip":
            yield SkippedServer(scope.mcp_name, None, scope.notes)
    for server in state.filtered_mcps:
        yield SkippedServer(server.name, server.reason)


def _caveats(state: State) -> Iterator[Caveat]:
    for note in state.critic_manifest_notes:
        yield Caveat(note)
    dropped = state.critic_findings_dropped_raw
    if dropped:
        words = "1 heading" if len(dropped) == 1 else f"{len(dropped)} headings"
        yield Caveat(f"{words} of the critic could not be read as findings:", "\n\n".join(dropped))
    for name in state.unmapped_mcp_names:
        yield Caveat(
            f"critic attributed findings to '{name}' which is not an attached MCP; routed to Unattributed"
        )
    for citation in state.dangling_citations:
        cited = f" cites {citation.cited_id}" if citation.cited_id else ""
        yield Caveat(f"{citation.finding_id}{cited}: {citation.reason}")
    if state.missing_critic_summary and state.attached_mcps:
        yield Caveat("the critic's output has no `## Summary`")
    for server in state.attached_mcps:
        scope = state.disposition(server.name)
        if not server.tools and not (scope and scope.disposition == "skip"):
            yield Caveat(f"the tools of {server.name} are not enumerable: {server.listing_problem}")
    for entry in state.execution:
        if entry.outcome is not None and entry.outcome.error:
            yield Caveat(f"{entry.scenario_id} could not be carried out: {entry.outcome.error}")
