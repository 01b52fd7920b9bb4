"""Manifest and case → the directive of a visit, and the plan of a whole run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_mcpeval.browser.artifacts import RunFolder
from pytest_mcpeval.browser.directive import Directive
from pytest_mcpeval.core.baseline import write_atomically
from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.kinds.agent.folders import run_folder
from pytest_mcpeval.kinds.agent.load import AgentSuite
from pytest_mcpeval.kinds.agent.schema import AgentCase
from pytest_mcpeval.kinds.agent.urls import filled, with_origin

PLAN_VERSION = 1


def directive_of(
    suite: AgentSuite,
    case: AgentCase,
    run: RunFolder | None = None,
    *,
    base_url: str | None = None,
    storage_state: str | Mapping[str, Any] | None = None,
) -> Directive:
    """Return the directive of a case for the driver.

    ``run`` is the folder to capture into, by default that of the suite's run. ``base_url`` is where the
    agent really runs: its origin takes the place of that in the manifest.
    """
    manifest, folder = suite.manifest, run or run_folder(suite)
    url = manifest.access.url if base_url is None else with_origin(manifest.access.url, base_url)
    ui = manifest.observability.ui_introspection
    place = [one.id for one in manifest.cases].index(case.id)
    return Directive(
        agent=manifest.name,
        run_id=folder.path.name,
        case_id=case.id,
        url=filled(url, placeholders(folder, case)),
        input=case.input,
        folder=folder.case(case.id),
        interaction=manifest.interaction,
        reveal_actions=() if ui is None else ui.reveal_actions,
        navigation_timeout_ms=round(suite.settings.navigation_timeout * 1000),
        auth=manifest.access.auth,
        storage_state=suite.settings.storage_state if storage_state is None else storage_state,
        slot_hint=place % suite.options.driver.pool_size,
        same_host=manifest.page_host_policy == "same_host",
    )


def placeholders(folder: RunFolder, case: AgentCase) -> dict[str, str]:
    """Return the values of ``{case_id}`` and ``{run_id}``."""
    return {"case_id": case.id, "run_id": folder.path.name}


def write_plan(path: Path, suites: Sequence[Suite[Any]], selected: Mapping[str, Sequence[str]]) -> None:
    """Write the plan of the one agent of which cases were selected.

    Raises:
        ValueError: There is none or several, or the file cannot be written.
    """
    chosen = [suite for suite in suites if selected.get(suite.key)]
    if len(chosen) != 1:
        keys = ", ".join(suite.key for suite in chosen)
        found = f"several were collected ({keys})" if chosen else "none was collected"
        raise ValueError(f"--mcpeval-plan: a plan is of one agent, and {found}: name one agent.yaml")
    (suite,) = chosen
    assert isinstance(suite, AgentSuite)
    try:
        write_atomically(path, to_json(swarm_plan(suite, selected[suite.key]), indent=1) + "\n")
    except OSError as error:
        raise ValueError(f"--mcpeval-plan: cannot write {path}: {error}") from None


def swarm_plan(suite: AgentSuite, chosen: Collection[str]) -> dict[str, Any]:
    """The plan of a run: one directive for each chosen case, with all its paths and its pool slot."""
    manifest = suite.manifest
    directives = [_as_data(suite, case) for case in manifest.cases if case.id in chosen]
    return {
        "version": PLAN_VERSION,
        "agent_name": manifest.name,
        "manifest_path": str(suite.path.absolute()),
        "run_id": suite.options.run_id,
        "run_dir": str(run_folder(suite).path),
        "pool_size": suite.options.driver.pool_size,
        "directives": directives,
    }


def _as_data(suite: AgentSuite, case: AgentCase) -> dict[str, Any]:
    directive = directive_of(suite, case)
    folder, ui = directive.folder, suite.manifest.observability.ui_introspection
    paths = {
        "landing_screenshot_path": folder.landing_screenshot,
        "landing_dom_snapshot_path": folder.landing_dom,
        "after_submit_screenshot_path": folder.after_submit_screenshot,
        "after_submit_dom_snapshot_path": folder.after_submit_dom,
        "tool_call_log_path": folder.tool_calls,
        "routing_decision_log_path": folder.routing_decisions,
        "step_count_path": folder.step_count,
        "generation_log_path": folder.generations,
    }
    return {
        "case_id": directive.case_id,
        "run_id": directive.run_id,
        "pool_slot": directive.slot_hint,
        "url": directive.url,
        "input": directive.input,
        **directive.interaction.model_dump(),
        "ui_introspection": None if ui is None else ui.model_dump(),
        "case_dir": str(folder.path),
        **{name: str(path) for name, path in paths.items()},
    }
