"""A run that finds all slots taken says so while it waits."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from threading import Timer

import pytest

from pytest_mcpeval.browser.slots import SlotPool
from tests.agent.captured_runs import case, manifest
from tests.browser.pages import Site
from tests.support import Project

LONGEST_SECONDS = 120


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["serial", "xdist"])
def test_a_wait_for_a_slot_is_told_when_it_begins(
    tmp_path: Path, site: Site, arguments: tuple[str, ...]
) -> None:
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    only = case("one", text="hi", final_response_contains="answer 1 to hi")
    interaction = {"response_ready": {"selector": ".agent"}, "response_wait_ms": 20_000}
    made.write_json("agent.yaml", manifest(only, access={"url": f"{site.url}/chat"}, interaction=interaction))
    # Chromium has a socket in it, whose path must be short.
    with tempfile.TemporaryDirectory(prefix="mcpeval-") as temporary:
        command = made.command(*arguments, "--mcpeval-pool-size", "1")
        environ = made.environ(CI="", TMPDIR=temporary)
        pool = SlotPool(1, Path(temporary, f"pytest-mcpeval-{os.getuid()}", "slots"))
        with ExitStack() as held:
            held.enter_context(pool.lease())
            process = subprocess.Popen(
                command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            assert process.stderr is not None
            # A run that says nothing would wait, and this test with it.
            watchdog = Timer(LONGEST_SECONDS, process.kill)
            watchdog.start()
            held.callback(watchdog.cancel)
            told = next((line for line in process.stderr if "waits" in line), "")
            waiting = process.poll() is None
        out, _ = process.communicate(timeout=LONGEST_SECONDS)
    assert "mcpeval: the only browser slot is in use: process " in told
    assert told.endswith("waits for one (--mcpeval-pool-size)\n")
    assert waiting
    assert process.returncode == 0, out
    assert "1 passed" in out
    assert site.seen
