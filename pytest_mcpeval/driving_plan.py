"""``--mcpeval-plan``: what would be driven, written down without driving it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.baseline import write_atomically
from pytest_mcpeval.items import CaseItem
from pytest_mcpeval.runtime import Runtime
from pytest_mcpeval.samples import to_json


def write_plan(runtime: Runtime, items: Sequence[pytest.Item], path: Path) -> None:
    """Write the plan of the one agent whose cases were collected; ``-k`` and the like select cases of it.

    Raises:
        pytest.UsageError: There is none or several, or the file cannot be written.
    """
    chosen: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, CaseItem) and item.suite.kind == "agent":
            chosen.setdefault(item.suite.key, []).extend(case.id for case in item.cases)
    if len(chosen) != 1:
        found = f"several were collected ({', '.join(chosen)})" if chosen else "none was collected"
        raise pytest.UsageError(f"--mcpeval-plan: a plan is of one agent, and {found}: name one agent.yaml")
    (key,) = chosen
    try:
        write_atomically(path, to_json(_plan(runtime, key, chosen[key]), indent=1) + "\n")
    except OSError as error:
        raise pytest.UsageError(f"--mcpeval-plan: cannot write {path}: {error}") from None


def _plan(runtime: Runtime, key: str, cases: Sequence[str]) -> dict[str, Any]:
    from pytest_mcpeval.kinds.agent.directives import swarm_plan
    from pytest_mcpeval.kinds.agent.spec import AgentSuite

    suite = next(suite for suite in runtime.suites if suite.key == key)
    assert isinstance(suite, AgentSuite)
    return swarm_plan(suite, cases)
