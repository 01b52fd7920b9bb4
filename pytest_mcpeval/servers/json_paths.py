"""JSON in answers, and JSONPath (RFC 9535) over it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.servers.response import Response

if TYPE_CHECKING:
    from jsonpath import JSONPath

_NAME = re.compile(r"\['([A-Za-z_]\w*)'\]")


@lru_cache(maxsize=4096)
def compile_path(path: str) -> JSONPath:
    """The compiled JSONPath.

    Raises:
        ValueError: The path is not valid.
    """
    from jsonpath import JSONPath, JSONPathEnvironment

    if not path.startswith("$"):
        raise ValueError(f"not a JSONPath: {shown(path)} should begin with $, such as $.items[0].id")
    try:
        compiled = JSONPathEnvironment(strict=True).compile(path)
    except Exception as error:
        # str() of these errors may itself fail; the first argument is the plain reason.
        reason = error.args[0] if error.args else type(error).__name__
        raise ValueError(f"not a JSONPath (RFC 9535): {shown(path)}: {reason}") from None
    assert isinstance(compiled, JSONPath)  # RFC 9535 has no unions of whole paths
    return compiled


def _valid_path(path: str) -> str:
    compile_path(path)
    return path


PathText = Annotated[str, AfterValidator(_valid_path)]
"""A JSONPath that compiles."""


def nodes(path: str, value: Any) -> list[tuple[str, Any]]:
    """Location and value of every node the path selects, in document order."""
    return [(_NAME.sub(r".\1", match.path), match.obj) for match in compile_path(path).finditer(value)]


def parse_json(text: str, *, with_nan: bool = False) -> Any:
    """The value of a JSON text; NaN and infinities are not JSON.

    With ``with_nan`` they are accepted, since Python programs write them by default.

    Raises:
        ValueError: The text is not JSON, or nests too deep.
    """
    try:
        return json.loads(text, parse_constant=float if with_nan else _no_constant)
    except RecursionError:
        raise ValueError("it nests too deep") from None


def json_answer(response: Response, *, with_nan: bool = False) -> Any:
    """The JSON value of a response: its structured content, or its text when there is none.

    Structured content that only wraps the text (``{"result": "[1, 2]"}``, as Python servers send it for a
    tool that returns a text) gives way to an array or object in that text. ``with_nan`` is
    as for `parse_json`.

    Raises:
        ValueError: There is no structured content, and the text is not JSON.
    """
    if response.structured is None:
        return parse_json(response.text, with_nan=with_nan)
    if response.structured != {"result": response.text}:
        return response.structured
    try:
        inner = parse_json(response.text, with_nan=with_nan)
    except ValueError:
        return response.structured
    return inner if isinstance(inner, (dict, list)) else response.structured


def unwrapped(response: Response) -> Any:
    """The structured content of a response, without ``{"result": …}`` where that only wraps the text.

    Python servers put it around a result that is not an object: a text, a number, a list, or nothing.
    Then the text is what is in it: a text as it is, the members of a list one after the other, anything else
    as JSON. A tool that returns ``{"result": …}`` itself has it in its text as well.
    """
    structured = response.structured
    if not isinstance(structured, dict) or list(structured) != ["result"]:
        return structured
    value = structured["result"]
    said = "".join(response.text.split())
    as_json = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    ways = ("".join(_members_as_texts(value).split()), "".join(as_json.split()))
    return value if said in ways else structured


def _members_as_texts(value: Any) -> str:
    if isinstance(value, list):
        return "".join(map(_members_as_texts, value))
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
