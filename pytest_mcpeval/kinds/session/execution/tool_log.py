"""The log in which an agent program reports what it used besides MCP tools, read when it has ended.

One JSON object a line: ``tool`` (its name, such as ``Bash``), ``arguments`` (a mapping), ``justification``,
and ``result`` (any JSON data, for its shape) or ``error`` (a class or status).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.sample import Check
from pytest_mcpeval.kinds.session.guard_socket import SERVER_NAME
from pytest_mcpeval.kinds.session.records import MCP_PREFIX, mcp_tool
from pytest_mcpeval.kinds.session.redaction import redacted_text
from pytest_mcpeval.kinds.session.result_shape import shape_of
from pytest_mcpeval.kinds.session.toolbox import Toolbox
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.text.visible import shortened

_LONGEST_LOG = 16 * 1024 * 1024
_LONGEST_ERROR = 60


def report_log(path: Path, toolbox: Toolbox) -> Check | None:
    """Write every reported use to the transcript; a failed check when a line is no report, else None."""
    problems: list[str] = []
    reported: Counter[str] = Counter()
    for number, line in enumerate(_lines(path), 1):
        try:
            _report(json.loads(line), toolbox, reported)
        except ValueError as error:
            problems.append(f"line {number}: {redacted_text(str(error))}")
    if not problems:
        return None
    message = f"the agent's log of tools has lines that are no reports: {'; '.join(problems[:5])}"
    return Check({"type": "tool_log"}, "failed", message, {"lines": len(problems)})


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    with path.open("rb") as file:
        text = file.read(_LONGEST_LOG).decode("utf-8", "replace")
    return [line for line in text.split("\n") if line.strip()]


def _report(data: Any, toolbox: Toolbox, reported: Counter[str]) -> None:
    if not isinstance(data, Mapping):
        raise ValueError(f"expected an object, found {shown(data)}")
    tool, arguments = data.get("tool"), data.get("arguments")
    arguments = {} if arguments is None else arguments
    if not isinstance(tool, str) or not tool.strip():
        raise ValueError(f"expected the name of a tool under `tool`, found {shown(tool)}")
    if tool.startswith(MCP_PREFIX):
        # Agents put the name of the one server they see, the guard, before those of its tools.
        inner = tool.removeprefix(mcp_tool(SERVER_NAME, ""))
        name = inner if inner.startswith(MCP_PREFIX) else tool
        reported[name] += 1
        if reported[name] > toolbox.lines_of(name):
            raise ValueError(f"{shown(tool)} was called past the guard: the transcript has no line of it")
        return
    if not isinstance(arguments, Mapping):
        raise ValueError(f"expected an object under `arguments`, found {shown(arguments)}")
    said = data.get("justification")
    if said is not None and not isinstance(said, str):
        raise ValueError(f"expected a text under `justification`, found {shown(said)}")
    toolbox.report(tool, arguments, said, _shape(data))


def _shape(data: Mapping[str, Any]) -> str:
    if data.get("error") is not None:
        return f"error:{shortened(redacted_text(str(data['error'])), _LONGEST_ERROR)}"
    return shape_of(data["result"]) if "result" in data else "not reported"
