"""What a session file is, once it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.kind import Suite
from pytest_mcpeval.kinds.session.discovery import FoundServer
from pytest_mcpeval.kinds.session.records import AbortReason, Scenario, ServerScope
from pytest_mcpeval.kinds.session.state import ScenarioRecord

REPORT_ID = "report"
"""The id of the case that asks the critic and writes the report."""


@dataclass(frozen=True)
class PlannedScenario:
    """A scenario that was approved, with what its file says besides.

    ``note`` says how weak the signal is that it was derived from; ``expect_abort`` is how it is meant to end.
    """

    scenario: Scenario
    note: str = ""
    expect_abort: AbortReason | None = None

    @property
    def id(self) -> str:
        """``S1``, ``S2``, …"""
        return self.scenario.id

    def record(self) -> ScenarioRecord:
        """What the state says of it."""
        return ScenarioRecord(
            id=self.scenario.id,
            source=self.scenario.source,
            description=self.scenario.description,
            targets_mcps=self.scenario.targets_mcps,
            note=self.note,
            expect_abort=self.expect_abort,
        )


@dataclass(frozen=True)
class SessionSpec:
    """What one item is about: a scenario, or with None the report on all of them."""

    planned: PlannedScenario | None


@dataclass(frozen=True, kw_only=True)
class SessionSuite(Suite[SessionSpec]):
    """A session file, loaded. ``settings`` are `SessionSettings`.

    ``root`` is the root directory, ``attached`` and ``filtered`` (name → reason) are the servers that were
    found, ``scopes`` says what may be done to those that are attached. ``digest`` changes with everything
    that decides what is done: scenarios, their steps and agents, dispositions. ``given_budgets`` are those of
    the command line, by the names of the settings.
    """

    root: Path
    attached: Mapping[str, FoundServer]
    filtered: Mapping[str, str]
    scopes: Mapping[str, ServerScope]
    scenarios: tuple[PlannedScenario, ...]
    digest: str
    given_budgets: Mapping[str, Any]

    def scenario(self, scenario_id: str) -> PlannedScenario:
        """The scenario of that id."""
        return next(planned for planned in self.scenarios if planned.id == scenario_id)
