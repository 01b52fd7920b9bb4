"""The end of a terminal run: evidence, tables, tolerated cases, gates, notes, verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_mcpeval.core.gate import gate_nodeid
from pytest_mcpeval.core.tables import Rating, Row, Table
from pytest_mcpeval.text.visible import visible

if TYPE_CHECKING:
    import pytest

    from pytest_mcpeval.core.evaluation import Evaluation
    from pytest_mcpeval.core.gate import GateResult, Verdict
    from pytest_mcpeval.core.sample import Outcome

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
FIGURES_WIDTH = 30
"""Columns left to the right of names."""
LONGEST_NAME = 70
SHOWN_TOLERATED = 20
SHOWN_INCONCLUSIVE = 5
MARKUP: dict[Rating, dict[str, bool]] = {
    "": {},
    "good": {"green": True},
    "fair": {"yellow": True},
    "bad": {"red": True},
}
VERDICT_RATINGS: dict[Verdict, Rating] = {"passed": "good", "not_evaluated": "fair", "not_set": "fair"}


def print_undecided(reporter: pytest.TerminalReporter, reports: Sequence[pytest.TestReport]) -> None:
    """Print wrong cases on which no gate decided, as pytest prints failures: ``--tb`` applies."""
    option, writer = reporter.config.option, reporter.config.get_terminal_writer()
    if not reports or option.tbstyle == "no":
        return
    reporter.write_sep("=", "WRONG, AND NO GATE DECIDED")
    for report in reports:
        if option.tbstyle != "line":
            reporter.write_sep("_", visible(report.nodeid), yellow=True, bold=True)
        report.toterminal(writer)
        for name, content in report.sections:
            if option.showcapture == "all" or option.showcapture in name:
                reporter.write_sep("-", name)
                reporter.write_line(content.removesuffix("\n"))
        if option.tbstyle == "line" and report.longrepr is not None:
            reporter.write_line(str(getattr(report.longrepr, "reprcrash", "")))


def count_tolerated(reporter: pytest.TerminalReporter, undecided: Sequence[pytest.TestReport]) -> None:
    """Have pytest's last line count the wrong cases on which a gate decided as tolerated."""
    if wrong := reporter.stats.get("wrong"):
        kept = set(map(id, undecided))
        reporter.stats["tolerated"] = [report for report in wrong if id(report) not in kept]
        reporter.stats["wrong"] = [report for report in wrong if id(report) in kept]


def print_verdict(reporter: pytest.TerminalReporter, evaluation: Evaluation, hint: str) -> None:
    """Print the verdict and its reason in one line, which is the last one of the summary."""
    verdict = evaluation.verdict
    reporter.ensure_newline()
    reporter.write("mcpeval: ", bold=True)
    reporter.write(_words(verdict), **_markup(verdict))
    reporter.write_line(visible(f": {evaluation.reason}{f' ({hint})' if hint else ''}"))


def print_summary(
    reporter: pytest.TerminalReporter,
    evaluation: Evaluation,
    reports: str,
    problems: Sequence[str],
) -> None:
    """Print the section; with ``-q`` totals in a line, gates that did not pass, and notes.

    ``reports`` says where they are, ``problems`` why one could not be written.
    """
    quiet = reporter.config.get_verbosity() < 0
    gates = [gate for gate in evaluation.gates if not quiet or gate.verdict != "passed"]
    tables = [table for table in evaluation.tables if table.rows]
    inconclusive = reporter.getreports("inconclusive")
    if not (tables or gates or evaluation.notes or reports or problems or inconclusive):
        return
    section = _Section(reporter)
    if quiet:
        section.brief(tables)
    else:
        reporter.section("mcpeval")
        section.tables(tables)
        section.left_to_gates(
            "Tolerated ({}; gates decide)", list(_ended(evaluation, "tolerated")), SHOWN_TOLERATED
        )
    section.left_to_gates("Wrong ({}; no gate decided)", list(_ended(evaluation, "wrong")))
    if not quiet or any(report.failed for report in inconclusive):
        section.inconclusive(inconclusive)
    section.gates(gates)
    for note in evaluation.notes:
        reporter.write_line(visible(note))
    if reports:
        reporter.write_line(reports)
    for problem in problems:
        reporter.write_line(f"ERROR: {problem}", red=True)


class _Section:
    """Writes to the terminal, as wide as it is."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter
        self._width: int = reporter.config.get_terminal_writer().fullwidth
        self._verbose = reporter.config.get_verbosity() > 0

    def brief(self, tables: Sequence[Table]) -> None:
        parts = [visible(table.brief) for table in tables if table.brief]
        if parts:
            self._reporter.write_line("; ".join(parts))

    def tables(self, tables: Iterable[Table]) -> None:
        # The first write_line of a section begins with one, which would tear a table's heading apart.
        self._reporter.ensure_newline()
        for table in tables:
            self._table(table)

    def _table(self, table: Table, indent: str = "") -> None:
        widths = self._widths(table)
        self._reporter.write(indent)
        if any(table.header):
            figures = _figures(table.header[1:], widths[1:])
            self._reporter.write(f"{table.title:<{widths[0] + 2}}", bold=True)
            self._reporter.write_line(figures)
        else:
            self._reporter.write_line(table.title, bold=True)
        for row in table.rows:
            self._reporter.write(indent)
            self._row(row, widths)

    def _widths(self, table: Table) -> list[int]:
        rows = [(table.title[:-2], *table.header[1:]), *(row.cells for row in table.rows)]
        widths = [max(len(visible(row[column])) for row in rows) for column in range(len(table.header))]
        longest = max(10, min(LONGEST_NAME, self._width - FIGURES_WIDTH))
        return [min(widths[0], longest), *widths[1:]]

    def _row(self, row: Row, widths: Sequence[int]) -> None:
        name, *cells = (visible(cell) for cell in row.cells)
        last = cells[-1] if cells else ""
        others = _figures(cells, widths[1:]).removesuffix(last)
        self._reporter.write(f"  {_clipped(name, widths[0]):<{widths[0]}}{others}")
        self._reporter.write(last, **MARKUP[row.rating])
        self._reporter.write_line("")

    def left_to_gates(
        self, title: str, cases: Sequence[tuple[str, Sequence[Table]]], most: int | None = None
    ) -> None:
        if not cases:
            return
        self._reporter.write_line(title.format(len(cases)), bold=True)
        shown = cases if self._verbose else cases[:most]
        for line, attachments in shown:
            text = " ".join(visible(line).split())
            room = self._width - 3
            clipped = text if self._verbose or len(text) <= room else f"{text[: room - 1]}…"
            self._reporter.write_line(f"  {clipped}")
            for table in attachments if self._verbose else ():
                self._table(table, indent="    ")
        if len(shown) < len(cases):
            self._reporter.write_line(f"  … and {len(cases) - len(shown)} more (-v lists all)")

    def inconclusive(self, reports: Sequence[pytest.TestReport]) -> None:
        if not reports:
            return
        self._reporter.write_line(f"Inconclusive ({len(reports)}; evidence is missing)", bold=True)
        for report in reports if self._verbose else reports[:SHOWN_INCONCLUSIVE]:
            self._reporter.write_line(f"  {visible(report.nodeid)}", yellow=True)
            for line in _words_of(report).splitlines():
                self._reporter.write_line(f"    {visible(line)}".rstrip())
        if len(reports) > SHOWN_INCONCLUSIVE and not self._verbose:
            left = len(reports) - SHOWN_INCONCLUSIVE
            self._reporter.write_line(f"  … and {left} more (-v lists all)")

    def gates(self, gates: Sequence[GateResult]) -> None:
        if gates:
            self._reporter.write_line("Gates", bold=True)
        for gate in gates:
            self._reporter.write("  ")
            self._reporter.write(_words(gate.verdict).upper(), **_markup(gate.verdict))
            self._reporter.write_line(f" {visible(gate_nodeid(gate))}")
            for line in self._wrapped(gate.message):
                self._reporter.write_line(f"    {line}")

    def _wrapped(self, message: str) -> Iterator[str]:
        room = max(20, self._width - 5)
        for line in visible(message).splitlines():
            # A number stays beside its unit.
            bound = line.replace(" %", f"{NO_BREAK_SPACE}%")
            for part in textwrap.wrap(bound, room, break_long_words=False, break_on_hyphens=False):
                # Once more: another word begins the line now.
                yield visible(part.replace(NO_BREAK_SPACE, " "))


def _words_of(report: pytest.TestReport) -> str:
    """What a report says, whether it counts as failed or as skipped."""
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext


def _words(verdict: Verdict) -> str:
    return verdict.replace("_", " ")


def _markup(verdict: Verdict) -> dict[str, bool]:
    return MARKUP[VERDICT_RATINGS.get(verdict, "bad")]


def _figures(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _clipped(name: str, width: int) -> str:
    """The beginning and the end of a name that is too long."""
    if len(name) <= width:
        return name
    head = (width - 1) // 3
    return f"{name[:head]}…{name[head + 1 - width :]}"


def _ended(evaluation: Evaluation, outcome: Outcome) -> Iterable[tuple[str, Sequence[Table]]]:
    """What is said of each case that ended so, and what can be shown beside it."""
    for suite in evaluation.suites:
        for sample in suite.samples:
            if sample.outcome == outcome:
                label = f"{sample.label} " if sample.label else ""
                text = f"{label}{suite.key}::{sample.id}: {sample.message}"
                yield text, suite.attachments.get(sample.id, ())
