"""The lines of every value of a YAML file, also where keys are no texts and aliases lead nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from .parsed import Key
from .positions import Position, at_line
from .source import Source
from .yaml_events import Events


def positions(source: Source) -> Position:
    """The position tree of a file; an alias has its own line, and within it the lines of its anchor."""
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
        position: Position
        if kind is ScalarEvent:
            position = line
            if event.anchor is not None:
                self.texts[event.anchor] = event.value
        elif kind is MappingStartEvent:
            position = (line, self.mapping())
        elif kind is SequenceStartEvent:
            position = (line, self.sequence())
        else:
            return at_line(self.anchors.get(event.anchor, line), line)
        if event.anchor is not None:
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
            key = self.key(event)
            value = self.value(self.next())
            if key is None:
                # What is below it has no place in the data.
                continue
            if key == "<<" and type(event) is ScalarEvent and event.implicit[0]:
                merged += _merged(value)
            else:
                found[key] = at_line(value, line)
        for position in merged:
            if not isinstance(position, int):
                found = {**position[1], **found}
        return found

    def key(self, event: Any) -> str | None:
        """The text of a key, or None of one that is no text."""
        if type(event) is ScalarEvent:
            return str(event.value)
        return self.texts.get(event.anchor or "") if type(event) is AliasEvent else None


def _merged(position: Position) -> list[Position]:
    """The mappings that a ``<<`` value names: itself, or the entries of a list."""
    if isinstance(position, int) or any(isinstance(key, str) for key in position[1]):
        return [position]
    return list(position[1].values())
