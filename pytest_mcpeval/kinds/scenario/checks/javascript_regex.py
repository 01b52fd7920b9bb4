r"""Regular expressions with JavaScript's meaning, run by the ``regex`` module under a time limit.

Data files may have been written for JavaScript, where ``\d``, ``\w`` and ``\b`` know ASCII only, ``.`` stops
at every line terminator, ``$`` means the very end, and ``[^]`` is any character. A pattern is rewritten so
that it means the same here. What stays different: text is a sequence of characters, not of UTF-16 units;
``\p{…}``, ``\u{…}``, ``\A``, ``\Z``, ``(?P<name>…)`` and inline flags such as ``(?s)`` work, which JavaScript
rejects or reads as plain letters; ``ſ`` and the Kelvin sign match ``s`` and ``k``; a back-reference to a
group that took no part in the match fails instead of matching nothing; octal escapes are not supported.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TypeAlias

import regex

TIMEOUT_SECONDS = 2.0

WHITE_SPACE = "\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
NOT_WHITE_SPACE = (
    "\0-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    "\u3001-\ufefe\uff00-\U0010ffff"
)
CLASSES = {
    "d": "0-9",
    "D": "\0-/:-\U0010ffff",
    "w": "A-Za-z0-9_",
    "W": "\0-/:-@\\[-\\^`{-\U0010ffff",
    "s": WHITE_SPACE,
    "S": NOT_WHITE_SPACE,
}
WORD, NO_WORD = "[A-Za-z0-9_]", "[^A-Za-z0-9_]"
BOUNDARY = {
    "b": f"(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))",
    "B": f"(?:(?<={WORD})(?={WORD})|(?<!{WORD})(?!{WORD}))",
}
CONTROLS = {"t": "\\t", "n": "\\n", "v": "\\v", "f": "\\f", "r": "\\r"}
KEPT_ESCAPES = "AZ"

ESCAPE = re.compile(
    r"\\(?:(?P<hex>x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\})|c(?P<control>[a-zA-Z])"
    r"|k<(?P<name>\w+)>|(?P<property>[pP]\{\^?\w+(?:=\w+)?\})|(?P<digits>[0-9]+)|(?P<one>.))",
    re.DOTALL,
)
SYNTAX = re.compile(r"[\\^$.*+?()\[\]{}|/-]")
QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")
INLINE_FLAGS = re.compile(r"\(\?([a-zA-Z]+)(?:-[a-zA-Z]+)?[:)]")

CompiledPattern: TypeAlias = regex.Pattern[str]


class PatternError(ValueError):
    """A regular expression that does not compile; the message has the position in it."""


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str, ignore_case: bool = True) -> CompiledPattern:
    """The compiled pattern, without regard to case unless told otherwise.

    Raises:
        PatternError: The pattern is not a valid regular expression.
    """
    pieces = _translated(pattern)
    flags = regex.IGNORECASE if ignore_case else 0
    try:
        return regex.compile("".join(text for _, text in pieces), flags | regex.VERSION0)
    except regex.error as error:
        # The stubs lack both attributes.
        position = _source_position(pieces, getattr(error, "pos", None) or 0, len(pattern))
        reason = getattr(error, "msg", str(error))
        message = f"not a regular expression: {reason} at position {position} of {pattern[:60]!r}"
        raise PatternError(message) from None


def matching_itself(text: str) -> str:
    """The pattern that matches a text and nothing else, also as a part of a longer pattern."""
    return SYNTAX.sub(r"\\\g<0>", text)


def found_in(pattern: CompiledPattern, text: str) -> regex.Match[str] | None:
    """The first match.

    Raises:
        TimeoutError: The search took longer than `TIMEOUT_SECONDS`.
    """
    try:
        return pattern.search(text, timeout=TIMEOUT_SECONDS)
    except TimeoutError:
        raise TimeoutError(f"the regular expression timed out after {TIMEOUT_SECONDS:g} s") from None


def _translated(pattern: str) -> list[tuple[int, str]]:
    """Pieces of the rewritten pattern, each with the position it comes from."""
    flags = "".join(INLINE_FLAGS.findall(pattern))
    pieces: list[tuple[int, str]] = []
    position = 0
    while position < len(pattern):
        end, text = _piece(pattern, position, flags)
        pieces.append((position, text))
        position = end
    return pieces


def _piece(pattern: str, start: int, flags: str) -> tuple[int, str]:
    character = pattern[start]
    if character == "\\":
        return _escape(pattern, start)
    if character == "[":
        return _character_class(pattern, start)
    if character == "." and "s" not in flags:
        return start + 1, "[^\\n\\r\\u2028\\u2029]"
    if character == "$" and "m" not in flags:
        return start + 1, "\\Z"
    if character == "{" and not QUANTIFIER.match(pattern, start):
        return start + 1, "\\{"
    if pattern.startswith("(?<", start) and pattern[start + 3 : start + 4] not in ("=", "!"):
        return start + 3, "(?P<"
    return start + 1, character


def _escape(pattern: str, start: int) -> tuple[int, str]:
    match = ESCAPE.match(pattern, start)
    if match is None:
        return start + 1, "\\"
    if match["name"]:
        return match.end(), f"(?P={match['name']})"
    if match["digits"] and match["digits"] != "0":
        return match.end(), match[0]
    letter = match["one"]
    if letter in BOUNDARY:
        return match.end(), BOUNDARY[letter]
    if letter in CLASSES:
        return match.end(), f"[{CLASSES[letter]}]"
    return match.end(), match[0] if letter and letter in KEPT_ESCAPES else _literal(match)


def _literal(match: re.Match[str]) -> str:
    """An escape that stands for one character (or a Unicode property), in and outside of classes."""
    if match["hex"]:
        return _escaped(_character(match))
    if match["control"]:
        return _escaped(chr(ord(match["control"]) % 32))
    if match["property"]:
        return match[0]
    if match["digits"]:
        return "\\x00" if match["digits"] == "0" else match[0]
    return CONTROLS.get(match["one"]) or _escaped(match["one"])


def _character(match: re.Match[str]) -> str:
    code = int(match["hex"].strip("xu{}"), 16)
    if code > sys.maxunicode:
        shown = match.string[:60]
        raise PatternError(
            f"not a regular expression: no such character at position {match.start()} of {shown!r}"
        )
    return chr(code)


def _escaped(character: str) -> str:
    return character if character.isalnum() or character == "_" else f"\\{character}"


def _character_class(pattern: str, start: int) -> tuple[int, str]:
    """A character class, rewritten atom by atom, so that set operators of ``regex`` stay plain characters."""
    position = start + 1
    negated = pattern.startswith("^", position)
    position += negated
    parts: list[str] = []
    while position < len(pattern) and pattern[position] != "]":
        position, atom = _class_atom(pattern, position)
        parts.append(atom)
    if position >= len(pattern):
        return len(pattern), pattern[start:]
    if not parts:
        return position + 1, "[\\s\\S]" if negated else "(?!)"
    return position + 1, f"[{'^' if negated else ''}{''.join(parts)}]"


def _class_atom(pattern: str, start: int) -> tuple[int, str]:
    """One character, escape or range ``a-z`` of a class."""
    end, first, single = _class_character(pattern, start)
    if pattern[end : end + 1] != "-" or pattern[end + 1 : end + 2] in ("]", ""):
        return end, first
    after, last, last_single = _class_character(pattern, end + 1)
    hyphen = "-" if single and last_single else "\\-"
    return after, f"{first}{hyphen}{last}"


def _class_character(pattern: str, start: int) -> tuple[int, str, bool]:
    """End, text, and whether it is one character rather than a set of them."""
    if pattern[start] != "\\":
        return start + 1, _escaped(pattern[start]), True
    match = ESCAPE.match(pattern, start)
    if match is None:
        return start + 1, "\\", True
    if match["one"] == "b":
        return match.end(), "\\x08", True
    if match["one"] in CLASSES:
        return match.end(), CLASSES[match["one"]], False
    return match.end(), _literal(match), match["property"] is None


def _source_position(pieces: list[tuple[int, str]], translated: int, end: int) -> int:
    offset = 0
    for source, text in pieces:
        if offset + len(text) > translated:
            return source
        offset += len(text)
    return end
