"""Waiting that a signal can end, whichever thread the system hands it to."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from pytest_mcpeval.servers.interruptible import result_of

WAITING = """
import signal, sys, threading, time
from concurrent.futures import Future
from pytest_mcpeval.servers.interruptible import result_of

def interrupt():
    time.sleep(0.3)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    result_of(Future())
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_signal_that_another_thread_is_given_ends_the_wait() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WAITING], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted\n", done.stderr


def test_results_errors_and_time_limits_are_those_of_the_future() -> None:
    def late(error: type[Exception] | None) -> int:
        time.sleep(0.7)
        if error is not None:
            raise error("mine")
        return 1

    with ThreadPoolExecutor(2) as threads:
        assert result_of(threads.submit(late, None)) == 1
        assert result_of(threads.submit(late, None), 10) == 1
        with pytest.raises(ValueError, match="mine"):
            result_of(threads.submit(late, ValueError))
        with pytest.raises(TimeoutError, match="mine"):
            result_of(threads.submit(late, TimeoutError))
    for seconds in (0, 0.1, 0.6):
        with pytest.raises(TimeoutError):
            result_of(Future[int](), seconds)
