"""A slow second look at JSON text: the line of every value, and what the fast parser cannot say well."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

from .limits import Limits
from .messages import duplicate_key
from .parsed import Key
from .positions import Position, at_line, line_of
from .problems import Problem
from .source import Source

_TOKEN = re.compile(r'(?P<line_break>\r\n|\n|\r)|"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_LONGEST_INTEGER = 4300


@dataclass
class _Container:
    line: int
    is_object: bool
    children: dict[Key, Position] = field(default_factory=dict)
    key: str | None = None
    key_line: int = 0


@dataclass(frozen=True)
class Scan:
    """The positions of a JSON text, and its problems."""

    positions: Position
    problems: list[Problem]


def scan(source: Source, limits: Limits) -> Scan:
    """Scan JSON text that is well-formed, at least down to the depth limit; never recurses."""
    return _Scanner(source, limits).scan()


class _Scanner:
    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.problems: list[Problem] = []
        self.open: list[_Container] = []
        self.root: Position = source.first_line
        self.nodes = 0

    def scan(self) -> Scan:
        line = self.source.first_line
        for token in _TOKEN.finditer(self.source.text):
            if token["line_break"]:
                line += 1
                continue
            self.token(token[0], line)
            if self.over_limits(line):
                break
        return Scan(self.root, self.problems)

    def token(self, text: str, line: int) -> None:
        if text in ("{", "["):
            self.open.append(_Container(line, text == "{"))
        elif text in ("}", "]"):
            closed = self.open.pop()
            self.add((closed.line, closed.children))
        elif text.startswith('"') and self.expects_key():
            self.key(self.string(text, line), line)
        elif text not in (",", ":"):
            self.check_scalar(text, line)
            self.add(line)

    def expects_key(self) -> bool:
        return bool(self.open) and self.open[-1].is_object and self.open[-1].key is None

    def key(self, key: str, line: int) -> None:
        container = self.open[-1]
        if key in container.children:
            self.report(line, duplicate_key(key, line_of(container.children[key])))
        container.key, container.key_line = key, line
        self.nodes += 1

    def add(self, position: Position) -> None:
        self.nodes += 1
        if not self.open:
            self.root = position
            return
        container = self.open[-1]
        if container.key is None:
            container.children[len(container.children)] = position
        else:
            container.children.setdefault(container.key, at_line(position, container.key_line))
            container.key = None

    def check_scalar(self, text: str, line: int) -> None:
        if text.startswith('"'):
            self.string(text, line)
        elif text in ("NaN", "Infinity", "-Infinity"):
            self.report(line, f"{text} is not JSON: write a finite number or null")
        elif text.lstrip("-").isdigit() and len(text) > _LONGEST_INTEGER:
            self.report(line, f"the number {text[:40]}… is too long: quote it if it is meant as text")
        elif text[0] in "-0123456789" and math.isinf(float(text)):
            self.report(line, f"the number {text[:40]} is too large: quote it if it is meant as text")

    def string(self, text: str, line: int) -> str:
        value = str(json.loads(text, strict=False))
        if any("\ud800" <= character <= "\udfff" for character in value):
            self.report(
                line, "half a surrogate pair is no character: write both \\u escapes, or the character"
            )
        return value

    def over_limits(self, line: int) -> bool:
        if len(self.open) > self.limits.max_depth:
            self.report(line, self.limits.too_deep)
        elif self.nodes > self.limits.max_nodes:
            self.report(line, self.limits.too_many)
        else:
            return False
        return True

    def report(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.source.path, line, message))
