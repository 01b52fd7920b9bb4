"""What one scenario case is, once its file is checked: the calls to make, and what must hold of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.scenario.checks import ParsedCheck
    from pytest_mcpeval.servers.definitions import ServerDefinition

PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Step:
    """One call. ``name`` is the tool's or prompt's name on the server, or the resource's URI.

    ``capture`` maps a name to the JSONPath of the value that later steps see as ``${name}``.
    """

    target: Literal["tool", "resource", "prompt"]
    name: str
    arguments: Mapping[str, Any]
    checks: tuple[ParsedCheck, ...]
    timeout: float
    capture: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ScenarioSpec:
    """The calls of a case. ``tolerated``: a gate of the suite decides, so a failure is not the item's."""

    name: str
    description: str
    steps: tuple[Step, ...]
    server: ServerDefinition
    fresh: bool
    tolerated: bool


def placeholders(value: Any) -> Iterator[str]:
    """The names of all ``${name}`` inside JSON data."""
    if isinstance(value, str):
        yield from PLACEHOLDER.findall(value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from placeholders(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from placeholders(inner)


def filled(value: Any, captured: Mapping[str, Any]) -> Any:
    """JSON data with every ``${name}`` of a captured value replaced.

    A text that is nothing but one placeholder takes the value as it is, with its type; inside a longer text,
    a value stands as `text_of` says.
    """
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        if whole and whole[1] in captured:
            return captured[whole[1]]
        return PLACEHOLDER.sub(lambda match: text_of(captured.get(match[1], match[0])), value)
    if isinstance(value, Mapping):
        return {key: filled(inner, captured) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, captured) for inner in value]
    return value


def text_of(value: Any) -> str:
    """JSON data as a text: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
