"""``report.md``: the tables, gates and failures of a run, for people and pull requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_mcpeval.core.sample import NOT_PASSED
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.reports.json_report import TIMED, steady_message
from pytest_mcpeval.text.visible import escaped_markdown as escaped

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation
    from pytest_mcpeval.core.gate import Verdict
    from pytest_mcpeval.core.sample import Sample


def text(evaluation: Evaluation, started: str, seconds: float) -> str:
    """The report; ``started`` is an ISO time."""
    return "\n".join(_lines(evaluation, started, seconds)) + "\n"


def _lines(evaluation: Evaluation, started: str, seconds: float) -> Iterator[str]:
    yield f"# Evaluation report: {words(evaluation.verdict)}"
    yield ""
    yield escaped(evaluation.reason)
    yield from _gates(evaluation)
    for table in evaluation.tables:
        if table.rows:
            yield from _table(table)
    yield from _failures(evaluation)
    yield ""
    yield "## Run"
    yield ""
    yield f"Started {started}, took {seconds:.1f} s."
    yield from _times(evaluation)


def _times(evaluation: Evaluation) -> Iterator[str]:
    """What differs from run to run though nothing has changed."""
    yield ""
    for gate in evaluation.gates:
        if gate.timed:
            yield f"- {escaped(f'{gate.suite}::{gate.name}')}: {escaped(gate.message)}"
    for table in evaluation.tables:
        for row in table.rows:
            if row.timed:
                yield f"- {escaped(table.title)}: {escaped(': '.join(row.cells))}"
    for suite in evaluation.suites:
        for sample in suite.samples:
            for check in sample.checks:
                if check.timed and sample.outcome in NOT_PASSED:
                    yield f"- {escaped(f'{suite.key}::{sample.id}')}: {escaped(check.message)}"


def words(verdict: Verdict) -> str:
    """A verdict as it is written for people."""
    return verdict.replace("_", " ")


def _gates(evaluation: Evaluation) -> Iterator[str]:
    if not evaluation.gates:
        return
    yield ""
    yield "## Gates"
    yield ""
    yield "| gate | verdict | |"
    yield "|---|---|---|"
    for gate in evaluation.gates:
        name = escaped(f"{gate.suite}::{gate.name}")
        yield f"| {name} | {words(gate.verdict)} | {escaped(TIMED if gate.timed else gate.message)} |"


def _table(table: Table, level: str = "##") -> Iterator[str]:
    yield ""
    yield f"{level} {escaped(table.title)}"
    yield ""
    yield f"| {' | '.join(escaped(cell) for cell in table.header)} |"
    yield f"|---|{'---:|' * (len(table.header) - 1)}"
    for row in table.rows:
        if row.timed:
            continue
        yield f"| {' | '.join(escaped(cell) for cell in row.cells)} |"


def _failures(evaluation: Evaluation) -> Iterator[str]:
    failed = [
        (suite.key, sample)
        for suite in evaluation.suites
        for sample in suite.samples
        if sample.outcome in NOT_PASSED
    ]
    attachments = {suite.key: suite.attachments for suite in evaluation.suites}
    if failed:
        yield ""
        yield "## Failures"
    for key, sample in failed:
        yield from _failure(key, sample)
        for attachment in attachments[key].get(sample.id, ()):
            yield from _table(attachment, "####")


def _failure(key: str, sample: Sample) -> Iterator[str]:
    yield ""
    yield f"### {escaped(f'{key}::{sample.id}')} ({sample.outcome})"
    yield ""
    yield escaped(steady_message(sample))
    yield ""
    for check in sample.checks:
        mark = {"passed": "x", "failed": " ", "inconclusive": "?"}[check.status]
        yield f"- [{mark}] {escaped(check.name)}: {escaped(TIMED if check.timed else check.message)}"
