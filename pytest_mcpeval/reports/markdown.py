"""``report.md``: the tables, gates and failures of a run, for people and pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mcpeval.core.sample import NOT_PASSED
from pytest_mcpeval.reports.json_report import TIMED, steady_message
from pytest_mcpeval.reports.templates import rendered

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation


def text(evaluation: Evaluation, started: str, seconds: float) -> str:
    """The report; ``started`` is an ISO time."""
    return rendered(
        "report.md",
        evaluation=evaluation,
        failures=[
            (suite, sample)
            for suite in evaluation.suites
            for sample in suite.samples
            if sample.outcome in NOT_PASSED
        ],
        gate_name=lambda gate: f"{gate.suite}::{gate.name}",
        steady_message=steady_message,
        timed=TIMED,
        started=started,
        seconds=seconds,
    )
