"""The kinds of evaluation. Each folder has the same rooms: schema, load, run, metrics, gates, tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.base import Kind
    from pytest_mcpeval.kinds.scenario.checks import CheckRegistry


def registered_kinds(checks: CheckRegistry, others: Iterable[Kind[Any]] = ()) -> dict[str, Kind[Any]]:
    """All kinds by name: ours, and those that hooks registered.

    Raises:
        ValueError: Two kinds have the same name.
    """
    from pytest_mcpeval.kinds.agent.kind import AgentKind
    from pytest_mcpeval.kinds.retrieval.kind import RetrievalKind
    from pytest_mcpeval.kinds.scenario.kind import ScenarioKind
    from pytest_mcpeval.kinds.security.kind import SecurityKind
    from pytest_mcpeval.kinds.session.kind import SessionKind

    kinds: dict[str, Kind[Any]] = {}
    ours: tuple[Kind[Any], ...] = (
        ScenarioKind(checks),
        RetrievalKind(),
        SecurityKind(),
        AgentKind(),
        SessionKind(checks),
    )
    for kind in (*ours, *others):
        if kind.name in kinds:
            raise ValueError(f"two kinds of evaluation are named {kind.name!r}: rename one")
        kinds[kind.name] = kind
    return kinds
