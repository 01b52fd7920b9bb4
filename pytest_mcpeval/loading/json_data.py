"""Parse JSON and JSON Lines at the speed of the json module, and note the lines of list entries."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .json_scan import problems_of
from .parsed import EntryLines, Parsed
from .problems import DataFileError
from .source import LINE_BREAK, Limits, Source

_SPACE = re.compile(r"[ \t\n\r]*")


def parse(source: Source, limits: Limits) -> Parsed:
    """Return the data of a JSON file.

    Raises:
        DataFileError: With the first syntax error, or with every other problem.
    """
    if not source.text.strip():
        raise source.error(0, "is empty: expected a JSON object or array")
    try:
        reader = _Reader(source.text)
        data = reader.document()
        nodes, depth = _measured(data, limits)
        _check_values(data)
    except (RecursionError, ValueError) as error:
        problems = problems_of(source, limits)
        raise DataFileError(problems) if problems else source.error(0, f"is not JSON: {error}") from error
    return Parsed(data, reader.entry_lines(), nodes, depth)


def parse_lines(source: Source, limits: Limits) -> Parsed:
    """Return the data of a JSON Lines file: one value per line, blank lines allowed.

    Raises:
        DataFileError: With the problems of every line.
    """
    rows = [
        replace(source, text=text, first_line=number)
        for number, text in enumerate(source.text.split("\n"), start=1)
        if text.strip(" \t\r")
    ]
    if not rows:
        raise source.error(0, "is empty: expected one JSON value per line")
    decode = json.JSONDecoder(object_pairs_hook=_unique).decode
    try:
        data = [decode(row.text) for row in rows]
        nodes, depth = _measured(data, limits)
        _check_values(data)
    except (RecursionError, ValueError) as error:
        inner = replace(limits, max_depth=max(1, limits.max_depth - 1))
        problems = [problem for row in rows for problem in problems_of(row, inner)]
        # Each row is valid, so together they exceed the limit.
        raise DataFileError(problems) if problems else source.error(0, limits.too_many) from error
    return Parsed(data, EntryLines(rows[0].first_line, [row.first_line for row in rows]), nodes, depth)


class _Reader:
    """Reads the outer two levels itself, to note where entries start; the C scanner reads the rest.

    Raises ValueError if the text is not JSON; `problems_of` then makes the messages.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.decode = json.JSONDecoder(object_pairs_hook=_unique).raw_decode
        self.rows: list[int] = []
        self.by_key: dict[str, list[int]] = {}

    def document(self) -> Any:
        first = self.next_character()
        self.start = self.at
        data = self.object() if first == "{" else self.array(self.rows) if first == "[" else self.value()
        if self.next_character():
            raise ValueError("extra data")
        return data

    def object(self) -> dict[str, Any]:
        """Read the root object; note the entries of each array in it by key."""
        pairs: list[tuple[str, Any]] = []
        for _ in self.members("}"):
            if self.next_character() != '"':
                raise ValueError("a key is not a text")
            key = self.value()
            self.take(":")
            is_array = self.next_character() == "["
            pairs.append((key, self.array(self.by_key.setdefault(key, [])) if is_array else self.value()))
        return _unique(pairs)

    def array(self, starts: list[int]) -> list[Any]:
        """Read an array and note where every entry starts."""
        entries: list[Any] = []
        for _ in self.members("]"):
            starts.append(self.at)
            entries.append(self.value())
        return entries

    def members(self, close: str) -> Iterator[None]:
        """Yield at the start of each member of a container; the caller reads the member."""
        self.at += 1
        if self.next_character() == close:
            self.at += 1
            return
        yield
        while self.take("," + close) == ",":
            self.next_character()
            yield

    def value(self) -> Any:
        value, self.at = self.decode(self.text, self.at)
        return value

    def take(self, wanted: str) -> str:
        """Consume the next character, which must be one of ``wanted``."""
        found = self.next_character()
        if not found or found not in wanted:
            raise ValueError(f"expected one of {wanted}, found {found!r}")
        self.at += 1
        return found

    def next_character(self) -> str:
        """Skip white space and return the next character without consuming it; empty at the end."""
        space = _SPACE.match(self.text, self.at)
        assert space is not None
        self.at = space.end()
        return self.text[self.at : self.at + 1]

    def entry_lines(self) -> EntryLines:
        """Return the noted starts as line numbers."""
        breaks = [found.start() for found in LINE_BREAK.finditer(self.text)]

        def lines(starts: list[int]) -> list[int]:
            return [1 + bisect_left(breaks, start) for start in starts]

        by_key = {key: lines(starts) for key, starts in self.by_key.items()}
        return EntryLines(lines([self.start])[0], lines(self.rows), by_key)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("duplicate keys")
    return data


def _measured(data: Any, limits: Limits) -> tuple[int, int]:
    """Return the number of keys and values in data, and its depth.

    Works level by level, without recursion.
    """
    nodes, depth = 1, 0
    level = [data]
    while level := [node for node in level if type(node) is dict or type(node) is list]:
        depth += 1
        nodes += sum(len(node) * 2 if type(node) is dict else len(node) for node in level)
        if nodes > limits.max_nodes or depth > limits.max_depth:
            raise ValueError("over the limits")
        level = [child for node in level for child in (node.values() if type(node) is dict else node)]
    return nodes, depth


def _check_values(data: Any) -> None:
    """Raise ValueError for what only Python's json accepts: NaN, infinities, half surrogates."""
    json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8")
