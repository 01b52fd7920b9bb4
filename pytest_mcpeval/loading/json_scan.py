"""A slower second pass over JSON text, for the line of every value and for error messages."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

from .messages import duplicate_key, shortened
from .parsed import Key, Position, at_line, line_of
from .problems import Problem
from .source import LINE_BREAK, Limits, Source

_TOKEN = re.compile(r'(?P<line_break>\r\n|\n|\r)|"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_LONGEST_INTEGER = 4300
_SHOWN = 20


def problems_of(source: Source, limits: Limits) -> list[Problem]:
    """Return the problems of JSON text: its first syntax error, or all other problems."""
    try:
        json.loads(source.text, parse_int=str)
    except json.JSONDecodeError as error:
        line, message = source.line_at(error.pos), _syntax_problem(source.text, error)
        return [Problem(source.path, line, message)]
    except RecursionError:
        pass  # The text is well-formed down to the depth limit, where the scan stops.
    return Scan(source, limits).problems


@dataclass
class _Container:
    line: int
    is_object: bool
    children: dict[Key, Position] = field(default_factory=dict)
    key: str | None = None
    key_line: int = 0


class Scan:
    """The ``positions`` of a JSON text, and its ``problems``.

    The text must be well-formed, at least down to the depth limit. It never recurses.
    """

    def __init__(self, source: Source, limits: Limits) -> None:
        self.problems: list[Problem] = []
        self.positions: Position = source.first_line
        self._path = source.path
        self._open: list[_Container] = []
        self._nodes = 0
        line = source.first_line
        for token in _TOKEN.finditer(source.text):
            if token["line_break"]:
                line += 1
                continue
            self._take(token[0], line)
            if len(self._open) > limits.max_depth:
                self._report(line, limits.too_deep)
                break
            if self._nodes > limits.max_nodes:
                self._report(line, limits.too_many)
                break

    def _take(self, token: str, line: int) -> None:
        if token in ("{", "["):
            self._open.append(_Container(line, token == "{"))
        elif token in ("}", "]"):
            closed = self._open.pop()
            self._add((closed.line, closed.children))
        elif token not in (",", ":"):
            self._check_scalar(token, line)
            container = self._open[-1] if self._open else None
            if container is not None and container.is_object and container.key is None:
                self._open_key(container, json.loads(token, strict=False), line)
            else:
                self._add(line)

    def _open_key(self, container: _Container, key: str, line: int) -> None:
        if key in container.children:
            self._report(line, duplicate_key(key, line_of(container.children[key])))
        container.key, container.key_line = key, line
        self._nodes += 1

    def _add(self, position: Position) -> None:
        self._nodes += 1
        if not self._open:
            self.positions = position
            return
        container = self._open[-1]
        if container.key is None:
            container.children[len(container.children)] = position
        else:
            container.children.setdefault(container.key, at_line(position, container.key_line))
            container.key = None

    def _check_scalar(self, token: str, line: int) -> None:
        if token.startswith('"'):
            if re.search("[\ud800-\udfff]", json.loads(token, strict=False)):
                message = "half a surrogate pair is not a character: write both \\u escapes, or the character"
                self._report(line, message)
        elif token in ("NaN", "Infinity", "-Infinity"):
            self._report(line, f"{token} is not JSON: write a finite number or null")
        elif token.lstrip("-").isdigit() and len(token) > _LONGEST_INTEGER:
            self._report(line, f"the number {token[:40]}… is too long: quote it if it is meant as text")
        elif token[0] in "-0123456789" and math.isinf(float(token)):
            self._report(line, f"the number {token[:40]} is too large: quote it if it is meant as text")

    def _report(self, line: int, message: str) -> None:
        self.problems.append(Problem(self._path, line, message))


def _syntax_problem(text: str, error: json.JSONDecodeError) -> str:
    """Return the message about a syntax error that the json module found, with how to fix it."""
    found = LINE_BREAK.split(text[error.pos : error.pos + _SHOWN + 1])[0]
    words = error.msg.removesuffix(" at").removesuffix(" starting")
    if not text[error.pos :].strip(" \t\r\n"):
        place = ", found the end of the text"
    else:
        place = f", found {shortened(found, _SHOWN)}" if found.strip(" \t") else ""
    return f"is not JSON: {words[:1].lower()}{words[1:]}{place}{_hint(error.msg, found)}"


def _hint(message: str, found: str) -> str:
    if "trailing comma" in message:
        return "; remove this comma"
    if message == "Extra data":
        return "; remove it"
    if found[:1] in ("]", "}"):
        return "; remove the comma before it" if "delimiter" not in message else ""
    if found.startswith(("//", "/*", "#")):
        return "; JSON has no comments"
    if found.startswith("'") or (found and "property name" in message):
        return "; names and texts need double quotes"
    if "control character" in message:
        return "; escape it, as in \\n"
    return ""
