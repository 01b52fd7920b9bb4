"""``command:``, an agent program that accepts a configuration of MCP servers. Its only server is our guard.

``{task}`` and ``{mcp_config}`` in the command are filled in; without ``{task}``, the task is on standard
input. What it writes on standard output is its answer. Uses of anything else than MCP tools it reports in a
log: JSON lines in the file that ``{tool_log}`` and the environment variable ``MCPEVAL_TOOL_LOG`` name.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.sample import Check
from pytest_mcpeval.kinds.session.execution.agents import Account, after_failure
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.guard_server import SERVER_NAME, GuardSocket
from pytest_mcpeval.kinds.session.records import MCP_PREFIX, mcp_tool
from pytest_mcpeval.kinds.session.redaction import redacted_text
from pytest_mcpeval.kinds.session.result_shape import shape_of
from pytest_mcpeval.kinds.session.toolbox import Toolbox
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.servers.processes import ProcessFiles, end_launched, inherited_environment, launch
from pytest_mcpeval.servers.variables import expand
from pytest_mcpeval.targets.base import TargetStartError
from pytest_mcpeval.targets.filling import filled
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import clipped

TOOL_LOG_VARIABLE = "MCPEVAL_TOOL_LOG"

_TAIL_LINES = 20
_KEPT_BYTES = 1_000_000
_END_SECONDS = 5.0
_LOOK_SECONDS = 0.1
LEFT_SECONDS = 10.0
"""How long a program may continue after its scenario is over; the guard refuses its calls."""


def run_command(model: AgentModel, task: str, toolbox: Toolbox) -> Account:
    """Run an agent program on a task, to its end or that of the session.

    Raises:
        TargetStartError: There is no such program or directory, or a variable is not set.
    """
    # The path of a socket is limited to about a hundred bytes, so the folder must not be deep.
    with tempfile.TemporaryDirectory(prefix="mcpeval-") as name:
        program = _Program(model, task, Path(name))
        with GuardSocket(toolbox, Path(name) / "guard") as guard:
            program.mcp_config.write_text(json.dumps(guard.mcp_config(), indent=1), encoding="utf-8")
            account = program.run(toolbox)
        check = report_log(program.tool_log, toolbox)
        return account if check is None else replace(account, checks=(*account.checks, check))


class _Program:
    """An agent program, and the files it is given and leaves."""

    def __init__(self, model: AgentModel, task: str, folder: Path) -> None:
        self.mcp_config = folder / "mcp.json"
        self.tool_log = folder / "tools.jsonl"
        self._task = task
        self._output = folder / "answer.txt"
        self._files = ProcessFiles.create(folder, "agent", 1)
        command, *arguments = model.command or [""]
        self._definition = ServerDefinition(
            "agent",
            "stdio",
            command=command,
            args=tuple(arguments),
            env={**model.env, TOOL_LOG_VARIABLE: str(self.tool_log)},
            directory=Path(model.directory),
            public=(TOOL_LOG_VARIABLE, *model.public),
        )

    def run(self, toolbox: Toolbox) -> Account:
        """Start it, give it the task, and wait."""
        process = self._start()
        feeding = threading.Thread(target=self._feed, args=(process,), daemon=True)
        feeding.start()
        try:
            late = not _wait(process, toolbox)
        finally:
            end_launched(process)
        feeding.join(_END_SECONDS)
        with self._output.open("rb") as file:
            answer = redactor.text(file.read(_KEPT_BYTES).decode("utf-8", "replace").strip())
        if process.returncode == 0 and not late:
            return Account(answer)
        ending = self._files.ending()
        words = ending.words if ending is not None else f"ended with status {process.returncode}"
        if tail := redactor.text(self._files.tail(_TAIL_LINES)):
            words += f"; its last words: {tail}"
        return after_failure(toolbox, "timeout" if late else "crashed", words, late=late, answer=answer)

    def _start(self) -> subprocess.Popen[bytes]:
        name = f"command: {self._definition.display()}"
        try:
            definition = expand(self._definition, os.environ)
        except ServerConfigError as error:
            raise TargetStartError("agent", name, str(error)) from None
        directory = Path(definition.cwd or ".")
        if not directory.is_dir():
            raise TargetStartError("agent", name, f"its directory does not exist: {directory}")
        inherited = inherited_environment(os.environ)
        values = {"task": self._task, "mcp_config": str(self.mcp_config), "tool_log": str(self.tool_log)}
        words = tuple(filled(list(definition.args), values))
        started = launch(replace(definition, args=words), self._files, inherited)
        path = str(directory / definition.command) if "/" in definition.command else definition.command
        if shutil.which(path, path=started.env["PATH"]) is None:
            raise TargetStartError("agent", name, f"there is no program {definition.command!r}")
        command, env = [started.command, *started.args], {**inherited, **started.env}
        with self._output.open("wb") as stdout, self._files.stderr.open("wb") as stderr:
            return subprocess.Popen(
                command, cwd=directory, env=env, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr
            )

    def _feed(self, process: subprocess.Popen[bytes]) -> None:
        on_command_line = any("{task}" in word for word in self._definition.args)
        assert process.stdin is not None
        # A program need not read its input.
        with suppress(OSError), process.stdin:
            if not on_command_line:
                process.stdin.write(self._task.encode("utf-8", "replace"))


def _wait(process: subprocess.Popen[bytes], toolbox: Toolbox) -> bool:
    """Whether the program ended by itself, within the time of the session and soon after its scenario."""
    over_since: float | None = None
    while process.poll() is None:
        if toolbox.seconds_left <= 0:
            return False
        if over_since is None and toolbox.abort_reason is not None:
            over_since = time.monotonic()
        if over_since is not None and time.monotonic() - over_since > LEFT_SECONDS:
            return False
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_SECONDS)
    return True


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
    message = f"the agent's log of tools has malformed lines: {'; '.join(problems[:5])}"
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
        # Agents prefix tool names with the name of the only server they see, the guard.
        inner = tool.removeprefix(mcp_tool(SERVER_NAME, ""))
        name = inner if inner.startswith(MCP_PREFIX) else tool
        reported[name] += 1
        if reported[name] > toolbox.lines_of(name):
            raise ValueError(f"{shown(tool)} was called without the guard: the transcript has no line for it")
        return
    if not isinstance(arguments, Mapping):
        raise ValueError(f"expected an object under `arguments`, found {shown(arguments)}")
    said = data.get("justification")
    if said is not None and not isinstance(said, str):
        raise ValueError(f"expected a text under `justification`, found {shown(said)}")
    if data.get("error") is not None:
        shape = f"error:{clipped(redacted_text(str(data['error'])), _LONGEST_ERROR)}"
    else:
        shape = shape_of(data["result"]) if "result" in data else "not reported"
    toolbox.report(tool, arguments, said, shape)
