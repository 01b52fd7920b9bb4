"""Carry out a scenario: by scripted steps, a Python agent, an agent program, or a language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.session.execution.agents import Account, run_agent
from pytest_mcpeval.kinds.session.execution.scripted import run_steps
from pytest_mcpeval.kinds.session.records import Scenario, ScenarioOutcome
from pytest_mcpeval.kinds.session.redaction import redacted
from pytest_mcpeval.kinds.session.toolbox import INCIDENTS, Toolbox
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.text.visible import clipped

__all__ = ["execute"]

KEPT_CHARACTERS = 20_000
"""Maximum characters of an agent's final answer that are kept."""


def execute(
    scenario: Scenario, toolbox: Toolbox, *, fixtures: Mapping[str, Any] | None = None
) -> ScenarioOutcome:
    """Carry out a scenario, to its end or to the first limit it meets.

    ``fixtures`` are the values of pytest fixtures by name. Mistakes of an agent are part of the outcome.

    Raises:
        TargetError: The run could not ask: the agent cannot be imported or started, or a server cannot.
    """
    started, account = toolbox.now(), Account()
    if toolbox.abort_reason is None and toolbox.seconds_left <= 0:
        toolbox.trip_wallclock()
    if toolbox.abort_reason is None:
        try:
            if scenario.agent is not None:
                account = run_agent(scenario.agent, scenario.description, toolbox, fixtures or {})
            else:
                account = Account(checks=tuple(run_steps(scenario.steps, toolbox)))
        except CallError as error:
            raise TargetError(error.message) from error
        except INCIDENTS as error:
            raise TargetError(str(error)) from error
        finally:
            toolbox.close()
        ended = toolbox.now()
    else:
        # The time was over before the scenario began.
        started = ended = toolbox.tripped_at or started
    reason = toolbox.abort_reason
    return ScenarioOutcome(
        scenario_id=scenario.id,
        status="aborted" if reason else "complete",
        call_count=toolbox.call_count,
        started=started,
        ended=ended,
        abort_reason=reason,
        answer=clipped(redacted(account.answer), KEPT_CHARACTERS),
        checks=account.checks,
    )
