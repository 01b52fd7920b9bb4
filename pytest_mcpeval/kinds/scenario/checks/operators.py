"""The operators of ``json_path``: how one JSON value is held against an expected one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .javascript_regex import compile_pattern, found_in
from .json_values import json_equal

Operator = Callable[[Any, Any], bool]
"""``(found, expected) -> whether it holds``."""

JSON_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: is_number(value),
    "integer": lambda value: is_number(value) and float(value).is_integer(),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}


def is_number(value: Any) -> bool:
    """Whether the value is a JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _contains(found: Any, expected: Any, case_sensitive: bool = False) -> bool:
    if isinstance(found, str) and isinstance(expected, str):
        return expected in found if case_sensitive else expected.lower() in found.lower()
    if isinstance(found, list):
        return any(json_equal(member, expected) for member in found)
    return isinstance(found, Mapping) and expected in found


def _matches(found: Any, pattern: str, case_sensitive: bool = False) -> bool:
    compiled = compile_pattern(pattern, ignore_case=not case_sensitive)
    return isinstance(found, str) and found_in(compiled, found) is not None


def _ordered(compare: Operator) -> Operator:
    """Numbers are compared with numbers and texts with texts; anything else does not hold."""

    def holds(found: Any, expected: Any) -> bool:
        texts = isinstance(found, str) and isinstance(expected, str)
        return (texts or (is_number(found) and is_number(expected))) and compare(found, expected)

    return holds


def _sized(compare: Operator) -> Operator:
    return lambda found, size: isinstance(found, str | list | Mapping) and compare(len(found), size)


OPERATORS: Mapping[str, tuple[str, Operator]] = {
    "equals": ("equal to", json_equal),
    "not_equals": ("other than", lambda found, expected: not json_equal(found, expected)),
    "contains": ("containing", _contains),
    "matches": ("matching", _matches),
    "gt": (">", _ordered(lambda found, limit: bool(found > limit))),
    "gte": ("≥", _ordered(lambda found, limit: bool(found >= limit))),
    "lt": ("<", _ordered(lambda found, limit: bool(found < limit))),
    "lte": ("≤", _ordered(lambda found, limit: bool(found <= limit))),
    "in_": ("one of", lambda found, members: any(json_equal(found, one) for one in members)),
    "value_type": ("of type", lambda found, name: JSON_TYPES[name](found)),
    "length": ("of length", _sized(lambda size, expected: bool(size == expected))),
    "min_length": ("of length ≥", _sized(lambda size, limit: bool(size >= limit))),
    "max_length": ("of length ≤", _sized(lambda size, limit: bool(size <= limit))),
}
"""By parameter name: the words for it, and the comparison."""

CASE_SENSITIVE: Mapping[str, tuple[str, Operator]] = {
    **OPERATORS,
    "contains": ("containing", partial(_contains, case_sensitive=True)),
    "matches": ("matching", partial(_matches, case_sensitive=True)),
}
"""The same where upper and lower case are told apart."""
