"""Read the JSON of a response, search it by JSONPath, and compare JSON values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from pytest_mcpeval.servers.json_paths import PathText, compile_path, nodes, parse_json, unwrapped
from pytest_mcpeval.servers.response import Response

from .javascript_regex import compile_pattern, found_in
from .verdict import JudgementError, on_one_line, quoted

__all__ = [
    "CASE_SENSITIVE",
    "OPERATORS",
    "PathText",
    "Source",
    "compile_path",
    "is_number",
    "json_at",
    "json_equal",
    "json_excerpt",
    "json_of",
    "nodes",
]

WRAPPED = re.compile(r"""\$(?:\.result\b|\[(?:'result'|"result")\])""")

Source = Literal["text", "structured"]
"""Where JSON is read from; `json_of` describes the default."""


def json_of(response: Response, source: Source | None = None) -> Any:
    """Return the JSON value of the response; without a source, the structured content, or else the text.

    Structured content that only wraps the text's value is unwrapped: see `unwrapped`.

    Raises:
        JudgementError: The response has no JSON.
    """
    if source == "structured" and response.structured is None:
        raise JudgementError("the response has no structured content")
    if source != "text" and response.structured is not None:
        value = response.structured if source else unwrapped(response)
        return _read(value) if isinstance(value, str) and value is not response.structured else value
    try:
        return parse_json(response.text)
    except ValueError as error:
        raise JudgementError(f"the text is not JSON ({error}): {quoted(response.text)}") from None


def _read(text: str) -> Any:
    """Return the value of a text that is JSON, or else the text."""
    try:
        return parse_json(text)
    except ValueError:
        return text


def json_at(path: str, response: Response, source: Source | None = None) -> Any:
    """Return the JSON in which a path is searched.  If structured content was unwrapped, ``$.result``
    finds the unwrapped value too, unless that is an object which has a ``result`` itself.  Raises:
    JudgementError: There is no JSON.
    """
    value = json_of(response, source)
    is_wrapped = source is None and response.structured is not None and value is not response.structured
    if not is_wrapped or not WRAPPED.match(path) or (isinstance(value, Mapping) and "result" in value):
        return value
    return {"result": value}


def json_equal(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal; numbers are compared by value, and true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(json_equal(left[key], right[key]) for key in left)
    return bool(left == right)


def json_excerpt(value: Any) -> str:
    """A JSON value for a message, shortened."""
    return on_one_line(json.dumps(value, ensure_ascii=False, default=repr), 60)


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
    """Return an operator that compares numbers with numbers and texts with texts; anything else fails."""

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
"""The same, case-sensitive."""
