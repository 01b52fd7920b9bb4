"""The result of a session as plain data, which every report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_mcpeval.core.charts import Chart
from pytest_mcpeval.core.gate import Completeness, GateResult, Verdict
from pytest_mcpeval.core.headline import Headline
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.sample_store import Selection
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.text.redact import redactor


@dataclass(frozen=True)
class SuiteResult:
    """One suite at the end of a session.

    ``compared`` is what changed against its baseline; ``attachments`` what is shown beside each case that did
    not pass, by its id. ``for_information`` are the wrong cases that no gate looks at, where others were
    evaluated. ``lines`` are those of the data file on which its cases begin, ``headlines`` what is said of it
    in one line.
    """

    selection: Selection
    complete: Completeness
    samples: Sequence[Sample]
    metrics: Mapping[str, Any]
    run: Mapping[str, Any]
    gates: Sequence[GateResult]
    compared: Mapping[str, Any] = field(default_factory=dict)
    attachments: Mapping[str, Sequence[Table]] = field(default_factory=dict)
    for_information: Sequence[str] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    headlines: Sequence[Headline] = ()

    @property
    def key(self) -> str:
        """The suite's path relative to the root directory."""
        return self.selection.suite

    @property
    def undecided(self) -> list[str]:
        """The wrong cases about which a gate should have decided and none did."""
        known = frozenset(self.for_information)
        return [one.id for one in self.samples if one.outcome == "wrong" and one.id not in known]


@dataclass(frozen=True)
class Evaluation:
    """Everything a report shows. ``reason`` says in a line why the verdict is what it is.

    ``notes`` are sentences on what was written. ``session_gates`` belong to no suite. ``totals`` are those of
    all suites of a kind, by its name; ``totals_of_run`` what of them differs from run to run. ``options`` are
    those of the command line that change what is measured.
    """

    suites: Sequence[SuiteResult]
    tables: Sequence[Table]
    verdict: Verdict
    reason: str
    notes: Sequence[str] = ()
    session_gates: Sequence[GateResult] = ()
    charts: Sequence[Chart] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
    totals_of_run: Mapping[str, Any] = field(default_factory=dict)
    options: Sequence[str] = ()

    def redacted(self) -> Evaluation:
        """The same without values that came from the environment, in what reports show besides samples."""
        if redactor.is_empty:
            return self
        return replace(
            self,
            suites=[
                replace(
                    suite,
                    gates=[_gate(gate) for gate in suite.gates],
                    attachments={
                        case: [_table(one) for one in found] for case, found in suite.attachments.items()
                    },
                )
                for suite in self.suites
            ],
            tables=[_table(table) for table in self.tables],
            reason=redactor.text(self.reason),
            notes=[redactor.text(note) for note in self.notes],
            session_gates=[_gate(gate) for gate in self.session_gates],
        )

    @property
    def gates(self) -> list[GateResult]:
        """All gates, in the order of their suites."""
        return [*(gate for suite in self.suites for gate in suite.gates), *self.session_gates]

    @property
    def is_partial(self) -> bool:
        """Whether cases were left out, or nothing was decided on wrong ones: it is no verdict on a suite."""
        return any(gate.verdict == "not_evaluated" for gate in self.gates) or any(
            suite.complete.partial or suite.undecided for suite in self.suites
        )


def _gate(gate: GateResult) -> GateResult:
    return replace(gate, message=redactor.text(gate.message))


def _table(table: Table) -> Table:
    rows = tuple(replace(row, cells=tuple(map(redactor.text, row.cells))) for row in table.rows)
    return replace(table, rows=rows, brief=redactor.text(table.brief))
