"""The JSON in a response, JSON equality, and JSONPath over it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator

from pytest_mcpeval.servers.response import Response

from .verdict import JudgementError, quoted, shortened

if TYPE_CHECKING:
    from jsonpath import JSONPath

Source = Literal["text", "structured"]
"""Where JSON is read from; by default as `json_of` says."""


NAME = re.compile(r"\['([A-Za-z_]\w*)'\]")


@lru_cache(maxsize=4096)
def compile_path(path: str) -> JSONPath:
    """The compiled JSONPath (RFC 9535).

    Raises:
        ValueError: The path is not valid.
    """
    from jsonpath import JSONPath, JSONPathEnvironment

    if not path.startswith("$"):
        raise ValueError(f"not a JSONPath: {quoted(path)} should begin with $, such as $.items[0].id")
    try:
        compiled = JSONPathEnvironment(strict=True).compile(path)
    except Exception as error:
        # str() of these errors may itself fail; the first argument is the plain reason.
        reason = error.args[0] if error.args else type(error).__name__
        raise ValueError(f"not a JSONPath (RFC 9535): {quoted(path)}: {reason}") from None
    assert isinstance(compiled, JSONPath)  # RFC 9535 has no unions of whole paths
    return compiled


def _valid_path(path: str) -> str:
    compile_path(path)
    return path


PathText = Annotated[str, AfterValidator(_valid_path)]
"""A JSONPath that compiles."""


def json_of(response: Response, source: Source | None = None) -> Any:
    """The JSON value of the response.

    Without a source: the structured content, or the text when there is none. Structured content that only
    wraps the text (``{"result": "[1, 2]"}``, as Python servers send it for a tool that returns a text) gives
    way to an array or object in that text.

    Raises:
        JudgementError: There is none.
    """
    if source == "text" or (source is None and response.structured is None):
        return _text_json(response.text)
    if response.structured is None:
        raise JudgementError("the response has no structured content")
    inner = _wrapped_json(response) if source is None else None
    return response.structured if inner is None else inner


def _text_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise JudgementError(f"the text is not JSON ({error}): {quoted(text)}") from None


def _wrapped_json(response: Response) -> dict[str, Any] | list[Any] | None:
    """The array or object in the text, when the structured content is nothing but that text."""
    if response.structured != {"result": response.text}:
        return None
    try:
        found = _text_json(response.text)
    except JudgementError:
        return None
    return found if isinstance(found, (dict, list)) else None


def json_equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same; numbers by value, and true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(json_equal(left[key], right[key]) for key in left)
    return bool(left == right)


def nodes(path: str, value: Any) -> list[tuple[str, Any]]:
    """Location and value of every node the path selects, in document order."""
    return [(NAME.sub(r".\1", match.path), match.obj) for match in compile_path(path).finditer(value)]


def shown(value: Any) -> str:
    """A JSON value for a message, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, default=repr), 60)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
