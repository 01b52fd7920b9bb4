"""The report of an evaluation, which the templates ``evaluation.md`` and ``evaluation.html`` show. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mcpeval.kinds.session.critic.findings import (
    CROSS_MCP,
    SEVERITIES,
    UNATTRIBUTED,
    Finding,
    count_words,
)
from pytest_mcpeval.kinds.session.endings import Ending, endings_of
from pytest_mcpeval.kinds.session.figures import FIGURE_HEADER, ServerFigures, figure_cells, figures_of
from pytest_mcpeval.kinds.session.records import TranscriptEntry, server_of
from pytest_mcpeval.kinds.session.state import State, seconds_between
from pytest_mcpeval.text.visible import escaped_markdown, visible

if TYPE_CHECKING:
    from jinja2 import Environment

NO_FINDINGS = "No findings"
SCENARIO_HEADER = ("scenario", "ended", "calls", "blocked", "task")
NOTHING_TO_EVALUATE = "No MCPs attached — nothing to evaluate"
NO_SUMMARY = "The critic wrote no summary."

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)")


@dataclass(frozen=True)
class Caveat:
    """A limitation of the report; ``raw`` is text to be shown literally."""

    text: str
    raw: str = ""


@dataclass(frozen=True)
class SkippedServer:
    """A server that was not called: by its disposition, or ``filtered`` for a reason at discovery."""

    name: str
    filtered: str | None
    notes: str = ""


@dataclass(frozen=True)
class TimelineEntry:
    """A call with the place of its bar in the time from the first call to the end of the last, in percent."""

    entry: TranscriptEntry
    left: str
    width: str


@dataclass(frozen=True)
class Report:
    """The content of a report; texts in it are not escaped."""

    state: State
    entries: tuple[TranscriptEntry, ...]
    endings: tuple[Ending, ...]
    duration: str
    headline: str
    synthesis: str
    by_server: tuple[tuple[str, tuple[Finding, ...]], ...]
    unattributed: tuple[Finding, ...]
    cross: tuple[Finding, ...]
    cross_words: str
    skipped: tuple[SkippedServer, ...]
    caveats: tuple[Caveat, ...]
    figures: tuple[ServerFigures, ...]

    def no_findings(self, server: str) -> str:
        """Return the text about a server without findings.

        It behaved well only if it was called and answered, and no scenario that concerns it ended early.
        """
        own = [entry for entry in self.entries if server_of(entry.tool, self.state.server_names()) == server]
        reserves = [
            f"{ending.scenario.id}: {ending.words}"
            for ending in self.endings
            if ending.concerns(server) and not ending.is_complete
        ]
        if not own:
            return f"{NO_FINDINGS} — it was never called{''.join(f'; {words}' for words in reserves)}."
        calls = f"{len(own)} {'call' if len(own) == 1 else 'calls'}"
        if failed := sum(entry.failed or not entry.was_answered for entry in own):
            reserves.append(f"{failed} of {calls} got an error or no answer")
        if reserves:
            return f"{NO_FINDINGS}, but that does not count as praise — {'; '.join(reserves)}."
        return f"{NO_FINDINGS} — behaved well in {calls}."

    def scenario_rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the rows below `SCENARIO_HEADER`: every scenario, and how it ended."""
        for one in self.endings:
            yield one.scenario.id, one.words, str(one.calls), str(one.blocked), one.scenario.description

    def figure_rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the rows below `FIGURE_HEADER`: every server, and its costs."""
        return ((one.server, *figure_cells(one)) for one in self.figures)

    def timeline(self) -> Iterator[tuple[Ending, list[TimelineEntry]]]:
        """Every scenario with its calls; the bars of all of them share one scale."""
        starts = {one.id: datetime.fromisoformat(one.ts).timestamp() for one in self.entries}
        seconds = {one.id: (one.latency_ms or 0) / 1000 for one in self.entries}
        first = min(starts.values(), default=0.0)
        whole = max((starts[name] + seconds[name] - first for name in starts), default=0.0)
        scale = 100 / max(whole, 0.001)
        for ending in self.endings:
            yield (
                ending,
                [
                    TimelineEntry(
                        one, f"{(starts[one.id] - first) * scale:.2f}", f"{seconds[one.id] * scale:.2f}"
                    )
                    for one in self.entries
                    if one.scenario_id == ending.scenario.id
                ],
            )

    @property
    def aborted(self) -> int:
        """The scenarios that were aborted."""
        return sum(entry.status == "aborted" for entry in self.state.execution)


def report_of(state: State, entries: Sequence[TranscriptEntry]) -> Report:
    """The report on a state whose findings are checked."""
    findings = sorted(state.critic_findings, key=lambda finding: SEVERITIES.index(finding.severity))
    cross = tuple(finding for finding in findings if finding.mcp_name == CROSS_MCP)
    endings = endings_of(state, entries)
    return Report(
        state=state,
        entries=tuple(entries),
        endings=endings,
        duration=duration(state),
        headline=f"{count_words(findings)} findings",
        synthesis=synthesis(state.critic_summary),
        by_server=tuple(
            (name, tuple(finding for finding in findings if finding.mcp_name == name))
            for name in state.server_names()
        ),
        unattributed=tuple(finding for finding in findings if finding.mcp_name == UNATTRIBUTED),
        cross=cross,
        cross_words="" if cross else _no_cross_words(endings),
        skipped=tuple(_skipped(state)),
        caveats=tuple(_caveats(state)),
        figures=tuple(figures_of(state.attached_mcps, entries)),
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


def _no_cross_words(endings: Iterable[Ending]) -> str:
    meant = [ending for ending in endings if len(set(ending.scenario.targets_mcps)) >= 2]
    if any(ending.is_complete and len(ending.servers) >= 2 for ending in meant):
        return "Cross-MCP handoffs: none produced friction."
    called = "called fewer than 2 servers"
    missed = "; ".join(f"{one.scenario.id}: {called if one.is_complete else one.words}" for one in meant)
    return f"Cross-MCP handoffs: not exercised{f' ({missed})' if missed else ''}."


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
            f"the critic blames '{name}', but no attached server has this name: see Unattributed Findings"
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


def markdown(report: Report) -> str:
    """``report.md``, the whole of it."""
    return _rendered("evaluation.md", report).rstrip() + "\n"


def html(report: Report) -> str:
    """``report.html``: the report, and the transcript as a timeline. One file, no scripts."""
    return _rendered("evaluation.html", report)


def _rendered(template: str, report: Report) -> str:
    return (
        _templates()
        .get_template(template)
        .render(
            report=report,
            state=report.state,
            scenario_header=SCENARIO_HEADER,
            figure_header=FIGURE_HEADER,
            nothing_to_evaluate=NOTHING_TO_EVALUATE,
            no_summary=NO_SUMMARY,
        )
    )


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(["html"]),
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    found.filters |= {"fenced": _fenced, "markdown": escaped_markdown, "visible": visible}
    return found


def _fenced(text: str) -> str:
    """A text as it is, in a block of code: between more backticks than stand in a row in it."""
    text = visible(text)
    longest = max((len(list(run)) for is_tick, run in groupby(text, "`".__eq__) if is_tick), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
