"""JSON and JSON Lines to plain data at the speed of the json module, with the lines of the entries."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

from .json_syntax import syntax_problem
from .limits import Limits
from .parsed import EntryLines, Parsed, ParsedWithProblemsError
from .problems import DataFileError, Problem
from .source import LINE_BREAK, Source

_SPACE = re.compile(r"[ \t\n\r]*")
_CONTAINERS = (dict, list)


class _SuspectError(Exception):
    """Something the slow scan must look at."""


def parse(source: Source, limits: Limits) -> Parsed:
    """The data of a JSON file.

    Raises:
        DataFileError: With the first syntax error, or with every other problem.
    """
    if not source.text.strip():
        raise source.error(0, "is empty: expected a JSON object or array")
    try:
        reader = _Reader(source.text)
        data = reader.document()
        nodes, depth = measured(data, limits)
        _check_values(data)
    except json.JSONDecodeError as error:
        raise source.error(source.line_at(error.pos), syntax_problem(source.text, error)) from error
    except (_SuspectError, RecursionError, ValueError) as error:
        raise _scanned(source, limits, str(error)) from error
    return Parsed(data, reader.entry_lines(source), nodes, depth)


def parse_lines(source: Source, limits: Limits) -> Parsed:
    """The data of a JSON Lines file: one value per line, blank lines allowed.

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
        nodes, depth = measured(data, limits)
        _check_values(data)
    except (_SuspectError, RecursionError, ValueError) as error:
        raise _row_problems(source, rows, limits) from error
    return Parsed(data, EntryLines(rows[0].first_line, [row.first_line for row in rows]), nodes, depth)


def _row_problems(source: Source, rows: list[Source], limits: Limits) -> DataFileError:
    """The problems of every row; without any, the rows together are too many."""
    inner = replace(limits, max_depth=max(1, limits.max_depth - 1))
    problems: list[Problem] = []
    for row in rows:
        try:
            parse(row, inner)
        except DataFileError as error:
            problems += error.problems
    return DataFileError(problems) if problems else source.error(0, limits.too_many)


def measured(data: Any, limits: Limits) -> tuple[int, int]:
    """How many keys and values data holds, and how deep it nests; level by level, without recursion."""
    nodes, depth = 1, 0
    level = [data] if type(data) in _CONTAINERS else []
    while level:
        depth += 1
        nodes += sum(len(node) * 2 if type(node) is dict else len(node) for node in level)
        if nodes > limits.max_nodes or depth > limits.max_depth:
            raise _SuspectError("over the limits")
        level = [child for node in level for child in _children(node) if type(child) in _CONTAINERS]
    return nodes, depth


def _children(node: Any) -> Any:
    return node.values() if type(node) is dict else node


def _scanned(source: Source, limits: Limits, found: str) -> DataFileError:
    """The problems of text of which the reader has seen a part only: the rest of it may be no JSON."""
    from .json_scan import scan

    try:
        json.loads(source.text, parse_int=str)
    except json.JSONDecodeError as error:
        return source.error(source.line_at(error.pos), syntax_problem(source.text, error))
    except RecursionError:
        pass  # What lies above the depth limit is sound: the scan stops there.
    problems = scan(source, limits).problems
    if not problems:
        return source.error(0, f"is not JSON: {found}")
    try:
        # Halves of surrogate pairs have no bytes: whoever reads on must not stumble over them.
        text = json.dumps(json.loads(source.text), ensure_ascii=False).encode("utf-8", "replace")
        return ParsedWithProblemsError(problems, Parsed(json.loads(text), EntryLines(), 0, 0))
    except (RecursionError, ValueError):
        return DataFileError(problems)


class _Reader:
    """Reads the outer two levels itself, to learn where entries start; the C scanner reads the rest."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.decode = json.JSONDecoder(object_pairs_hook=_unique).raw_decode
        self.start = self.skip(0)
        self.rows: list[int] = []
        self.by_key: dict[str, list[int]] = {}

    def document(self) -> Any:
        read = {"{": self.object, "[": self.root_array}.get(self.text[self.start], self.decode)
        data, end = read(self.text, self.start)
        if self.skip(end) != len(self.text):
            self.refuse()
        return data

    def object(self, text: str, position: int) -> tuple[dict[str, Any], int]:
        """The root object; the entries of each array in it are noted by key."""
        pairs: list[tuple[str, Any]] = []
        for start in self.members(position, "}"):
            if text[start : start + 1] != '"':
                self.refuse()
            key, end = self.decode(text, start)
            position = self.skip(end)
            if text[position : position + 1] != ":":
                self.refuse()
            position = self.skip(position + 1)
            if text[position : position + 1] == "[":
                value, self.end = self.array(position, self.by_key.setdefault(key, []))
            else:
                value, self.end = self.decode(text, position)
            pairs.append((key, value))
        return _unique(pairs), self.end

    def root_array(self, text: str, position: int) -> tuple[list[Any], int]:
        """The root array; its entries are noted as rows."""
        return self.array(position, self.rows)

    def array(self, position: int, starts: list[int]) -> tuple[list[Any], int]:
        """An array of which every entry's start is noted."""
        entries: list[Any] = []
        for start in self.members(position, "]"):
            starts.append(start)
            entry, self.end = self.decode(self.text, start)
            entries.append(entry)
        return entries, self.end

    def members(self, position: int, close: str) -> Iterator[int]:
        """Where each member of a container starts; the caller leaves in ``end`` where it ended."""
        position = self.skip(position + 1)
        if self.text[position : position + 1] == close:
            self.end = position + 1
            return
        while True:
            yield position
            position = self.skip(self.end)
            mark = self.text[position : position + 1]
            if mark == close:
                self.end = position + 1
                return
            if mark != ",":
                self.refuse()
            position = self.skip(position + 1)

    def skip(self, position: int) -> int:
        """The position after white space."""
        found = _SPACE.match(self.text, position)
        return found.end() if found else position

    def refuse(self) -> NoReturn:
        """Let the json module word what is wrong."""
        json.loads(self.text)
        raise AssertionError("the json module accepts what this reader refuses")

    def entry_lines(self, source: Source) -> EntryLines:
        """The noted starts as lines."""
        breaks = [found.start() for found in LINE_BREAK.finditer(source.text)]

        def lines(starts: list[int]) -> list[int]:
            return [1 + bisect_left(breaks, start) for start in starts]

        by_key = {key: lines(starts) for key, starts in self.by_key.items()}
        return EntryLines(lines([self.start])[0], lines(self.rows), by_key)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _SuspectError("duplicate keys")
    return data


def _check_values(data: Any) -> None:
    """Refuse what Python's json reads although it is not JSON: NaN, infinities, half surrogate pairs."""
    try:
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError as error:
        raise _SuspectError(str(error)) from error
