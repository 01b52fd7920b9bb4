"""What pytest-html shows: a column for kind and latency, checks and evidence for each case, tables on top."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mcpeval.core.gate import GateResult, gate_nodeid
from pytest_mcpeval.core.sample import SAMPLES_ATTRIBUTE, Check, Sample, samples_from_json
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.reports.charts import svg
from pytest_mcpeval.reports.html_attachments import attachment_html
from pytest_mcpeval.reports.html_parts import (
    COLOURS,
    FIGURE,
    LABEL,
    RATINGS,
    block,
    cells,
    coloured,
    grid,
    shown,
)

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation
    from pytest_mcpeval.core.kind import Kind


class HtmlReport:
    """Hooks of pytest-html; registered only where that plugin is loaded."""

    def __init__(self, kinds: Mapping[str, Kind[Any]], evaluation: Callable[[], Evaluation | None]) -> None:
        self._kinds = kinds
        self._evaluation = evaluation

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Attach checks and evidence to the report of a case."""
        text = getattr(report, SAMPLES_ATTRIBUTE, None)
        if text is not None:
            evidence = "".join(self._evidence_of_all(samples_from_json(text)))
            extras = [*getattr(report, "extras", []), *([_extra(evidence)] if evidence else [])]
            setattr(report, "extras", extras)  # noqa: B010

    def _evidence_of_all(self, samples: Sequence[Sample]) -> Iterator[str]:
        for sample in samples:
            if len(samples) > 1:
                yield f'<p style="{LABEL}">{shown(sample.id)}: {shown(sample.label or sample.outcome)}</p>'
            yield from _evidence(sample)
            with suppress(Exception):  # A gate in error tells what a kind raised.
                yield from map(_table, self._kinds[sample.kind].attachments(sample))

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
        evaluation = self._evaluation()
        if evaluation is None or not (evaluation.suites or evaluation.gates):
            return
        verdict = coloured(evaluation.verdict.replace("_", " "), COLOURS[evaluation.verdict])
        prefix.append(f"<h3>mcpeval: {verdict}</h3>")
        if evaluation.gates:
            prefix.append(_gates(evaluation.gates))
        tables = "".join(_table(table) for table in evaluation.tables if table.rows)
        prefix.append(f"<div>{tables}</div>")
        if evaluation.charts:
            prefix.append(f"<div>{''.join(map(svg, evaluation.charts))}</div>")


def _extra(content: str) -> dict[str, str | None]:
    """An extra as pytest-html's own function makes them; every key is read."""
    return {"name": None, "format_type": "html", "content": content, "mime_type": None, "extension": None}


def _kind_and_latency(report: pytest.TestReport) -> tuple[str, str]:
    # Reports of files that could not be collected have no properties.
    properties = dict(getattr(report, "user_properties", ()))
    if "mcpeval_gate" in properties:
        return "gate", ""
    latency = properties.get("mcpeval_latency_ms")
    outcome = str(properties.get("mcpeval_outcome", ""))
    apart = f", {outcome}" if outcome in ("wrong", "inconclusive") else ""
    kind = f"{properties.get('mcpeval_kind', '')}{apart}"
    return kind, f"{float(str(latency)):.0f} ms" if latency else ""


def _gates(gates: Iterable[GateResult]) -> str:
    rows = (
        "<tr>"
        + cells(
            coloured(gate.verdict.replace("_", " "), COLOURS[gate.verdict]),
            shown(gate_nodeid(gate)),
            shown(gate.message),
        )
        + "</tr>"
        for gate in gates
    )
    return f"<div>{grid('Gates', rows)}</div>"


def _table(table: Table) -> str:
    return grid(table.title, _rows(table))


def _rows(table: Table) -> Iterator[str]:
    if any(table.header):
        name, *figures = (shown(cell) for cell in table.header)
        yield f"<tr>{cells(name)}{cells(*figures, style=FIGURE)}</tr>"
    for row in table.rows:
        name, *others, last = row.cells
        figures = [*(shown(cell) for cell in others), coloured(last, RATINGS[row.rating])]
        yield f"<tr>{cells(shown(name))}{cells(*figures, style=FIGURE)}</tr>"


def _evidence(sample: Sample) -> Iterator[str]:
    if sample.checks:
        yield grid("Checks", map(_check, sample.checks))
    answers = sample.run.get("answers", [])
    for number, call in enumerate(sample.measured.get("calls", [])):
        yield from _call(call, answers[number] if number < len(answers) else {})
    transcript = sample.measured.get("transcript", [])
    if transcript:
        yield grid("Transcript", map(_transcript_line, transcript))
    for attachment in sample.run.get("attachments", ()):
        yield from attachment_html(attachment)


def _check(check: Check) -> str:
    status = coloured(check.status, COLOURS[check.status])
    step = [f"step {check.step}"] if check.step else []
    return f"<tr>{cells(status, *step, shown(check.name), shown(check.message))}</tr>"


def _transcript_line(line: Mapping[str, Any]) -> str:
    names = ("id", "tool", "args_summary", "result_shape", "blocked_tool", "justification")
    return f"<tr>{cells(*(shown(str(line.get(name) or '')) for name in names))}</tr>"


def _call(call: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[str]:
    yield block(f"arguments of {call['target']} {call['name']}", _json(call["arguments"]))
    if "text" in answer:
        title = "response (error)" if answer.get("isError") else "response"
        yield block(title, answer["text"])
    if answer.get("structured") is not None:
        yield block("structured content", _json(answer["structured"]))
    if answer.get("stderr"):
        yield block("the server's stderr ends with", answer["stderr"])


def _json(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=2)
