"""What a session file is, once it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.kinds.session.discovery import FoundServer
from pytest_mcpeval.kinds.session.records import Scenario, ServerScope

REPORT_ID = "report"
"""The id of the case that asks the critic and writes the report."""


SessionSpec = Scenario | None
"""What one item is about: a scenario, or with None the report on all of them."""


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
    scenarios: tuple[Scenario, ...]
    digest: str
    given_budgets: Mapping[str, Any]
