"""The tests do not depend on how they were started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
INHERITED = "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"
START = f"""
import os, runpy, signal
for name in {INHERITED}:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
runpy.run_path("conftest.py")
print([name for name in {INHERITED} if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
print([name for name in os.environ if name in {{"CI", "GITHUB_ACTIONS", "NO_COLOR", "COLUMNS", "MCP_URL"}}])
"""


def test_signals_and_variables_that_a_ci_runner_sets_are_reset() -> None:
    set_by_others = {
        "CI": "1",
        "GITHUB_ACTIONS": "1",
        "NO_COLOR": "1",
        "COLUMNS": "40",
        "MCP_URL": "http://x",
    }
    done = subprocess.run(
        [sys.executable, "-c", START],
        cwd=ROOT,
        env={**os.environ, **set_by_others},
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]", "set()", "[]"]


def test_an_interrupt_reaches_what_the_tests_start() -> None:
    waiting = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", waiting], text=True) == "True\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
