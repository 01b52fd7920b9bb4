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
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pytest_mcpeval.kinds.session.execution.account import Account, after_failure
from pytest_mcpeval.kinds.session.execution.settings import AgentModel
from pytest_mcpeval.kinds.session.execution.tool_log import report_log
from pytest_mcpeval.kinds.session.guard_socket import GuardSocket
from pytest_mcpeval.kinds.session.toolbox import Toolbox
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.servers.processes import ProcessFiles, end_launched, inherited_environment, launch
from pytest_mcpeval.servers.variables import expand
from pytest_mcpeval.targets.base import TargetStartError
from pytest_mcpeval.targets.filling import filled
from pytest_mcpeval.text.redact import redactor

TOOL_LOG_VARIABLE = "MCPEVAL_TOOL_LOG"

_TAIL_LINES = 20
_KEPT_BYTES = 1_000_000
_END_SECONDS = 5.0
_LOOK_SECONDS = 0.1
LEFT_SECONDS = 10.0
"""How long a program may go on after its scenario is over; the guard lets nothing pass any more."""


def run_command(model: AgentModel, task: str, toolbox: Toolbox) -> Account:
    """Run an agent program on a task, to its end or that of the session.

    Raises:
        TargetStartError: There is no such program or directory, or a variable is not set.
    """
    # The path of a socket has a limit of some hundred bytes, so the folder is no deep one.
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
        answer = self._answer()
        if process.returncode == 0 and not late:
            return Account(answer)
        reason = "timeout" if late else "crashed"
        return after_failure(toolbox, reason, self._failure(process.returncode), late=late, answer=answer)

    def _start(self) -> subprocess.Popen[bytes]:
        name = f"command: {self._definition.shown()}"
        try:
            definition = expand(self._definition, os.environ)
        except ServerConfigError as error:
            raise TargetStartError("agent", name, str(error)) from None
        directory = Path(definition.cwd or ".")
        if not directory.is_dir():
            raise TargetStartError("agent", name, f"its directory does not exist: {directory}")
        inherited = inherited_environment(os.environ)
        started = launch(self._filled(definition), self._files, inherited)
        path = str(directory / definition.command) if "/" in definition.command else definition.command
        if shutil.which(path, path=started.env["PATH"]) is None:
            raise TargetStartError("agent", name, f"there is no program {definition.command!r}")
        command, env = [started.command, *started.args], {**inherited, **started.env}
        with self._output.open("wb") as stdout, self._files.stderr.open("wb") as stderr:
            return subprocess.Popen(
                command, cwd=directory, env=env, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr
            )

    def _filled(self, definition: ServerDefinition) -> ServerDefinition:
        files = {"mcp_config": str(self.mcp_config), "tool_log": str(self.tool_log)}
        return replace(definition, args=tuple(filled(list(definition.args), {"task": self._task, **files})))

    def _feed(self, process: subprocess.Popen[bytes]) -> None:
        on_command_line = any("{task}" in word for word in self._definition.args)
        assert process.stdin is not None
        # A program that does not read its input is none of our business.
        with suppress(OSError), process.stdin:
            if not on_command_line:
                process.stdin.write(self._task.encode("utf-8", "replace"))

    def _answer(self) -> str:
        with self._output.open("rb") as file:
            text = file.read(_KEPT_BYTES).decode("utf-8", "replace").strip()
        return redactor.text(text)

    def _failure(self, status: int) -> str:
        ending = self._files.ending()
        words = ending.words if ending is not None else f"ended with status {status}"
        tail = redactor.text(self._files.tail(_TAIL_LINES))
        return f"{words}{f'; its last words: {tail}' if tail else ''}"


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
