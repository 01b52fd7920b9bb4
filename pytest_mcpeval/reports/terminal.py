"""The section at the end of a terminal run: tables, gates, notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mcpeval.reports.tables import Row, Table, Tone
from pytest_mcpeval.reports.text import visible

if TYPE_CHECKING:
    import pytest

    from pytest_mcpeval.gates import GateResult
    from pytest_mcpeval.judging import Evaluation

LONGEST_NAME = 44
MARKUP: dict[Tone, dict[str, bool]] = {
    "": {},
    "good": {"green": True},
    "fair": {"yellow": True},
    "bad": {"red": True},
}
VERDICT_TONES: dict[str, Tone] = {"passed": "good", "not_evaluated": "fair"}


def print_summary(
    reporter: pytest.TerminalReporter, evaluation: Evaluation, report_directory: Path | None
) -> None:
    """Print the section; with ``-q`` only gates that did not pass, and notes."""
    quiet = reporter.config.get_verbosity() < 0
    gates = [gate for gate in evaluation.gates if not quiet or gate.verdict != "passed"]
    tables = [] if quiet else [table for table in evaluation.tables if table.rows]
    tolerated = [] if quiet else list(_tolerated(evaluation))
    if not (tables or gates or tolerated or evaluation.notes or report_directory):
        return
    reporter.section("mcpeval")
    for table in tables:
        _print_table(reporter, table)
    _print_lines(reporter, "Tolerated", tolerated)
    _print_gates(reporter, gates)
    for note in evaluation.notes:
        reporter.write_line(visible(note))
    if report_directory is not None:
        reporter.write_line(f"reports: {report_directory / 'report.json'}, {report_directory / 'report.md'}")


def _print_table(reporter: pytest.TerminalReporter, table: Table) -> None:
    widths = _widths(table)
    reporter.write_line(table.title, bold=True)
    if any(table.header):
        reporter.write_line(_aligned(table.header, widths))
    for row in table.rows:
        _print_row(reporter, row, widths)


def _print_row(reporter: pytest.TerminalReporter, row: Row, widths: Sequence[int]) -> None:
    cells = tuple(visible(cell) for cell in row.cells)
    line = _aligned(cells, widths)
    last = len(cells[-1])
    reporter.write(line[: len(line) - last])
    reporter.write(line[len(line) - last :], **MARKUP[row.tone])
    reporter.write_line("")


def _widths(table: Table) -> list[int]:
    rows = [table.header, *(row.cells for row in table.rows)]
    widths = [max(len(visible(row[column])) for row in rows) for column in range(len(table.header))]
    return [min(widths[0], LONGEST_NAME), *widths[1:]]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    name = cells[0] if len(cells[0]) <= widths[0] else f"…{cells[0][1 - widths[0] :]}"
    figures = "".join(f"  {cell:>{width}}" for cell, width in zip(cells[1:], widths[1:], strict=True))
    return f"  {name:<{widths[0]}}{figures}"


def _tolerated(evaluation: Evaluation) -> Iterable[str]:
    for suite in evaluation.suites:
        for sample in suite.samples:
            if sample.outcome == "tolerated":
                yield f"{sample.label or 'TOLERATED'} {suite.key}::{sample.id}: {sample.message}"


def _print_lines(reporter: pytest.TerminalReporter, title: str, lines: Sequence[str]) -> None:
    if lines:
        reporter.write_line(title, bold=True)
    for line in lines:
        reporter.write_line(f"  {visible(line)}")


def _print_gates(reporter: pytest.TerminalReporter, gates: Sequence[GateResult]) -> None:
    if gates:
        reporter.write_line("Gates", bold=True)
    for gate in gates:
        markup = MARKUP[VERDICT_TONES.get(gate.verdict, "bad")]
        reporter.write("  ")
        reporter.write(gate.verdict.replace("_", " ").upper(), **markup)
        reporter.write_line(f" {gate.suite}::gates::{gate.name}")
        for line in visible(gate.message).splitlines():
            reporter.write_line(f"    {line}")
