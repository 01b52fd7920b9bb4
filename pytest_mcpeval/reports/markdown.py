"""``report.md``: what got worse, suites, gates and cases of a run, for people and pull requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_mcpeval.core.gate import gate_nodeid
from pytest_mcpeval.core.sample import NOT_PASSED
from pytest_mcpeval.core.tables import Rating, Row, Table
from pytest_mcpeval.reports import summary
from pytest_mcpeval.reports.json_report import TIMED, steady_message
from pytest_mcpeval.reports.templates import rendered

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation

SHOWN_FAILURES = 50
SHOWN_TOLERATED = 20
SHOWN_CASES = 10
SHOWN_ROWS = 6
"""Of one table."""
TABLE_LINES = 90
"""Of all tables together: `report.json` has every number."""
RATINGS: Sequence[Rating] = ("bad", "fair", "good", "")


def text(evaluation: Evaluation, started: str, seconds: float) -> str:
    """The report; ``started`` is an ISO time."""
    cases = [
        (suite, sample)
        for suite in evaluation.suites
        for sample in suite.samples
        if sample.outcome in NOT_PASSED
    ]
    return rendered(
        "report.md",
        evaluation=evaluation,
        changes=summary.changes(evaluation),
        columns=summary.COLUMNS,
        suites=summary.suite_lines(evaluation),
        wrong_gates=summary.wrong_gates(evaluation),
        figures=summary.figures_of,
        tables=(tables := _shown_tables(evaluation.tables)),
        left_out=sum(bool(_steady_rows(one)) for one in evaluation.tables) - len(tables),
        failures=[pair for pair in cases if pair[1].outcome != "tolerated"],
        tolerated=[pair for pair in cases if pair[1].outcome == "tolerated"],
        shown_failures=SHOWN_FAILURES,
        shown_tolerated=SHOWN_TOLERATED,
        shown_cases=SHOWN_CASES,
        gate_name=gate_nodeid,
        steady_message=steady_message,
        timed=TIMED,
        started=started,
        seconds=seconds,
    )


def _shown_tables(tables: Sequence[Table]) -> list[Table]:
    """As many as there is room for, those with what is bad first; of a long one the worst rows."""
    shown: list[Table] = []
    room = TABLE_LINES
    for table in sorted(tables, key=lambda table: min(map(_rank, _steady_rows(table)), default=0)):
        rows = _steady_rows(table)
        if len(rows) > SHOWN_ROWS:
            kept = {id(row) for row in sorted(rows, key=_rank)[: SHOWN_ROWS - 1]}
            blank = ("",) * (len(table.header) - 1)
            more = Row((f"and {len(rows) - SHOWN_ROWS + 1} more", *blank))
            rows = [*(row for row in rows if id(row) in kept), more]
        if rows and len(rows) + 3 <= room:
            room -= len(rows) + 3
            shown.append(replace(table, rows=tuple(rows)))
    return shown


def _steady_rows(table: Table) -> list[Row]:
    return [row for row in table.rows if not row.timed]


def _rank(row: Row) -> int:
    return RATINGS.index(row.rating)
