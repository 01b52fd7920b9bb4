"""The end of a terminal run: evidence, what got worse, suites, tables, cases, gates, notes, verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mcpeval.core.gate import gate_nodeid, names
from pytest_mcpeval.core.tables import Rating, Row, Table
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.reports.summary import (
    COLUMNS,
    changes,
    figures_of,
    suite_lines,
    unjudged_gates,
    wrong_gates,
)
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
SHORTEST_NAME = 12
TIMES = COLUMNS[-1]
LEFT_OUT_FIRST = (TIMES, "kind", "change", "gates")
"""Columns, where the terminal is narrow."""
SHOWN_CASES = 20
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
    changed = changes(evaluation)
    words = f"{evaluation.reason}{f' ({hint})' if hint else ''}{f'; {changed}' if changed else ''}"
    reporter.write_line(visible(f": {words}"))


def print_summary(
    reporter: pytest.TerminalReporter,
    evaluation: Evaluation,
    reports: str,
    problems: Sequence[str],
) -> None:
    """Print the section: what got worse, then a line for each suite.

    With ``-q`` totals in a line, gates that did not pass, and notes. With ``-v`` all tables and gates, and
    with ``-vv`` all cases. ``reports`` says where they are, ``problems`` why one could not be written.
    """
    verbosity = reporter.config.get_verbosity()
    gates = [gate for gate in evaluation.gates if verbosity >= 0 or gate.verdict != "passed"]
    tables = [table for table in evaluation.tables if table.rows]
    inconclusive = reporter.getreports("inconclusive")
    if not (evaluation.suites or tables or gates or evaluation.notes or reports or problems or inconclusive):
        return
    section = _Section(reporter)
    if verbosity < 0:
        section.brief(tables)
        section.gates("Gates", gates)
    else:
        # The first write_line after the letters begins with one, which would tear a table's heading apart.
        reporter.ensure_newline()
        reporter.section("mcpeval")
        if not verbosity:
            section.gates("What is wrong", wrong_gates(evaluation))
        section.suites(evaluation)
    if verbosity > 0:
        section.tables(tables)
        tolerated = list(_ended(evaluation, "tolerated"))
        section.left_to_gates("Tolerated ({}; gates decide)", tolerated, SHOWN_CASES)
    if verbosity or reporter.config.option.tbstyle == "no":
        section.left_to_gates("Wrong ({}; no gate decided)", list(_ended(evaluation, "wrong")), SHOWN_CASES)
    if verbosity >= 0 or any(report.failed for report in inconclusive):
        section.inconclusive(inconclusive)
    if verbosity > 0:
        section.gates("Gates", gates)
    elif not verbosity:
        section.unjudged(unjudged_gates(evaluation), is_brief=evaluation.verdict == "passed")
    for note in evaluation.notes:
        reporter.write_line(visible(note.replace(f"{Path.cwd()}/", "")))
    if reports:
        reporter.write_line(reports)
    for problem in problems:
        reporter.write_line(f"ERROR: {problem}", red=True)


class _Section:
    """Writes to the terminal, as wide as it is."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter
        self._width: int = reporter.config.get_terminal_writer().fullwidth
        self._verbose = reporter.config.get_verbosity() > 1

    def brief(self, tables: Sequence[Table]) -> None:
        parts = [visible(table.brief) for table in tables if table.brief]
        if parts:
            self._reporter.write_line("; ".join(parts))

    def suites(self, evaluation: Evaluation) -> None:
        """A line for each suite: names are shortened, and columns left out, until it fits.

        Tokens and costs that have no room stand in a line below.
        """
        lines = suite_lines(evaluation)
        rows = [COLUMNS, *(tuple(map(visible, line.cells)) for line in lines)]
        widths = {name: max(len(row[column]) for row in rows) for column, name in enumerate(COLUMNS)}
        widths[TIMES] = max(len(row[-1].partition(", ")[0]) for row in rows)
        for count in range(len(LEFT_OUT_FIRST) + 1):
            widths = {name: width for name, width in widths.items() if name not in LEFT_OUT_FIRST[:count]}
            over = sum(widths.values()) + len(widths) - self._width
            if widths["suite"] - over >= SHORTEST_NAME:
                break
        widths["suite"] = max(SHORTEST_NAME, widths["suite"] - max(0, over))
        ratings: list[Rating] = ["", *(line.rating for line in lines)]
        for number, (row, rating) in enumerate(zip(rows if lines else (), ratings, strict=False)):
            cells = dict(zip(COLUMNS, row, strict=True))
            times, _, further = cells[TIMES].partition(", ")
            shown = {name: f"{_clipped(cells[name], width):<{width}}" for name, width in widths.items()}
            shown["cases"] = f"{cells['cases']:>{widths['cases']}}"
            start = " ".join(text for name, text in shown.items() if name not in ("", TIMES))
            room = self._width - len(start) - 4
            if TIMES in widths:
                start += f" {times if len(cells[TIMES]) > room else cells[TIMES]}"
            self._reporter.write(shown[""], **MARKUP[rating])
            self._reporter.write_line(f" {start}".rstrip(), bold=not number)
            if further and (len(cells[TIMES]) > room or TIMES not in widths):
                self._reporter.write_line(f"{'':<{3 + widths.get('kind', -1)}}{further}")

    def unjudged(self, gates: Sequence[tuple[str, str, Sequence[GateResult]]], *, is_brief: bool) -> None:
        """A line for each suite with gates that judge nothing, or one for all."""
        if is_brief and gates:
            count = counted(sum(len(found) for *_, found in gates), "gate")
            self._reporter.write("NOT SET ", yellow=True)
            self._reporter.write_line(f"{count} of {counted(len(gates), 'suite')} (-v says why)")
            return
        for word, suite, found in gates:
            reasons = {gate.message.partition(": ")[2] for gate in found}
            reason = f" ({reasons.pop()})" if len(reasons) == 1 else ""
            line = visible(f"{suite}: {names([gate.name for gate in found])}{reason}")
            self._reporter.write(f"{word} ", yellow=True)
            room = self._width - len(word) - 2
            self._reporter.write_line(line if len(line) <= room else f"{line[: room - 1]}…")

    def tables(self, tables: Iterable[Table]) -> None:
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
            self._reporter.write_line(f"  … and {len(cases) - len(shown)} more (-vv lists all)")

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
            self._reporter.write_line(f"  … and {left} more (-vv lists all)")

    def gates(self, title: str, gates: Sequence[GateResult]) -> None:
        if gates:
            self._reporter.write_line(title, bold=True)
        for gate in gates:
            self._reporter.write("  ")
            self._reporter.write(_words(gate.verdict).upper(), **_markup(gate.verdict))
            self._reporter.write_line(f" {visible(gate_nodeid(gate))}")
            figures = figures_of(gate) if gate.verdict == "failed" else ""
            cases = f"cases: {names(gate.cases)}" if gate.cases else ""
            for text in filter(None, (figures, gate.message, cases)):
                for line in self._wrapped(text):
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
