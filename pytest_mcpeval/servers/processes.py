"""The process behind a stdio server: how it is started, how it ended, what it wrote on standard error."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcpeval.servers.definitions import ServerDefinition

_LAUNCHER = Path(__file__).with_name("launcher.py")
_TAIL_BYTES = 64 * 1024
_LINE_LIMIT = 500
_END_SECONDS = 5.0
_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")


@dataclass(frozen=True)
class Ending:
    """How a server process ended; ``exit_code`` is negative for a signal, None if it never started."""

    words: str
    exit_code: int | None


@dataclass(frozen=True)
class ProcessFiles:
    """The status and stderr files of one server process, in a directory that outlives it."""

    stderr: Path
    status: Path

    @classmethod
    def create(cls, directory: Path, server: str, number: int) -> ProcessFiles:
        """Fresh files for the process; ``number`` tells restarts apart."""
        stem = f"{re.sub(r'[^A-Za-z0-9._-]', '_', server)[:60]}-{number}"
        stderr = directory / f"{stem}.stderr.txt"
        stderr.touch()
        return cls(stderr, directory / f"{stem}.status.json")

    def ending(self) -> Ending | None:
        """How the process ended, or None if it runs or nothing is known."""
        try:
            status = json.loads(self.status.read_bytes())
        except (OSError, ValueError):
            return None
        if "error" in status:
            return Ending(str(status["error"]), None)
        if "signal" in status:
            return Ending(f"was killed by {_signal_name(status['signal'])}", -int(status["signal"]))
        return Ending(f"exited with code {status['exit_code']}", int(status["exit_code"]))

    def stderr_size(self) -> int:
        """Bytes on standard error so far."""
        try:
            return os.stat(self.stderr).st_size
        except OSError:
            return 0

    def tail(self, lines: int, start: int = 0, end: int | None = None) -> str:
        """The last lines of standard error from byte ``start`` to ``end``; at most 64 KiB are read."""
        end = self.stderr_size() if end is None else end
        try:
            with self.stderr.open("rb") as file:
                began = file.seek(max(start, end - _TAIL_BYTES))
                text = file.read(max(0, end - began)).decode("utf-8", "replace")
        except OSError:
            return ""
        kept = text.rstrip().splitlines()[-lines:] if lines > 0 else []
        return "\n".join(line if len(line) <= _LINE_LIMIT else f"{line[:_LINE_LIMIT]}…" for line in kept)


def inherited_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables every process gets, as stdio servers do by way of mcp: nothing that may be a secret."""
    return {name: environ[name] for name in _INHERITED if name in environ}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@dataclass(frozen=True)
class Launch:
    """What to run for a stdio server: the launcher around the command where there is one."""

    command: str
    args: list[str]
    env: dict[str, str]


def end_launched(process: subprocess.Popen[Any]) -> None:
    """End a launched process if it runs; the launcher takes its whole process group along."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def launch(definition: ServerDefinition, files: ProcessFiles, inherited: Mapping[str, str]) -> Launch:
    """How to start an expanded definition.

    The server sees the ``inherited`` variables and its own ``env``, nothing else. The directory of the
    running interpreter leads its PATH, so ``python``, ``node`` and console scripts of a virtual environment
    are found without activating it; a PATH in ``env`` is taken as it is.
    """
    bin_directory = str(Path(sys.executable).parent)
    path = os.pathsep.join(part for part in (bin_directory, inherited.get("PATH", "")) if part)
    env = {"PATH": path, **definition.env}
    if os.name != "posix":
        return Launch(definition.command, list(definition.args), env)
    names = "=".join(sorted({*inherited, *env}))
    own = ["-I", "-S", str(_LAUNCHER), str(files.status), str(os.getpid()), names, "--"]
    return Launch(sys.executable, [*own, definition.command, *definition.args], env)
