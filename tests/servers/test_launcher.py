"""The launcher alone: it passes streams and exit codes through and cleans up."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pytest_mcpeval.servers.launcher

from .conftest import GONE_SECONDS, runs

LAUNCHER = pytest_mcpeval.servers.launcher.__file__


def command(status: Path, *server: str, names: str = "PATH") -> list[str]:
    return [sys.executable, "-I", "-S", LAUNCHER, str(status), str(os.getpid()), names, "--", *server]


@pytest.mark.parametrize(
    ("script", "code", "status"),
    [
        ("exit 0", 0, {"exit_code": 0}),
        ("exit 3", 3, {"exit_code": 3}),
        ("kill -SEGV $$", 139, {"signal": 11}),
    ],
)
def test_exit_codes_and_signals(tmp_path: Path, script: str, code: int, status: dict[str, int]) -> None:
    file = tmp_path / "status.json"
    assert subprocess.run(command(file, "sh", "-c", script), check=False).returncode == code
    assert json.loads(file.read_text()) == status


def test_streams_pass_through(tmp_path: Path) -> None:
    run = command(tmp_path / "status.json", "sh", "-c", "cat; echo err >&2")
    done = subprocess.run(run, input="in", capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("in", "err\n")


def test_a_command_that_cannot_run(tmp_path: Path) -> None:
    file = tmp_path / "status.json"
    done = subprocess.run(command(file, "no-such-program"), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (127, b"")
    assert json.loads(file.read_text()) == {"error": "command not found"}
    directory = subprocess.run(command(file, str(tmp_path)), capture_output=True, check=False)
    assert directory.returncode == 127
    assert json.loads(file.read_text()) == {"error": "Permission denied"}


def test_only_the_named_variables_pass(tmp_path: Path) -> None:
    run = command(tmp_path / "status.json", "env", names="A=PATH")
    environment = {"A": "1", "B": "2", "PATH": os.environ["PATH"]}
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.splitlines()) == ["A=1", f"PATH={os.environ['PATH']}"]


def test_a_closed_output_reaches_the_reader(tmp_path: Path) -> None:
    run = command(tmp_path / "status.json", "sh", "-c", "exec 1>&-; read -r line")
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], GONE_SECONDS)[0], "the pipe is still held open"
        assert process.stdout.read() == b""
        assert process.poll() is None


def test_what_the_server_leaves_is_ended(tmp_path: Path) -> None:
    run = command(tmp_path / "status.json", "sh", "-c", "trap '' TERM; sleep 1000 >&- 2>&- & echo $!")
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    # SIGKILL was sent before the launcher ended; a busy system takes a moment to carry it out.
    deadline = time.monotonic() + GONE_SECONDS
    while runs(int(done.stdout)):
        assert time.monotonic() < deadline, "left running"


def test_told_to_stop_it_insists(tmp_path: Path) -> None:
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    script = f"{ignore}; print('ready', flush=True); signal.pause()"
    run = command(tmp_path / "status.json", sys.executable, "-c", script)
    with subprocess.Popen(run, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait(GONE_SECONDS) == 137


def test_a_parent_that_is_gone_already(tmp_path: Path) -> None:
    run = command(tmp_path / "status.json", "sleep", "1000")
    run[5] = str(os.getppid())
    with subprocess.Popen(run) as process:
        try:
            assert process.wait(GONE_SECONDS) == 143
        finally:
            process.terminate()
