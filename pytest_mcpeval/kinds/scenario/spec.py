"""One case of a checked scenario file: the calls to make, and what their answers must satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.scenario.checks import ParsedCheck
    from pytest_mcpeval.servers.definitions import ServerDefinition


@dataclass(frozen=True)
class Step:
    """One call. ``name`` is the tool's or prompt's name on the server, or the resource's URI.

    ``capture`` maps a name to the JSONPath of the value that later steps see as ``${name}``.
    ``expects_rejection``: what is sent is invalid on purpose. ``expects_empty``: the answer has no content.
    """

    target: Literal["tool", "resource", "prompt"]
    name: str
    arguments: Mapping[str, Any]
    checks: tuple[ParsedCheck, ...]
    timeout: float
    capture: Mapping[str, str] = field(default_factory=dict)
    expects_rejection: bool = False
    expects_empty: bool = False

    @property
    def texts(self) -> list[Any]:
        """Everything that may contain placeholders."""
        return [self.name, self.arguments, [check.rule for check in self.checks]]


@dataclass(frozen=True)
class ScenarioSpec:
    """The calls of a case. ``tolerated``: a gate of the suite decides about a wrong answer."""

    name: str
    description: str
    steps: tuple[Step, ...]
    server: ServerDefinition
    fresh: bool
    tolerated: bool
