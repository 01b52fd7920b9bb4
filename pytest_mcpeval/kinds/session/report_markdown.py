"""``report.md`` of an evaluation, section by section. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from pytest_mcpeval.kinds.session.critic.findings import Finding
from pytest_mcpeval.kinds.session.figures import FIGURE_HEADER, figure_cells
from pytest_mcpeval.kinds.session.report import (
    NO_SUMMARY,
    NOTHING_TO_EVALUATE,
    SCENARIO_HEADER,
    Caveat,
    Report,
)
from pytest_mcpeval.text.visible import escaped_markdown, visible


def markdown(report: Report) -> str:
    """The whole report."""
    state = report.state
    names = state.server_names()
    lines = [
        f"# MCP Evaluation: {visible(state.eval_name)}",
        "",
        f"**Date:** {state.started}",
        f"**Duration:** {report.duration}",
        f"**Attached MCPs:** {len(names)} — {', '.join(map(escaped_markdown, names)) or 'none'}",
        f"**Scenarios run:** {len(state.execution)} ({report.aborted} aborted)",
        "",
    ]
    body = _body(report) if names else _nothing(report)
    return "\n".join([*lines, *body]).rstrip() + "\n"


def _nothing(report: Report) -> Iterator[str]:
    yield "## Headline"
    yield ""
    yield f"{NOTHING_TO_EVALUATE}."
    yield ""
    yield from _skipped(report)


def _body(report: Report) -> Iterator[str]:
    yield from ("## Headline", "", report.headline, "")
    yield from (f"> {escaped_markdown(report.synthesis)}" if report.synthesis else NO_SUMMARY, "")
    yield from ("## Scenarios", "")
    rows = report.scenario_rows()
    yield from _table(SCENARIO_HEADER, ((*row, escaped_markdown(task)) for *row, task in rows))
    yield from ("## Per-MCP Findings", "")
    for name, findings in report.by_server:
        yield from (f"### {escaped_markdown(name)}", "")
        yield from _findings(findings) if findings else (report.no_findings(name), "")
    if report.unattributed:
        yield from ("## Unattributed Findings", "")
        yield from _findings(report.unattributed)
    yield from ("## Cross-MCP Friction", "")
    yield from _findings(report.cross) if report.cross else (report.cross_words, "")
    yield from _skipped(report)
    if report.caveats:
        yield from ("## Caveats", "")
        for caveat in report.caveats:
            yield from _caveat(caveat)
        yield ""
    yield from _figures(report)
    yield from _artifacts(report)


def _findings(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        yield f"- **[{finding.severity}] {finding.dimension}:** {escaped_markdown(finding.summary)}"
        yield f"  - Evidence: {', '.join(f'`{cited}`' for cited in finding.evidence_ids)}"
        if finding.recommendation:
            yield f"  - Recommendation: {escaped_markdown(finding.recommendation)}"
        yield ""


def _skipped(report: Report) -> Iterator[str]:
    if report.skipped:
        yield from ("## Skipped MCPs", "")
        for server in report.skipped:
            if server.filtered is None:
                words = f"disposition: `skip`. {escaped_markdown(server.notes)}".rstrip()
            else:
                words = f"filtered out at discovery: {escaped_markdown(server.filtered)}"
            yield f"- `{_code(server.name)}` — {words}"
        yield ""


def _caveat(caveat: Caveat) -> Iterator[str]:
    yield f"- {escaped_markdown(caveat.text)}"
    if caveat.raw:
        text = visible(caveat.raw)
        # One backtick more than the longest row of them in the text.
        longest = max((len(list(run)) for is_tick, run in groupby(text, "`".__eq__) if is_tick), default=0)
        fence = "`" * max(3, longest + 1)
        yield f"  {fence}"
        yield from (f"  {line}" for line in text.split("\n"))
        yield f"  {fence}"


def _code(text: str) -> str:
    return visible(text).replace("`", "'").replace("\n", " ")


def _figures(report: Report) -> Iterator[str]:
    yield from ("## Server Figures", "")
    rows = ((escaped_markdown(one.server), *figure_cells(one)) for one in report.figures)
    yield from _table(FIGURE_HEADER, rows, aligned="---:")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], aligned: str = "---") -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|---|{f'{aligned}|' * (len(header) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _artifacts(report: Report) -> Iterator[str]:
    yield from ("## Artifacts", "")
    yield f"- Transcript: `transcript.jsonl` ({len(report.entries)} entries)"
    yield "- State: `state.json`"
    yield (
        "- Critic raw output: `critic-output.md` (all that the critic wrote, with the details of findings; "
        "its summary is in `state.json` too, as `critic_summary`)"
    )
    yield "- Timeline: `report.html`"
