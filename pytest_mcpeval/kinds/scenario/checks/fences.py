"""Fenced code blocks of a Markdown text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

OPENING = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<tag>[^\s`:,{]*)[^`]*$")
LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block: its number in the text from 1, its language tag in lower case, and its code."""

    number: int
    tag: str
    code: str


def code_blocks(text: str) -> Iterator[CodeBlock]:
    """Every fenced block in order; one that is never closed reaches to the end of the text."""
    lines = iter(LINE_END.split(text))
    number = 0
    for line in lines:
        opening = OPENING.match(line)
        if opening is not None:
            number += 1
            yield CodeBlock(number, opening["tag"].lower(), _code(lines, opening["fence"], opening["indent"]))


def _code(lines: Iterator[str], fence: str, indent: str) -> str:
    closing = re.compile(rf"^[ \t]*{fence[0]}{{{len(fence)},}}[ \t]*$")
    code: list[str] = []
    for line in lines:
        if closing.match(line):
            break
        code.append(line.removeprefix(indent))
    return "\n".join(code)
