"""The ``*.scenarios.yaml`` that an interview ends with: what a CI job needs to run the evaluation alone."""

from __future__ import annotations

from typing import Any

from pytest_mcpeval.kinds.session.discovery import USER_FILE
from pytest_mcpeval.kinds.session.scope import Approved, Proposal
from pytest_mcpeval.kinds.session.state import SafetyDisposition, State

_HEAD = """\
# Written by pytest-mcpeval scope. Before it runs: say who carries the scenarios out, with `agent:` here or in
# the entry of mcpeval.yaml, or with `steps:` in each scenario.
"""


def scenarios_file(state: State, approved: Approved) -> str:
    """The YAML of dispositions, scenarios and approval."""
    import yaml

    has_user_servers = any(server.source.endswith(USER_FILE) for server in state.attached_mcps)
    data = {
        "kind": "session",
        **({"user_servers": True} if has_user_servers else {}),
        "dispositions": {one.mcp_name: _disposition(one) for one in state.safety_dispositions},
        "approval": approved.approval,
        "scenarios": [_scenario(one) for one in approved.scenarios],
    }
    return _HEAD + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


def _disposition(found: SafetyDisposition) -> Any:
    more = {
        **({"test_resources": list(found.test_resources)} if found.test_resources else {}),
        **({"notes": found.notes} if found.notes else {}),
    }
    return {"disposition": found.disposition, **more} if more else found.disposition


def _scenario(found: Proposal) -> dict[str, Any]:
    return {
        "description": found.description,
        **({"source": found.source} if found.source == "derived" else {}),
        **({"note": found.note} if found.note else {}),
        **({"targets_mcps": list(found.targets_mcps)} if found.targets_mcps else {}),
    }
