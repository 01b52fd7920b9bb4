"""Text that people do not see: invisible characters, and instructions in an encoding."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from pytest_mcpeval.kinds.security.detectors.heuristics.rule import Finding
from pytest_mcpeval.kinds.security.detectors.texts import texts_of
from pytest_mcpeval.loading.messages import shortened
from pytest_mcpeval.text.visible import invisible_spans, revealed

_OVERRIDE = re.compile("[\u202d\u202e][^\u202c\n]{3,}")
_FLAG_OR_TAGS = re.compile("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f|([\U000e0020-\U000e007f]{2,})")
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f\u00ad")
_LETTER_BORDER = re.compile(r"[A-Za-z][\u200b\u2060\ufeff\u2061-\u2064]+[A-Za-z]")
LONG_RUN = 8
"""Invisible characters in a row that no script and no emoji needs."""


def hidden_characters(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Tag characters outside flags, direction overrides, and invisible characters that no script needs."""
    for field, text in texts_of(seen):
        for found in _FLAG_OR_TAGS.finditer(text):
            if found[1]:
                said = "".join(chr(ord(char) - 0xE0000) for char in found[1])
                yield Finding(f"says in invisible tags: {shortened(said, 120)}", field, found.span())
        for found in _OVERRIDE.finditer(text):
            yield Finding("turns the direction of text", field, found.span())
        yield from _runs(field, text)


def _runs(field: str, text: str) -> Iterator[Finding]:
    for start, end in invisible_spans(text):
        run = text[start:end]
        if len(run) >= LONG_RUN and not set(run) <= {chr(c) for c in range(0xE0000, 0xE0080)}:
            yield Finding(f"{len(run)} invisible characters in a row", field, (start, end))
    broken = list(_LETTER_BORDER.finditer(text))
    if len(broken) >= 3:
        yield Finding("invisible characters inside words", field, broken[0].span())


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_BASE32 = re.compile(r"\b[A-Z2-7]{24,}={0,6}")
_HEX = re.compile(r"\b(?:[0-9a-fA-F]{2}[ :]?){16,}")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}){8,}")
_ENTITIES = re.compile(r"(?:&#x?[0-9A-Fa-f]+;){8,}")
_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}){8,}")
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
    """Texts in base64, base32, hexadecimal and other encodings, in ROT13 or reversed, that are orders."""
    for field, text in texts_of(seen):
        for span, decoded in _decoded(text):
            if _is_order(decoded):
                yield Finding(f"decodes to: {shortened(revealed(decoded), 120)}", field, span)


def _decoded(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    for found in _BASE64.finditer(text):
        yield from _one(found, _from_base64(found[0]))
    for found in _BASE32.finditer(text):
        yield from _one(found, _from_base32(found[0]))
    for found in _HEX.finditer(text):
        yield from _one(found, _from_hex(found[0]))
    for found in _PERCENT.finditer(text):
        yield found.span(), unquote(found[0], errors="replace")
    for found in _ENTITIES.finditer(text):
        yield found.span(), html.unescape(found[0])
    for found in _ESCAPES.finditer(text):
        yield found.span(), codecs.decode(found[0].encode(), "unicode_escape")
    for found in _QUOTED.finditer(text):
        if not _is_english(found[1]):
            yield found.span(1), codecs.decode(found[1], "rot13")
            yield found.span(1), found[1][::-1]


def _one(found: re.Match[str], decoded: str | None) -> Iterator[tuple[tuple[int, int], str]]:
    if decoded is not None:
        yield found.span(), decoded


def _text(data: bytes) -> str | None:
    try:
        found = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    printable = sum(unicodedata.category(char)[0] not in "C" or char in "\n\t" for char in found)
    return found if found and printable / len(found) > 0.95 else None


def _from_base64(found: str) -> str | None:
    padded = found.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return _text(base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def _from_base32(found: str) -> str | None:
    bare = found.rstrip("=")
    try:
        return _text(base64.b32decode(bare + "=" * (-len(bare) % 8)))
    except (binascii.Error, ValueError):
        return None


def _from_hex(found: str) -> str | None:
    try:
        return _text(bytes.fromhex(found.replace(":", " ")))
    except ValueError:
        return None


def _is_english(text: str) -> bool:
    words = _WORD.findall(text.lower())
    return bool(words) and sum(word in COMMON for word in words) >= max(1, len(words) // 8)


def _is_order(text: str) -> bool:
    """Whether a text is several English words with a verb that orders something."""
    words = _WORD.findall(text.lower())
    return len(words) >= 4 and _is_english(text) and not ORDERS.isdisjoint(words)
