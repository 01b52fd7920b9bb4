"""Turn YAML text into plain data in one pass over libyaml's events, collecting every problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn

import yaml
from yaml.events import (
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from .messages import duplicate_key, shortened, shown
from .parsed import EntryLines, Parsed
from .problems import DataFileError, Problem
from .source import Limits, Source
from .yaml_events import Events
from .yaml_scalars import TAG_PREFIX, Scalar, resolve, resolve_tagged, unsupported_tag

_MERGE: Final = "<<"


def _is_plain(event: Any) -> bool:
    return type(event) is ScalarEvent and bool(event.implicit[0])


class _Anchored(NamedTuple):
    value: Any
    nodes: int
    height: int


def parse(source: Source, limits: Limits) -> Parsed:
    """Return the data of a YAML file.

    Raises:
        DataFileError: With every problem up to the end, or up to the first that stops the parser.
    """
    builder = _Builder(source, limits)
    try:
        data = builder.document()
    except yaml.YAMLError as error:
        raise DataFileError([*builder.problems, *builder.events.syntax_error(error).problems]) from error
    except DataFileError as error:
        raise DataFileError([*builder.problems, *error.problems]) from error
    if builder.problems:
        raise DataFileError(builder.problems)
    return Parsed(data, builder.entry_lines(data), builder.nodes, builder.deepest)


class _Builder:
    """Builds data from events; recursion is bounded by the depth limit."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.max_nodes = limits.max_nodes
        self.events = Events(source)
        self.next: Callable[[], Any] = self.events.parser.get_event
        self.problems: list[Problem] = []
        self.nodes = 0
        self.deepest = 0
        self.anchors: dict[str, _Anchored | None] = {}
        self.plain: dict[str, Scalar] = {}
        self.root_line = 1
        # By id(); the list is kept alive so that no other list can get the same id.
        self.list_lines: dict[int, tuple[list[Any], list[int]]] = {}

    def document(self) -> Any:
        self.next()
        event = self.next()
        if type(event) is not DocumentStartEvent:
            raise self.source.error(0, "is empty: expected a mapping or a list")
        event = self.next()
        if type(event) is ScalarEvent and event.implicit[0] and not event.value:
            raise self.source.error(0, "is empty: expected a mapping or a list")
        self.root_line = self.events.line(event)
        data = self.value(event, 0)
        self.next()
        event = self.next()
        if type(event) is DocumentStartEvent:
            self.report(event, "a second document starts here: expected one per file, split the file at ---")
        return data

    def entry_lines(self, data: Any) -> EntryLines:
        if id(data) in self.list_lines:
            return EntryLines(self.root_line, self.list_lines[id(data)][1])
        lists = data.items() if isinstance(data, dict) else ()
        by_key = {key: self.list_lines[id(value)][1] for key, value in lists if id(value) in self.list_lines}
        return EntryLines(self.root_line, (), by_key)

    def value(self, event: Event, depth: int) -> Any:
        kind = type(event)
        if kind is ScalarEvent:
            return self.scalar(event)
        if kind is MappingStartEvent:
            return self.container(event, depth + 1, self.mapping)
        if kind is SequenceStartEvent:
            return self.container(event, depth + 1, self.sequence)
        return self.alias(event, depth)

    def scalar(self, event: Any) -> Scalar:
        text: str = event.value
        self.nodes += 1 + (len(text) >> 6)
        if self.nodes > self.max_nodes:
            self.too_many(event)
        if event.tag is not None:
            value = self.resolved(event, lambda: resolve_tagged(text, event.tag))
        elif not event.implicit[0]:
            value = text
        elif text in self.plain:
            value = self.plain[text]
        else:
            value = self.plain[text] = self.resolved(event, lambda: resolve(text))
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, 1 + (len(text) >> 6), 0)
        return value

    def resolved(self, event: Event, resolver: Callable[[], Scalar]) -> Scalar:
        try:
            return resolver()
        except ValueError as error:
            self.report(event, str(error))
            return None

    def container(self, event: Any, depth: int, build: Callable[[Any, int], Any]) -> Any:
        self.check_container(event, depth)
        anchor = event.anchor
        if anchor is None:
            return build(event, depth)
        self.anchors[anchor] = None
        nodes, deepest, self.deepest = self.nodes, self.deepest, depth
        value = build(event, depth)
        self.anchors[anchor] = _Anchored(value, self.nodes - nodes + 1, self.deepest - depth + 1)
        self.deepest = max(deepest, self.deepest)
        return value

    def check_container(self, event: Any, depth: int) -> None:
        self.nodes += 1
        if self.nodes > self.max_nodes:
            self.too_many(event)
        if depth > self.deepest:
            self.deepest = self.check_depth(event, depth)
        name = "map" if type(event) is MappingStartEvent else "seq"
        if event.tag is not None and event.tag not in (TAG_PREFIX + name, "!"):
            self.report(event, unsupported_tag(event.tag))

    def sequence(self, event: Any, depth: int) -> list[Any]:
        entries: list[Any] = []
        value, following = self.value, self.next
        if depth > 2:
            while type(event := following()) is not SequenceEndEvent:
                entries.append(value(event, depth))
            return entries
        lines: list[int] = []
        self.list_lines[id(entries)] = (entries, lines)
        while type(event := following()) is not SequenceEndEvent:
            lines.append(self.events.line(event))
            entries.append(value(event, depth))
        return entries

    def mapping(self, event: Any, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first_lines: dict[str, int] = {}
        merged: list[Any] = []
        merge_line: int | None = None
        value, following = self.value, self.next
        while type(key_event := following()) is not MappingEndEvent:
            key = self.key(key_event, depth)
            event = following()
            if key == _MERGE and _is_plain(key_event):
                if merge_line is not None:
                    self.duplicate(key_event, key, merge_line)
                merge_line = key_event.start_mark.line
                merged += self.mergeable(event, value(event, depth))
            elif key is None:
                value(event, depth)
            elif key in data:
                self.duplicate(key_event, key, first_lines[key])
                value(event, depth)
            else:
                first_lines[key] = key_event.start_mark.line
                data[key] = value(event, depth)
        for mapping in merged:
            data |= mapping | data
        return data

    def key(self, event: Any, depth: int) -> str | None:
        """Return the key, or None after reporting a problem."""
        key = self.value(event, depth)
        if type(key) is str:
            return key
        if type(event) is ScalarEvent:
            text = event.value
            self.report(event, f"the key {shortened(text)} is not a text: quote it: {shown(text)}")
        else:
            self.report(event, f"a key must be a text, found {shown(key)}")
        return None

    def mergeable(self, event: Event, value: Any) -> list[Any]:
        mappings = value if isinstance(value, list) else [value]
        if all(isinstance(mapping, dict) for mapping in mappings):
            return mappings
        self.report(event, f"<< merges a mapping or a list of mappings, found {shown(value)}")
        return []

    def duplicate(self, event: Any, key: str, first: int) -> None:
        line = self.events.editor_line(first)
        self.report(event, duplicate_key(key, line))

    def alias(self, event: Any, depth: int) -> Any:
        name = event.anchor
        found = self.anchors.get(name)
        if found is None:
            missing = f"has no anchor: expected &{shortened(name)} before it"
            problem = "refers to itself" if name in self.anchors else missing
            self.report(event, f"the alias *{shortened(name)} {problem}")
            return None
        self.nodes += found.nodes
        if self.nodes > self.max_nodes:
            self.too_many(event)
        self.deepest = max(self.deepest, self.check_depth(event, depth + found.height))
        return found.value

    def check_depth(self, event: Event, depth: int) -> int:
        if depth > self.limits.max_depth:
            self.report(event, self.limits.too_deep)
            raise DataFileError([])
        return depth

    def too_many(self, event: Event) -> NoReturn:
        self.report(event, self.limits.too_many)
        raise DataFileError([])

    def report(self, event: Event, message: str) -> None:
        self.problems.append(Problem(self.source.path, self.events.line(event), message))
