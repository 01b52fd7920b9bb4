"""Scalars of the YAML 1.2 core schema: the type of an unquoted text."""

from __future__ import annotations

import math
import re
from typing import TypeAlias

Scalar: TypeAlias = "str | int | float | bool | None"

LONGEST_NUMBER = 1000

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("-+.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

TAG_PREFIX = "tag:yaml.org,2002:"


def resolve(text: str) -> Scalar:
    """Return the value of an unquoted scalar.

    ``yes``, ``on``, ``12:30:00``, ``2026-01-01`` and ``1_000`` are texts.

    Raises:
        ValueError: The text is a number that JSON cannot hold.
    """
    if text[:1] in _NUMBER_START and text:
        return _number(text)
    return _CONSTANTS.get(text, text)


def resolve_tagged(text: str, tag: str) -> Scalar:
    """Return the value of a scalar with an explicit tag, such as ``!!int "3"``.

    Raises:
        ValueError: The tag is not a core schema tag for scalars, or the text does not fit it.
    """
    name = tag.removeprefix(TAG_PREFIX)
    if tag == "!" or (name == "str" and name != tag):
        return text
    if name == tag or name not in _TYPES:
        raise ValueError(unsupported_tag(tag))
    value = resolve(text)
    if name == "float" and type(value) is int:
        value = float(value)
    if type(value) is not _TYPES[name]:
        raise ValueError(f"the value does not fit its tag !!{name}: expected {_EXPECTED[name]}")
    return value


def unsupported_tag(tag: str) -> str:
    """Return the message about a tag outside the core schema."""
    name = tag.replace(TAG_PREFIX, "!!", 1)[:60]
    return f"the tag {name} is not supported: data files are plain data, remove the tag"


_TYPES: dict[str, type] = {"int": int, "float": float, "bool": bool, "null": type(None)}
_EXPECTED = {"int": "a whole number", "float": "a number", "bool": "true or false", "null": "null"}


def _number(text: str) -> Scalar:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise ValueError(f"the number {text[:40]} is too large: quote it if it is meant as text")
        return value
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a number JSON can hold: write a finite number, or quote it")
    return text


def _integer(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"the number {text[:40]}… is too long: quote it if it is meant as text")
    if text.startswith("0o"):
        return int(text[2:], 8)
    return int(text[2:], 16) if text.startswith("0x") else int(text)
