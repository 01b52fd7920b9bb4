"""A worker that is killed while it drives an agent: only its case is harmed, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.agent.captured_runs import case, manifest
from tests.browser.pages import Site, chat
from tests.support import Project


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary directory with a short path: Chromium has a socket in it."""
    with tempfile.TemporaryDirectory(prefix="mcpeval-") as directory:
        yield Path(directory)


@pytest.mark.parametrize("driver", ["playwright", "playwright-mcp"])
def test_a_killed_worker_leaves_no_browser_and_frees_its_slot(
    tmp_path: Path, temporary: Path, site: Site, npm_programs: None, driver: str
) -> None:
    left: list[psutil.Process] = []

    def kill(path: str) -> None:
        if path == "/doomed" and not left:
            lock = temporary / f"pytest-mcpeval-{os.getuid()}" / "slots" / "slot-0.lock"
            worker = psutil.Process(int(lock.read_text()))
            left.extend([worker, *worker.children(recursive=True)])
            worker.kill()

    site.on_request = kill
    script = """input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      if (log.textContent.includes("doomed")) fetch("/doomed");
      else say("answer 2", "end");
    });"""
    site.pages["/chat"] = chat(script=script)
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    agent = manifest(
        case("doomed", text="doomed", final_response_contains="never"),
        case("fine", text="hi", final_response_contains="answer 1 to hi"),
        access={"url": f"{site.url}/chat"},
        # What ends the wait comes in the fine case only: the doomed one lasts until its worker is killed.
        interaction={"response_ready": {"selector": ".end"}, "response_wait_ms": 60_000},
    )
    made.write_json("agent.yaml", agent)
    made.write_json("mcpeval.yaml", {"agent": [{"driver": driver}]})
    arguments = ("-n2", "-v", "--mcpeval-pool-size", "1")
    run = made.run(*arguments, columns=120, CI="", TMPDIR=str(temporary), timeout=300)
    assert run.status == 1
    assert "crashed while running 'agent.yaml::doomed'" in run.out, run.out
    assert "1 failed, 1 passed" in run.last_line
    # The worker, Node and the processes of the browser.
    assert len(left) > 3
    _, alive = psutil.wait_procs(left, timeout=20)
    assert alive == []


@pytest.mark.parametrize("driver", ["playwright", "playwright-mcp"])
def test_a_run_that_is_interrupted_ends_soon_and_leaves_no_browser(
    tmp_path: Path, site: Site, npm_programs: None, driver: str
) -> None:
    left: list[psutil.Process] = []
    started: list[subprocess.Popen[str]] = []

    def interrupt(path: str) -> None:
        if path == "/asked" and not left:
            left.extend(psutil.Process(started[0].pid).children(recursive=True))
            started[0].send_signal(signal.SIGINT)

    site.on_request = interrupt
    site.pages["/chat"] = chat(script="""input.addEventListener("keydown", () => fetch("/asked"));""")
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    interaction = {"response_wait_ms": 120_000}
    access = {"url": f"{site.url}/chat"}
    agent = manifest(case("one", final_response_contains="x"), access=access, interaction=interaction)
    made.write_json("agent.yaml", agent)
    made.write_json("mcpeval.yaml", {"agent": [{"driver": driver}]})
    command, environ = made.command(), made.environ(CI="")
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as process:
        started.append(process)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 2, out
    assert "KeyboardInterrupt" in out
    assert len(left) > 2
    _, alive = psutil.wait_procs(left, timeout=20)
    assert alive == []
