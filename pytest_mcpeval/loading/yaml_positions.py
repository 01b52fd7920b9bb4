"""Find the line of every value of a YAML file that could be parsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent

from .parsed import Key, Position, at_line
from .source import Source
from .yaml_events import Events


def positions(source: Source) -> Position:
    """Return the position tree of a file.

    An alias has its own line, values inside it have those of its anchor.
    """
    walk = _Walk(source)
    walk.next()
    walk.next()
    return walk.value(walk.next())


class _Walk:
    def __init__(self, source: Source) -> None:
        self.events = Events(source)
        self.next: Callable[[], Any] = self.events.parser.get_event
        self.anchors: dict[str, Position] = {}
        self.texts: dict[str, str] = {}

    def value(self, event: Any) -> Position:
        kind, line = type(event), self.events.line(event)
        if kind is AliasEvent:
            return at_line(self.anchors[event.anchor], line)
        position: Position
        if kind is ScalarEvent:
            position = line
            self.texts[event.anchor] = event.value
        else:
            position = (line, self.mapping() if kind is MappingStartEvent else self.sequence())
        self.anchors[event.anchor] = position
        return position

    def sequence(self) -> dict[Key, Position]:
        entries: dict[Key, Position] = {}
        while type(event := self.next()) is not SequenceEndEvent:
            entries[len(entries)] = self.value(event)
        return entries

    def mapping(self) -> dict[Key, Position]:
        found: dict[Key, Position] = {}
        merged: list[Position] = []
        while type(event := self.next()) is not MappingEndEvent:
            line = self.events.line(event)
            self.value(event)
            is_scalar = type(event) is ScalarEvent
            key = event.value if is_scalar else self.texts[event.anchor]
            value = self.value(self.next())
            if key == "<<" and is_scalar and event.implicit[0]:
                merged += _merged(value)
            else:
                found[key] = at_line(value, line)
        for position in merged:
            if not isinstance(position, int):
                found = {**position[1], **found}
        return found


def _merged(position: Position) -> list[Position]:
    """Return the mappings that a ``<<`` value names: itself, or the entries of a list."""
    if isinstance(position, int) or any(isinstance(key, str) for key in position[1]):
        return [position]
    return list(position[1].values())
