"""The JSON in a response, JSON equality, and JSONPath over it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from pytest_mcpeval.servers.json_paths import PathText, compile_path, nodes, parse_json, unwrapped
from pytest_mcpeval.servers.response import Response

from .verdict import JudgementError, quoted, shortened

__all__ = ["PathText", "Source", "compile_path", "json_at", "json_equal", "json_of", "nodes", "shown"]

WRAPPED = re.compile(r"""\$(?:\.result\b|\[(?:'result'|"result")\])""")

Source = Literal["text", "structured"]
"""Where JSON is read from; by default as `json_of` says."""


def json_of(response: Response, source: Source | None = None) -> Any:
    """The JSON value of the response; without a source, the structured content, or else the text.

    Structured content that only wraps what the text says gives way to it: see `unwrapped`.

    Raises:
        JudgementError: There is none.
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
    """The value of a text that is JSON, or else the text."""
    try:
        return parse_json(text)
    except ValueError:
        return text


def json_at(path: str, response: Response, source: Source | None = None) -> Any:
    """The JSON that a path is searched in.

    Where structured content gives way to what it wraps, ``$.result`` leads to that as well, unless that is an
    object with a ``result`` of its own.

    Raises:
        JudgementError: There is no JSON.
    """
    value = json_of(response, source)
    is_wrapped = source is None and response.structured is not None and value is not response.structured
    if not is_wrapped or not WRAPPED.match(path) or (isinstance(value, Mapping) and "result" in value):
        return value
    return {"result": value}


def json_equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same; numbers by value, and true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(json_equal(left[key], right[key]) for key in left)
    return bool(left == right)


def shown(value: Any) -> str:
    """A JSON value for a message, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, default=repr), 60)
