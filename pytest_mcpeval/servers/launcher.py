"""Start a stdio server, and end with it or with the process that asked for it.

Run as a script, on POSIX, without site-packages: ``python -I -S launcher.py STATUS_FILE PARENT_PID NAMES --
COMMAND ARGUMENT...``. NAMES are the environment variables the server may see, joined by ``=``.

The server gets this process's standard streams and a process group of its own. How it ended is written to
STATUS_FILE as JSON: ``{"exit_code": 3}``, ``{"signal": 11}`` or ``{"error": "..."}``; the exit code is
passed on. When the server ends, what is left of its group is ended too. When the parent dies, or this process
is told to stop, the group gets SIGTERM and shortly after SIGKILL: a killed test run leaves nothing behind.
"""

from __future__ import annotations

import os
import signal
import sys
import time

_TICK_SECONDS = 0.5
# Below the two seconds after which mcp kills this process itself, and could no longer reach the group.
_GRACE_SECONDS = 1.0
_NOT_STARTED = 127


def main(arguments: list[str]) -> int:
    """Run the server to its end; returns its exit code, 128 + signal, or 127 when it could not start."""
    status_file, parent, names = arguments[:3]
    command = arguments[4:]
    environment = {name: os.environ[name] for name in names.split("=") if name in os.environ}
    # posix_spawnp looks the command up on the PATH of this process.
    try:
        server = os.posix_spawnp(
            command[0], command, environment, setpgroup=0, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
        )
    except (OSError, ValueError) as error:
        _write_status(status_file, {"error": _reason(error)})
        return _NOT_STARTED
    _let_go_of_streams()
    _watch(server, int(parent))
    code = os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
    _write_status(status_file, {"exit_code": code} if code >= 0 else {"signal": -code})
    _end_group(server)
    return code if code >= 0 else 128 - code


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "command not found"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _write_status(path: str, status: dict[str, int | str]) -> None:
    # Only now: every server start waits for this script's imports.
    import json

    temporary = f"{path}.new"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(status, file)
        os.replace(temporary, path)
    except OSError:
        # If the run was killed, the directory is gone and nothing reads the status.
        pass


def _let_go_of_streams() -> None:
    # A pipe held open here would hide from the client that the server has closed it.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _watch(server: int, parent: int) -> None:
    """From now on, look for the parent twice a second, and end the group when it or we must go."""
    stopping_since: list[float] = []

    def stop() -> None:
        if not stopping_since:
            stopping_since.append(time.monotonic())
            _signal_group(server, signal.SIGTERM)
        elif time.monotonic() - stopping_since[0] >= _GRACE_SECONDS:
            _signal_group(server, signal.SIGKILL)

    def on_signal(number: int, _frame: object) -> None:
        if number != signal.SIGALRM or stopping_since or os.getppid() != parent:
            stop()

    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)


def _end_group(group: int) -> None:
    deadline = time.monotonic() + _GRACE_SECONDS / 2
    _signal_group(group, signal.SIGTERM)
    while _signal_group(group, 0):
        if time.monotonic() >= deadline:
            _signal_group(group, signal.SIGKILL)
            return
        time.sleep(0.01)


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
