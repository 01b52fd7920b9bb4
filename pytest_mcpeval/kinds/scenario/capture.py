"""Values taken from an answer by JSONPath (RFC 9535), for the arguments of later steps."""

from __future__ import annotations

from typing import Any

from pytest_mcpeval.kinds.scenario.checks import JudgementError
from pytest_mcpeval.kinds.scenario.checks.json_values import json_at
from pytest_mcpeval.servers.response import Response


def json_path_problem(path: str) -> str | None:
    """What is wrong with a JSONPath, or None."""
    import jsonpath

    try:
        jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        # As a text, the error spans several lines and repeats the path.
        return f"{path!r} is not a JSONPath: {error.args[0] if error.args else type(error).__name__}"
    return None


def capture(response: Response, path: str) -> Any:
    """The first value at a path, in the JSON that checks of the answer see.

    Raises:
        LookupError: The path matches nothing, or the answer is not JSON; the message says which.
    """
    import jsonpath

    try:
        data = json_at(path, response)
    except JudgementError:
        raise LookupError("the answer has no structured content and its text is not JSON") from None
    found = jsonpath.findall(path, data)
    if not found:
        raise LookupError(f"{path} matches nothing in the answer")
    return found[0]
