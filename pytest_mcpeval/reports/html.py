"""What pytest-html shows: a column for kind and latency, checks and evidence for each case, tables on top."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mcpeval.gates import GateResult, gate_nodeid
from pytest_mcpeval.samples import SAMPLES_ATTRIBUTE, Check, Sample, samples_from_json
from pytest_mcpeval.tables import Table
from pytest_mcpeval.text import shortened, visible

if TYPE_CHECKING:
    from pytest_mcpeval.reporting import Reporter

SHOWN_CHARACTERS = 20_000
GOOD, FAIR, BAD = "#2e7d32", "#b26a00", "#c62828"
COLOURS = {
    "passed": GOOD,
    "failed": BAD,
    "inconclusive": FAIR,
    "not_evaluated": FAIR,
    "not_set": FAIR,
    "error": BAD,
}
TONES = {"": "inherit", "good": GOOD, "fair": FAIR, "bad": BAD}

TABLE = "border-collapse:collapse;margin:0 16px 16px 0;display:inline-table;vertical-align:top"
CAPTION = "text-align:left;font-weight:bold;padding:4px 0"
CELL = "border:1px solid #e6e6e6;padding:3px 8px;text-align:left;vertical-align:top"
FIGURE = "border:1px solid #e6e6e6;padding:3px 8px;text-align:right;white-space:nowrap"
LABEL = "margin:8px 0 2px;font-weight:bold"
TEXT = (
    "white-space:pre-wrap;overflow-wrap:anywhere;color:#333;background:#f6f6f6;padding:6px;margin:0;"
    "max-height:24em;overflow:auto"
)


class HtmlReport:
    """Hooks of pytest-html; registered only where that plugin is loaded."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Attach checks and evidence to the report of a case."""
        text = getattr(report, SAMPLES_ATTRIBUTE, None)
        if text is not None:
            evidence = "".join(_evidence_of_all(samples_from_json(text)))
            extras = [*getattr(report, "extras", []), *([_extra(evidence)] if evidence else [])]
            setattr(report, "extras", extras)  # noqa: B010

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Two columns more."""
        cells.insert(2, "<th>Kind</th>")
        cells.insert(3, "<th>Latency</th>")

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Two cells in every row, so that no row is shifted."""
        if not cells:
            return
        kind, latency = _kind_and_latency(report)
        cells.insert(2, f'<td class="col-kind">{escape(kind)}</td>')
        cells.insert(3, f'<td class="col-latency">{escape(latency)}</td>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Verdict, gates and tables above the results."""
        evaluation = self._reporter.evaluation
        if evaluation is None or not (evaluation.suites or evaluation.gates):
            return
        verdict = _coloured(evaluation.verdict.replace("_", " "), COLOURS[evaluation.verdict])
        prefix.append(f"<h3>mcpeval: {verdict}</h3>")
        if evaluation.gates:
            prefix.append(_gates(evaluation.gates))
        tables = "".join(_table(table) for table in evaluation.tables if table.rows)
        prefix.append(f"<div>{tables}</div>")


def _extra(content: str) -> dict[str, str | None]:
    """An extra as pytest-html's own function makes them; every key is read."""
    return {"name": None, "format_type": "html", "content": content, "mime_type": None, "extension": None}


def _kind_and_latency(report: pytest.TestReport) -> tuple[str, str]:
    # Reports of files that could not be collected have no properties.
    properties = dict(getattr(report, "user_properties", ()))
    if "mcpeval_gate" in properties:
        return "gate", ""
    latency = properties.get("mcpeval_latency_ms")
    tolerated = ", tolerated" if properties.get("mcpeval_outcome") == "tolerated" else ""
    kind = f"{properties.get('mcpeval_kind', '')}{tolerated}"
    return kind, f"{float(str(latency)):.0f} ms" if latency else ""


def _shown(text: str) -> str:
    return escape(visible(shortened(text, SHOWN_CHARACTERS)))


def _coloured(text: str, colour: str) -> str:
    return f'<span style="color:{colour}">{_shown(text)}</span>'


def _grid(title: str, rows: Iterable[str]) -> str:
    caption = f'<caption style="{CAPTION}">{_shown(title)}</caption>' if title else ""
    return f'<table style="{TABLE}">{caption}<tbody>{"".join(rows)}</tbody></table>'


def _cells(*contents: str, style: str = CELL) -> str:
    return "".join(f'<td style="{style}">{content}</td>' for content in contents)


def _gates(gates: Iterable[GateResult]) -> str:
    rows = (
        "<tr>"
        + _cells(
            _coloured(gate.verdict.replace("_", " "), COLOURS[gate.verdict]),
            _shown(gate_nodeid(gate)),
            _shown(gate.message),
        )
        + "</tr>"
        for gate in gates
    )
    return f"<div>{_grid('Gates', rows)}</div>"


def _table(table: Table) -> str:
    return _grid(table.title, _rows(table))


def _rows(table: Table) -> Iterator[str]:
    if any(table.header):
        name, *figures = (_shown(cell) for cell in table.header)
        yield f"<tr>{_cells(name)}{_cells(*figures, style=FIGURE)}</tr>"
    for row in table.rows:
        name, *others, last = row.cells
        figures = [*(_shown(cell) for cell in others), _coloured(last, TONES[row.tone])]
        yield f"<tr>{_cells(_shown(name))}{_cells(*figures, style=FIGURE)}</tr>"


def _evidence_of_all(samples: Sequence[Sample]) -> Iterator[str]:
    for sample in samples:
        if len(samples) > 1:
            yield f'<p style="{LABEL}">{_shown(sample.id)}: {_shown(sample.label or sample.outcome)}</p>'
        yield from _evidence(sample)


def _evidence(sample: Sample) -> Iterator[str]:
    if sample.checks:
        yield _grid("Checks", map(_check, sample.checks))
    answers = sample.run.get("answers", [])
    for number, call in enumerate(sample.measured.get("calls", [])):
        yield from _call(call, answers[number] if number < len(answers) else {})
    transcript = sample.measured.get("transcript", [])
    if transcript:
        yield _grid("Transcript", map(_transcript_line, transcript))


def _check(check: Check) -> str:
    status = _coloured(check.status, COLOURS[check.status])
    step = [f"step {check.step}"] if check.step else []
    return f"<tr>{_cells(status, *step, _shown(check.name), _shown(check.message))}</tr>"


def _transcript_line(line: Mapping[str, Any]) -> str:
    names = ("id", "tool", "args_summary", "result_shape", "blocked_tool", "justification")
    return f"<tr>{_cells(*(_shown(str(line.get(name) or '')) for name in names))}</tr>"


def _call(call: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[str]:
    yield _block(f"arguments of {call['target']} {call['name']}", _json(call["arguments"]))
    if "text" in answer:
        title = "response (error)" if answer.get("isError") else "response"
        yield _block(title, answer["text"])
    if answer.get("structured") is not None:
        yield _block("structured content", _json(answer["structured"]))
    if answer.get("stderr"):
        yield _block("the server's stderr ends with", answer["stderr"])


def _json(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=2)


def _block(title: str, text: str) -> str:
    return f'<p style="{LABEL}">{_shown(title)}</p><pre style="{TEXT}">{_shown(text)}</pre>'
