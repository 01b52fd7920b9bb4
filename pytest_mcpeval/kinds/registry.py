"""All kinds by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.agent.declaration import AgentDeclaration
from pytest_mcpeval.kinds.retrieval.declaration import RetrievalDeclaration
from pytest_mcpeval.kinds.scenario.declaration import ScenarioDeclaration
from pytest_mcpeval.kinds.security.declaration import SecurityDeclaration
from pytest_mcpeval.kinds.session.declaration import SessionDeclaration

if TYPE_CHECKING:
    from pytest_mcpeval.core.declaration import KindDeclaration
    from pytest_mcpeval.core.kind import Kind
    from pytest_mcpeval.kinds.scenario.checks import CheckRegistry

_OURS = (ScenarioDeclaration, RetrievalDeclaration, SecurityDeclaration, AgentDeclaration, SessionDeclaration)

KIND_COMMANDS = {name: module for declaration in _OURS for name, module in declaration.commands.items()}
"""The commands of the console script that belong to our kinds: name → module."""


_BY_NAME: Mapping[str, KindDeclaration] = {declaration.name: declaration() for declaration in _OURS}


def declaration_of(kind: str) -> KindDeclaration | None:
    """What is declared of one of our kinds; None for others."""
    return _BY_NAME.get(kind)


class Kinds(Mapping[str, "Kind[Any]"]):
    """All kinds by name: ours, and the ``others`` that hooks registered.

    One of ours is imported when it is first asked for. What a session has no document of costs it nothing.

    Raises:
        ValueError: Two kinds have the same name.
    """

    def __init__(self, checks: CheckRegistry, others: Iterable[Kind[Any]] = ()) -> None:
        self._checks = checks
        self._made: dict[str, Kind[Any]] = {}
        self.declarations: dict[str, KindDeclaration] = {
            declaration.name: declaration() for declaration in _OURS
        }
        """How documents of each kind look, by its name."""
        for kind in others:
            if kind.name in self.declarations:
                raise ValueError(f"two kinds of evaluation are named {kind.name!r}: rename one")
            self.declarations[kind.name] = self._made[kind.name] = kind

    def __getitem__(self, name: str) -> Kind[Any]:
        if name not in self._made and name in self.declarations:
            self._made[name] = _imported(name, self._checks)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.declarations)

    def __len__(self) -> int:
        return len(self.declarations)

    def __contains__(self, name: object) -> bool:
        return name in self.declarations


def _imported(name: str, checks: CheckRegistry) -> Kind[Any]:
    if name == ScenarioDeclaration.name:
        from pytest_mcpeval.kinds.scenario.kind import ScenarioKind

        return ScenarioKind(checks)
    if name == RetrievalDeclaration.name:
        from pytest_mcpeval.kinds.retrieval.kind import RetrievalKind

        return RetrievalKind()
    if name == SecurityDeclaration.name:
        from pytest_mcpeval.kinds.security.kind import SecurityKind

        return SecurityKind()
    if name == AgentDeclaration.name:
        from pytest_mcpeval.kinds.agent.kind import AgentKind

        return AgentKind()
    if name == SessionDeclaration.name:
        from pytest_mcpeval.kinds.session.kind import SessionKind

        return SessionKind(checks)
    raise LookupError(f"the kind {name!r} is declared here, and _imported does not make it")
