"""The kinds of evaluation: folders with the same rooms (shape, schema, load, run, metrics, gates, tables)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.agent.shape import AgentShape
from pytest_mcpeval.kinds.retrieval.shape import RetrievalShape
from pytest_mcpeval.kinds.scenario.shape import ScenarioShape
from pytest_mcpeval.kinds.security.shape import SecurityShape
from pytest_mcpeval.kinds.session.shape import SessionShape

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.base import Kind
    from pytest_mcpeval.kinds.scenario.checks import CheckRegistry
    from pytest_mcpeval.kinds.shape import KindShape

_OURS = (ScenarioShape, RetrievalShape, SecurityShape, AgentShape, SessionShape)

KIND_OPTIONS = tuple(option for shape in _OURS for option in shape.option_table)
"""The options of the command line that belong to our kinds."""


class Kinds(Mapping[str, "Kind[Any]"]):
    """All kinds by name: ours, and the ``others`` that hooks registered.

    One of ours is imported when it is first asked for. What a session has no document of costs it nothing.

    Raises:
        ValueError: Two kinds have the same name.
    """

    def __init__(self, checks: CheckRegistry, others: Iterable[Kind[Any]] = ()) -> None:
        self._checks = checks
        self._made: dict[str, Kind[Any]] = {}
        self.shapes: dict[str, KindShape] = {shape.name: shape() for shape in _OURS}
        """How documents of each kind look, by its name."""
        for kind in others:
            if kind.name in self.shapes:
                raise ValueError(f"two kinds of evaluation are named {kind.name!r}: rename one")
            self.shapes[kind.name] = self._made[kind.name] = kind

    def __getitem__(self, name: str) -> Kind[Any]:
        if name not in self._made and name in self.shapes:
            self._made[name] = _imported(name, self._checks)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def __contains__(self, name: object) -> bool:
        return name in self.shapes


def _imported(name: str, checks: CheckRegistry) -> Kind[Any]:
    if name == ScenarioShape.name:
        from pytest_mcpeval.kinds.scenario.kind import ScenarioKind

        return ScenarioKind(checks)
    if name == RetrievalShape.name:
        from pytest_mcpeval.kinds.retrieval.kind import RetrievalKind

        return RetrievalKind()
    if name == SecurityShape.name:
        from pytest_mcpeval.kinds.security.kind import SecurityKind

        return SecurityKind()
    if name == AgentShape.name:
        from pytest_mcpeval.kinds.agent.kind import AgentKind

        return AgentKind()
    from pytest_mcpeval.kinds.session.kind import SessionKind

    return SessionKind(checks)
