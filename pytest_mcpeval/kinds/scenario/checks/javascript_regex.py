r"""Regular expressions with JavaScript's meaning, run by the ``regex`` module under a time limit.

Data files may have been written for JavaScript, where ``\d``, ``\w`` and ``\b`` know ASCII only, ``.`` stops
at every line terminator, ``$`` means the very end, and ``[^]`` is any character. A pattern is rewritten so
that it means the same here.

Two characters are equal without regard to case if ECMAScript's ``Canonicalize`` (ECMA-262, 22.2.2.7.3) makes
the same character of them. Without the flag ``u`` that is the upper case, unless it is longer than one
character, or ASCII although the character is not: ``s`` is not ``ſ``. With ``u`` it is the simple case
folding: ``s`` is ``ſ``. A pattern in which ``\p{…}`` or ``\u{…}`` occurs has the flag ``u``, since JavaScript
knows both only with it. Any pattern can set flags in front, ``(?iu)…``, or for a part, ``(?i:…)``.

What stays different: text is a sequence of characters, not of UTF-16 units; ``\A``, ``\Z``, ``(?P<name>…)``
and flags in front work, which JavaScript rejects or reads as plain letters; a group keeps what it captured
when its repetition goes on; octal escapes are not supported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from typing import Literal

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
# With the flags "iu", ſ and the Kelvin sign are word characters: they fold to s and k.
NO_FOLDED_WORD = "\0-/:-@\\[-\\^`{-\u017e\u0180-\u2129\u212b-\U0010ffff"
LINE_END = "\\n\\r\\u2028\\u2029"
CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
KEPT_ESCAPES = "AZ"

ESCAPE = re.compile(
    r"\\(?:(?P<hex>x[0-9a-fA-F]{2}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\})|c(?P<control>[a-zA-Z])"
    r"|k<(?P<name>\w+)>|(?P<property>[pP]\{\^?\w+(?:=\w+)?\})|(?P<octal>0[0-7]{0,2})|(?P<digits>[1-9][0-9]*)|(?P<one>.))",
    re.DOTALL,
)
GROUP = re.compile(
    r"\((?:\?(?:<?[=!]|>|P?<(?P<name>\w+)>|P=(?P<same>\w+)\)|(?P<on>[a-zA-Z]*)(?:-(?P<off>[a-zA-Z]+))?:))?"
)
FLAGS_IN_FRONT = re.compile(r"\(\?(?P<on>[a-zA-Z]*)(?:-(?P<off>[a-zA-Z]+))?\)")
SWITCHES_CASE = re.compile(r"\(\?[a-zA-Z]*(?:i|-[a-zA-Z]*i)[a-zA-Z]*(?:-[a-zA-Z]*)?:")
ONLY_WITH_U = re.compile(r"(?<!\\)(?:\\\\)*\\(?:[pP]\{\^?\w|u\{[0-9a-fA-F])")
SYNTAX = re.compile(r"[\\^$.*+?()\[\]{}|/-]")
QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")

# Characters that Unicode 15.1 folds and older Pythons do not.
LATER_FOLDINGS = {"\ufb05": "\ufb06", "\u1fd3": "\u0390", "\u1fe3": "\u03b0"}
CASELESS_FROM = 0x20000


class SearchTimeoutError(TimeoutError):
    """A search in an answer took too long."""


class PatternError(ValueError):
    """A regular expression that does not compile; the message has the position in it."""

    def __init__(self, reason: str, pattern: str, position: int) -> None:
        super().__init__(f"not a regular expression: {reason} at position {position} of {pattern[:60]!r}")


@dataclass(frozen=True)
class CompiledPattern:
    """A rewritten pattern; with ``folds``, it is searched in the canonical form of a text."""

    rewritten: regex.Pattern[str]
    folds: Literal["i", "iu"] | None


@dataclass(frozen=True)
class Match:
    """Where a match starts, and the text of each group, the whole match first."""

    start: int
    groups: tuple[str, ...]


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str, ignore_case: bool = True) -> CompiledPattern:
    """Return the compiled pattern; it ignores case by default.

    Raises:
        PatternError: The pattern is not a valid regular expression.
    """
    translation = _Translation(pattern, ignore_case)
    pieces = translation.pieces()
    try:
        rewritten = regex.compile("".join(text for _, text in pieces), regex.VERSION0)
    except regex.error as error:
        # The stubs lack both attributes.
        position = _source_position(pieces, getattr(error, "pos", None) or 0, len(pattern))
        raise PatternError(getattr(error, "msg", str(error)), pattern, position) from None
    return CompiledPattern(rewritten, translation.folds)


def matching_itself(text: str) -> str:
    """Return a pattern that matches exactly this text, also inside a longer pattern."""
    return SYNTAX.sub(r"\\\g<0>", text)


def found_in(pattern: CompiledPattern, text: str) -> Match | None:
    """The first match.

    Raises:
        SearchTimeoutError: The search took longer than `TIMEOUT_SECONDS`.
    """
    searched = _canonical_text(text, pattern.folds) if pattern.folds else text
    try:
        match = pattern.rewritten.search(searched, timeout=TIMEOUT_SECONDS)
    except TimeoutError:
        raise SearchTimeoutError(f"the regular expression timed out after {TIMEOUT_SECONDS:g} s") from None
    if match is None:
        return None
    return Match(match.start(), tuple(text[slice(*match.span(n))] for n in range(match.re.groups + 1)))


class _Translation:
    """A pattern on its way from JavaScript's syntax and meaning to those of ``regex``.

    Where case is ignored throughout, the pattern is written in canonical characters, for a text in canonical
    characters: that is fast, and right for back-references too. Where ``(?i:…)`` or ``(?-i:…)`` switches,
    each character becomes the class of all that are equal to it, for the text as it is.
    """

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self.pattern = pattern
        flags = frozenset("i" if ignore_case else "")
        front = FLAGS_IN_FRONT.match(pattern)
        self.start = front.end() if front else 0
        if front:
            flags = self._switched(flags, front)
        if ONLY_WITH_U.search(pattern):
            flags |= {"u"}
        self.unicode = "u" in flags
        self.mixed = SWITCHES_CASE.search(pattern) is not None
        self.folds: Literal["i", "iu"] | None = None
        if "i" in flags and not self.mixed:
            self.folds = "iu" if self.unicode else "i"
        self.scopes = [flags]

    def pieces(self) -> list[tuple[int, str]]:
        """Pieces of the rewritten pattern, each with the position it comes from."""
        found: list[tuple[int, str]] = []
        position = self.start
        while position < len(self.pattern):
            end, text = self._piece(position)
            found.append((position, text))
            position = end
        return found

    @property
    def _flags(self) -> frozenset[str]:
        return self.scopes[-1]

    @property
    def _equal(self) -> Mapping[str, str]:
        """By character: all characters that stand for it, unless that is itself alone."""
        if "i" not in self._flags:
            return {}
        return _equals(self.unicode) if self.mixed else _canonical(self.unicode)

    def _switched(self, flags: frozenset[str], match: re.Match[str]) -> frozenset[str]:
        unknown = {*(match["on"] or ""), *(match["off"] or "")} - {*"ims"}
        if unknown - ({"u"} if match.re is FLAGS_IN_FRONT else set()):
            reason = f"unknown flag {min(unknown)} (known: i, m, s, and u in front)"
            raise PatternError(reason, self.pattern, match.start())
        return flags.union(match["on"] or "") - {*(match["off"] or "")}

    def _piece(self, start: int) -> tuple[int, str]:
        character = self.pattern[start]
        if character == "\\":
            return self._escape(start)
        if character == "[":
            return self._character_class(start)
        if character == "(":
            return self._group(start)
        if character == ")" and len(self.scopes) > 1:
            self.scopes.pop()
        if character == ".":
            return start + 1, "[\\s\\S]" if "s" in self._flags else f"[^{LINE_END}]"
        if character == "^" and "m" in self._flags:
            return start + 1, f"(?<![^{LINE_END}])"
        if character == "$":
            return start + 1, f"(?![^{LINE_END}])" if "m" in self._flags else "\\Z"
        if character == "{" and not QUANTIFIER.match(self.pattern, start):
            return start + 1, "\\{"
        return start + 1, self._literal(character) if character in self._equal else character

    def _group(self, start: int) -> tuple[int, str]:
        match = GROUP.match(self.pattern, start)
        assert match is not None
        if match["same"]:
            return match.end(), self._reference(match["same"], start)
        if match[0] == "(" and self.pattern.startswith("(?", start):
            raise PatternError("unknown kind of group", self.pattern, start)
        switches = match["on"] is not None
        self.scopes.append(self._switched(self._flags, match) if switches else self._flags)
        if match["name"]:
            return match.end(), f"(?P<{match['name']}>"
        return match.end(), "(?:" if switches else match[0]

    def _reference(self, group: str, start: int) -> str:
        if self.mixed and "i" in self._flags:
            reason = "a back-reference without regard to case, where (?i:…) or (?-i:…) switches it,"
            raise PatternError(f"{reason} is not supported", self.pattern, start)
        # A back-reference to a group that did not take part in the match matches the empty text.
        return f"(?({group})\\{group})" if group.isdigit() else f"(?({group})(?P={group}))"

    def _escape(self, start: int) -> tuple[int, str]:
        match = ESCAPE.match(self.pattern, start)
        if match is None:
            return start + 1, "\\"
        group = match["name"] or match["digits"]
        if group:
            return match.end(), self._reference(group, start)
        letter = match["one"]
        if letter in ("b", "B"):
            word = f"[{self._closed(CLASSES['w'])}]"
            same, other = ("=", "!") if letter == "B" else ("!", "=")
            return match.end(), f"(?:(?<={word})(?{same}{word})|(?<!{word})(?{other}{word}))"
        if letter in CLASSES or match["property"]:
            return match.end(), f"[{self._closed(self._set(match))}]"
        return match.end(), match[0] if letter and letter in KEPT_ESCAPES else self._literal(self._one(match))

    def _one(self, match: re.Match[str]) -> str:
        """The character that an escape stands for."""
        if match["hex"]:
            units = [int(digits, 16) for digits in re.findall("[0-9a-fA-F]+", match["hex"])]
            if units[0] > sys.maxunicode:
                raise PatternError("no such character", self.pattern, match.start())
            # A surrogate pair is one character.
            written = "".join(map(chr, units)).encode("utf-16-le", "surrogatepass")
            return written.decode("utf-16-le", "surrogatepass")
        if match["octal"]:
            return chr(int(match["octal"], 8))
        if match["control"]:
            return chr(ord(match["control"]) % 32)
        return CONTROLS.get(match["one"], match["one"])

    def _literal(self, character: str) -> str:
        equal = self._equal.get(character, character)
        return _escaped(equal) if len(equal) == 1 else f"[{_ranges(equal)}]"

    def _set(self, match: re.Match[str]) -> str:
        """What stands in a class for ``\\d``, ``\\D``, ``\\w``, ``\\W``, ``\\s``, ``\\S`` or a property."""
        if match["one"] == "W" and self._flags >= {"i", "u"}:
            return NO_FOLDED_WORD
        return match[0] if match["property"] else CLASSES[match["one"]]

    def _closed(self, inside: str) -> str:
        """The inside of a class and, without regard to case, what is equal to a member of it."""
        return inside + (_added(inside, self.unicode, self.mixed) if "i" in self._flags else "")

    def _character_class(self, start: int) -> tuple[int, str]:
        """A class, rewritten atom by atom, so that set operators of ``regex`` stay plain characters."""
        position = start + 1
        negated = self.pattern.startswith("^", position)
        position += negated
        parts: list[str] = []
        while position < len(self.pattern) and self.pattern[position] != "]":
            position, atom = self._class_atom(position)
            parts.append(atom)
        if position >= len(self.pattern):
            return len(self.pattern), self.pattern[start:]
        if not parts:
            return position + 1, "[\\s\\S]" if negated else "(?!)"
        return position + 1, f"[{'^' if negated else ''}{self._closed(''.join(parts))}]"

    def _class_atom(self, start: int) -> tuple[int, str]:
        """One character, escape or range ``a-z`` of a class."""
        end, first, single = self._class_character(start)
        if self.pattern[end : end + 1] != "-" or self.pattern[end + 1 : end + 2] in ("]", ""):
            return end, first
        after, last, last_single = self._class_character(end + 1)
        hyphen = "-" if single and last_single else "\\-"
        return after, f"{first}{hyphen}{last}"

    def _class_character(self, start: int) -> tuple[int, str, bool]:
        """End, text, and whether it is one character rather than a set of them."""
        if self.pattern[start] != "\\":
            return start + 1, _escaped(self.pattern[start]), True
        match = ESCAPE.match(self.pattern, start)
        if match is None:
            return start + 1, "\\", True
        if match["name"]:
            return start + 2, "k", True
        if match["one"] == "b":
            return match.end(), "\\x08", True
        if match["one"] in CLASSES or match["property"]:
            return match.end(), self._set(match), False
        return match.end(), match[0] if match["digits"] else _escaped(self._one(match)), True


def _escaped(character: str) -> str:
    return character if character.isalnum() or character == "_" else f"\\{character}"


def _source_position(pieces: list[tuple[int, str]], translated: int, end: int) -> int:
    offset = 0
    for source, text in pieces:
        if offset + len(text) > translated:
            return source
        offset += len(text)
    return end


@lru_cache(maxsize=16)
def _canonical_text(text: str, folds: Literal["i", "iu"]) -> str:
    canonical = _canonical(folds == "iu")
    return text.translate({ord(character): canonical.get(character, character) for character in {*text}})


@lru_cache(maxsize=1024)
def _added(inside: str, unicode: bool, mixed: bool) -> str:
    """The characters that are equal to a member of a class and not in it: all, or the canonical ones."""
    try:
        members = {*regex.findall(f"[{inside}]", "".join(_equals(unicode)), regex.VERSION0)}
    except regex.error:
        return ""  # The whole pattern will fail to compile too, with the position of the error.
    equal = _equals(unicode) if mixed else _canonical(unicode)
    return _ranges({*"".join(equal.get(member, member) for member in members)} - members)


def _ranges(characters: Iterable[str]) -> str:
    """The inside of a class of these characters."""
    numbered = enumerate(sorted(map(ord, characters)))
    runs = ([code for _, code in run] for _, run in groupby(numbered, lambda pair: pair[1] - pair[0]))
    return "".join(
        _escaped(chr(run[0])) + (f"-{_escaped(chr(run[-1]))}" if len(run) > 1 else "") for run in runs
    )


@cache
def _equals(unicode: bool) -> dict[str, str]:
    """By character: the characters that are equal to it without regard to case, if there are others."""
    classes: dict[str, str] = {}
    for character in _cased():
        canonical = _canonicalized(character, unicode)
        classes[canonical] = classes.get(canonical, "") + character
    return {character: equal for equal in classes.values() if len(equal) > 1 for character in equal}


@cache
def _canonical(unicode: bool) -> dict[str, str]:
    """By character: its canonical form, if that is another one."""
    found = {character: _canonicalized(character, unicode) for character in _equals(unicode)}
    return {character: canonical for character, canonical in found.items() if canonical != character}


@cache
def _cased() -> str:
    """Every character of a block in which something has another case."""
    blocks = ("".join(map(chr, range(start, start + 128))) for start in range(0, CASELESS_FROM, 128))
    return "".join(block for block in blocks if block != block.upper() or block != block.lower())


def _canonicalized(character: str, unicode: bool) -> str:
    """ECMAScript's ``Canonicalize``: simple case folding with ``u``, else the upper case of one unit."""
    if not unicode:
        upper = character.upper()
        kept = len(upper) > 1 or character >= "\U00010000" or character > "\x7f" >= upper
        return character if kept else upper
    folded = LATER_FOLDINGS.get(character) or character.casefold()
    if len(folded) == 1 and folded != character:
        return folded
    # CPython's casefold() has the full foldings (ẞ is ss), and passes over a few letters (such as Ⴀ).
    lower = character.lower()
    return lower if len(lower) == 1 and lower.casefold() != character else character
