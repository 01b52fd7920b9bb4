"""What pytest-html shows: a column for kind and latency, checks and evidence for each case, tables on top."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mcpeval.reports.tables import Table
from pytest_mcpeval.reports.text import shortened, visible
from pytest_mcpeval.samples import Sample

if TYPE_CHECKING:
    from pytest_mcpeval.reporting import Reporter

SHOWN_CHARACTERS = 20_000
COLOURS = {"passed": "#2e7d32", "failed": "#c62828", "inconclusive": "#b26a00"}
TONES = {"": "inherit", "good": "#2e7d32", "fair": "#b26a00", "bad": "#c62828"}


class HtmlReport:
    """Hooks of pytest-html; registered only where that plugin is loaded."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Attach checks and evidence to the report of a case."""
        text = getattr(report, "mcpeval_sample", None)
        if text is not None:
            evidence = {"format_type": "html", "content": _evidence(Sample.from_json(text))}
            setattr(report, "extras", [*getattr(report, "extras", []), evidence])  # noqa: B010

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Two columns more."""
        cells.insert(2, "<th>Kind</th>")
        cells.insert(3, "<th>Latency</th>")

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Two cells in every row, so that no row is shifted."""
        kind, latency = _kind_and_latency(report)
        cells.insert(2, f"<td>{escape(kind)}</td>")
        cells.insert(3, f"<td>{escape(latency)}</td>")

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Tables and gates above the results."""
        evaluation = self._reporter.evaluation
        if evaluation is None:
            return
        prefix.append(f"<h3>mcpeval: {escape(evaluation.verdict.replace('_', ' '))}</h3>")
        if evaluation.gates:
            prefix.append(_gates(evaluation.gates))
        prefix.extend(_table(table) for table in evaluation.tables if table.rows)


def _kind_and_latency(report: pytest.TestReport) -> tuple[str, str]:
    properties = dict(report.user_properties)
    if "mcpeval_gate" in properties:
        return "gate", ""
    latency = properties.get("mcpeval_latency_ms")
    return str(properties.get("mcpeval_kind", "")), f"{float(str(latency)):.0f} ms" if latency else ""


def _gates(gates: list[Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(gate.suite)}</td><td>{escape(gate.name)}</td>"
        f'<td style="color:{TONES["good" if gate.verdict == "passed" else "bad"]}">'
        f"{escape(gate.verdict.replace('_', ' '))}</td><td>{escape(visible(gate.message))}</td></tr>"
        for gate in gates
    )
    return f"<table><caption>Gates</caption><tbody>{rows}</tbody></table>"


def _table(table: Table) -> str:
    header = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{escape(visible(cell))}</td>" for cell in row.cells[:-1])
        + f'<td style="color:{TONES[row.tone]}">{escape(visible(row.cells[-1]))}</td></tr>'
        for row in table.rows
    )
    head = f"<thead><tr>{header}</tr></thead>" if any(table.header) else ""
    return f"<table><caption>{escape(table.title)}</caption>{head}<tbody>{rows}</tbody></table>"


def _evidence(sample: Sample) -> str:
    checks = "".join(
        f'<tr><td style="color:{COLOURS[check.status]}">{check.status}</td><td>{escape(check.name)}</td>'
        f"<td>{escape(visible(check.message))}</td></tr>"
        for check in sample.checks
    )
    calls = sample.measured.get("calls", [])
    answers = sample.run.get("answers", [])
    parts = [f"<table>{checks}</table>"] if checks else []
    for number, call in enumerate(calls):
        parts.append(_call(call, answers[number] if number < len(answers) else {}))
    return "".join(parts)


def _call(call: Any, answer: Any) -> str:
    arguments = json.dumps(call["arguments"], ensure_ascii=False, indent=2)
    parts = [f"<p>{escape(call['target'])} <b>{escape(call['name'])}</b></p>{_pre(arguments)}"]
    if "text" in answer:
        parts.append(f"<p>response</p>{_pre(answer['text'])}")
    if answer.get("structured") is not None:
        parts.append(
            f"<p>structured content</p>{_pre(json.dumps(answer['structured'], ensure_ascii=False, indent=2))}"
        )
    if answer.get("stderr"):
        parts.append(f"<p>stderr</p>{_pre(answer['stderr'])}")
    return "".join(parts)


def _pre(text: str) -> str:
    return f"<pre>{escape(visible(shortened(text, SHOWN_CHARACTERS)))}</pre>"
