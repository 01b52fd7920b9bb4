"""Find text that people do not see: invisible characters, and encoded instructions."""

from __future__ import annotations

import base64
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from pytest_mcpeval.kinds.security.detectors.heuristics.sentences import Finding
from pytest_mcpeval.kinds.security.detectors.texts import texts_of
from pytest_mcpeval.loading.messages import shortened
from pytest_mcpeval.text.visible import invisible_spans, revealed

_OVERRIDE = re.compile("[\u202d\u202e][^\u202c\n]{3,}")
_FLAG_OR_TAGS = re.compile("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f|([\U000e0020-\U000e007f]{2,})")
_LETTER_BORDER = re.compile(r"[A-Za-z][\u200b\u2060\ufeff\u2061-\u2064]+[A-Za-z]")
LONG_RUN = 8
"""This many invisible characters in a row are suspect: no script or emoji needs them."""


def hidden_characters(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Tag characters outside flags, direction overrides, and invisible characters that no script needs."""
    for field, text in texts_of(seen):
        for found in _FLAG_OR_TAGS.finditer(text):
            if found[1]:
                said = "".join(chr(ord(char) - 0xE0000) for char in found[1])
                yield Finding(f"says in invisible tags: {shortened(said, 120)}", field, found.span())
        for found in _OVERRIDE.finditer(text):
            yield Finding("turns the direction of text", field, found.span())
        for start, end in invisible_spans(text):
            run = text[start:end]
            if len(run) >= LONG_RUN and not set(run) <= {chr(c) for c in range(0xE0000, 0xE0080)}:
                yield Finding(f"{len(run)} invisible characters in a row", field, (start, end))
        broken = list(_LETTER_BORDER.finditer(text))
        if len(broken) >= 3:
            yield Finding("invisible characters inside words", field, broken[0].span())


_QUOTED = re.compile(r"[\"“`']([^\"“”`'\n]{24,})[\"”`']")

_WORD = re.compile(r"[a-z]{2,}")
_COMMON = (
    "the to and of in is it you that for on with as all any this from by or an at be not your user send add "
    "read call before after every then do into its also each when if no"
)
_ORDERS = (
    "send add read call forward copy post upload include put set ignore keep delete open run fetch export "
    "save book push write use say tell access grant slew hide leave move pay buy reply email mail"
)
COMMON = frozenset(_COMMON.split())
ORDERS = frozenset(_ORDERS.split())


def encoded_instructions(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield orders in base64, base32, hexadecimal and other encodings, in ROT13 or reversed."""
    for field, text in texts_of(seen):
        for span, decoded in _decoded(text):
            if _is_order(decoded):
                yield Finding(f"decodes to: {shortened(revealed(decoded), 120)}", field, span)


def _decoded(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    for pattern, decode in _ENCODINGS:
        for found in pattern.finditer(text):
            with suppress(ValueError):
                yield found.span(), decode(found[0])
    for found in _QUOTED.finditer(text):
        if not _is_english(found[1]):
            yield found.span(1), codecs.decode(found[1], "rot13")
            yield found.span(1), found[1][::-1]


def _printable(data: bytes) -> str:
    """Return bytes decoded as text; raise ValueError if they are not text."""
    found = data.decode("utf-8")
    printable = sum(unicodedata.category(char)[0] not in "C" or char in "\n\t" for char in found)
    if not found or printable / len(found) <= 0.95:
        raise ValueError("not printable")
    return found


def _padded(text: str, group: int) -> str:
    bare = text.rstrip("=")
    return bare + "=" * (-len(bare) % group)


_URL_SAFE = str.maketrans("-_", "+/")
_ENCODINGS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (
        re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}"),
        lambda text: _printable(base64.b64decode(_padded(text, 4).translate(_URL_SAFE), validate=True)),
    ),
    (
        re.compile(r"\b[A-Z2-7]{24,}={0,6}"),
        lambda text: _printable(base64.b32decode(_padded(text, 8))),
    ),
    (
        re.compile(r"\b(?:[0-9a-fA-F]{2}[ :]?){16,}"),
        lambda text: _printable(bytes.fromhex(text.replace(":", " "))),
    ),
    (re.compile(r"(?:%[0-9A-Fa-f]{2}){8,}"), lambda text: unquote(text, errors="replace")),
    (re.compile(r"(?:&#x?[0-9A-Fa-f]+;){8,}"), html.unescape),
    (
        re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}){8,}"),
        lambda text: codecs.decode(text.encode(), "unicode_escape"),
    ),
)
"""Encodings: the pattern of encoded text, and the function that decodes it, which may raise ValueError."""


def _is_english(text: str) -> bool:
    words = _WORD.findall(text.lower())
    return bool(words) and sum(word in COMMON for word in words) >= max(1, len(words) // 8)


def _is_order(text: str) -> bool:
    """Whether a text is several English words with a verb that orders something."""
    words = _WORD.findall(text.lower())
    return len(words) >= 4 and _is_english(text) and not ORDERS.isdisjoint(words)
