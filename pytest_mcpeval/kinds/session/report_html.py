"""``report.html`` of an evaluation: the report, and the transcript as a timeline. One file, no scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import escape

from pytest_mcpeval.kinds.session.critic.findings import Finding
from pytest_mcpeval.kinds.session.figures import FIGURE_HEADER, figure_cells
from pytest_mcpeval.kinds.session.records import TranscriptEntry
from pytest_mcpeval.kinds.session.report import NO_SUMMARY, NOTHING_TO_EVALUATE, SCENARIO_HEADER, Report
from pytest_mcpeval.text.visible import visible

COLOURS = {"Critical": "#c62828", "Major": "#b26a00", "Minor": "#5d6d00", "Suggestion": "#1565c0"}

STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 0 0 1em; width: 100% }
caption { text-align: left; font-weight: bold; padding: 4px 0 }
th, td { border: 1px solid #e6e6e6; padding: 3px 8px; text-align: left; vertical-align: top }
td { overflow-wrap: anywhere }
td.figure, th.figure { text-align: right; white-space: nowrap }
td.time { width: 25%; min-width: 12em }
.bar { position: relative; height: 1em; background: #f2f2f2 }
.bar i { position: absolute; top: 0; bottom: 0; min-width: 2px; background: #5c7cfa }
.failed .bar i { background: #c62828 }
.own .bar i, .own td { color: #b26a00 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f6f6; padding: 6px }
"""


def html(report: Report) -> str:
    """The whole page."""
    title = f"MCP Evaluation: {_shown(report.state.eval_name)}"
    body = "\n".join(_body(report) if report.state.attached_mcps else _nothing(report))
    head = f'<meta charset="utf-8"><title>{title}</title><style>\n{STYLE}</style>'
    page = f"<body>\n<h1>{title}</h1>\n{body}\n</body>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{page}</html>\n'


def _shown(text: object) -> str:
    return escape(visible(str(text)))


def _nothing(report: Report) -> Iterator[str]:
    yield f"<p>{NOTHING_TO_EVALUATE}.</p>"
    yield from _skipped(report)


def _body(report: Report) -> Iterator[str]:
    state = report.state
    names = ", ".join(state.server_names())
    facts = {
        "Date": state.started,
        "Duration": report.duration,
        "Attached MCPs": f"{len(state.attached_mcps)} — {names}",
        "Scenarios run": f"{len(state.execution)} ({report.aborted} aborted)",
    }
    yield _table("", ("", ""), ((name, value) for name, value in facts.items()), header=False)
    yield f"<h2>Headline</h2><p>{report.headline}</p>"
    quoted = f"<blockquote>{_shown(report.synthesis)}</blockquote>"
    yield quoted if report.synthesis else f"<p>{NO_SUMMARY}</p>"
    yield f"<h2>Scenarios</h2>{_table('', SCENARIO_HEADER, report.scenario_rows())}"
    yield "<h2>Per-MCP Findings</h2>"
    for name, findings in report.by_server:
        yield f"<h3>{_shown(name)}</h3>"
        yield _findings(findings) if findings else f"<p>{_shown(report.no_findings(name))}</p>"
    if report.unattributed:
        yield f"<h2>Unattributed Findings</h2>{_findings(report.unattributed)}"
    cross = _findings(report.cross) if report.cross else f"<p>{_shown(report.cross_words)}</p>"
    yield f"<h2>Cross-MCP Friction</h2>{cross}"
    yield from _skipped(report)
    yield from _caveats(report)
    rows = ((one.server, *figure_cells(one)) for one in report.figures)
    yield f"<h2>Server Figures</h2>{_table('', FIGURE_HEADER, rows, figures_from=1)}"
    yield "<h2>Timeline</h2>"
    yield from _timeline(report)


def _findings(findings: Iterable[Finding]) -> str:
    return f"<ul>{''.join(map(_finding, findings))}</ul>"


def _finding(finding: Finding) -> str:
    label = f'<b style="color:{COLOURS[finding.severity]}">[{finding.severity}] {finding.dimension}:</b>'
    cited = ", ".join(
        f'<a href="#{_shown(one)}"><code>{_shown(one)}</code></a>' for one in finding.evidence_ids
    )
    advice = f"<br>Recommendation: {_shown(finding.recommendation)}" if finding.recommendation else ""
    return f"<li>{label} {_shown(finding.summary)}<br>Evidence: {cited}{advice}</li>"


def _skipped(report: Report) -> Iterator[str]:
    if report.skipped:
        rows = (
            (
                server.name,
                f"disposition: skip. {server.notes}"
                if server.filtered is None
                else f"filtered out at discovery: {server.filtered}",
            )
            for server in report.skipped
        )
        yield f"<h2>Skipped MCPs</h2>{_table('', ('', ''), rows, header=False)}"


def _caveats(report: Report) -> Iterator[str]:
    if report.caveats:
        shown = (
            f"<li>{_shown(caveat.text)}{f'<pre>{_shown(caveat.raw)}</pre>' if caveat.raw else ''}</li>"
            for caveat in report.caveats
        )
        yield f"<h2>Caveats</h2><ul>{''.join(shown)}</ul>"


def _timeline(report: Report) -> Iterator[str]:
    """A table for each scenario; the bars of all of them share one scale."""
    if not report.entries:
        yield "<p>No call was made.</p>"
    scale = _Scale(report.entries)
    for ending in report.endings:
        scenario = ending.scenario
        entries = [entry for entry in report.entries if entry.scenario_id == scenario.id]
        title = f"{scenario.id}, {ending.words}: {scenario.description}"
        yield f"<table><caption>{_shown(title)}</caption>"
        yield "<tr><th>id</th><th>time</th><th>tool</th><th>arguments</th><th>result</th><th>ms</th></tr>"
        yield from (_entry(entry, scale) for entry in entries)
        yield "</table>"


class _Scale:
    """Places of calls in the time from the first to the last of them, in percent."""

    def __init__(self, entries: Sequence[TranscriptEntry]) -> None:
        starts = [datetime.fromisoformat(entry.ts).timestamp() for entry in entries]
        ends = [start + (entry.latency_ms or 0) / 1000 for start, entry in zip(starts, entries, strict=True)]
        self._first = min(starts, default=0.0)
        self._whole = max(max(ends, default=0.0) - self._first, 0.001)

    def bar(self, entry: TranscriptEntry) -> str:
        """The bar of one call."""
        left = (datetime.fromisoformat(entry.ts).timestamp() - self._first) / self._whole * 100
        width = (entry.latency_ms or 0) / 1000 / self._whole * 100
        return f'<div class="bar"><i style="left:{left:.2f}%;width:{width:.2f}%"></i></div>'


def _entry(entry: TranscriptEntry, scale: _Scale) -> str:
    kind = "failed" if entry.failed else "" if entry.is_mcp else "own"
    said = "<br>".join(
        _shown(text) for text in (entry.args_summary, entry.blocked_tool, entry.justification) if text
    )
    latency = "" if entry.latency_ms is None else f"{entry.latency_ms:.0f}"
    shape = "no answer recorded" if entry.is_call and entry.result_shape is None else entry.result_shape or ""
    return (
        f'<tr class="{kind}" id="{_shown(entry.id)}"><td><code>{_shown(entry.id)}</code></td>'
        f'<td class="time">{scale.bar(entry)}</td><td>{_shown(entry.tool)}</td><td>{said}</td>'
        f'<td>{_shown(shape)}</td><td class="figure">{latency}</td></tr>'
    )


def _table(
    title: str,
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    header: bool = True,
    figures_from: int = 99,
) -> str:
    def cell(tag: str, place: int, text: str) -> str:
        kind = ' class="figure"' if place >= figures_from else ""
        return f"<{tag}{kind}>{_shown(text)}</{tag}>"

    lines = [("th", names)] if header else []
    lines += [("td", row) for row in rows]
    shown = (
        f"<tr>{''.join(cell(tag, place, text) for place, text in enumerate(row))}</tr>" for tag, row in lines
    )
    caption = f"<caption>{_shown(title)}</caption>" if title else ""
    return f"<table>{caption}{''.join(shown)}</table>"
