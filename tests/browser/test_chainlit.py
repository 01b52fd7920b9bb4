"""A chat interface that nobody here wrote, driven end to end: Chainlit, in an environment of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.agent.captured_runs import case, manifest
from tests.support import Project

AGENT = Path(__file__).parents[2] / "examples" / "chainlit_agent"
CHAINLIT = AGENT / ".venv" / "bin" / "chainlit"
START_SECONDS = 90


@pytest.fixture(scope="module")
def chainlit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the running agent."""
    assert CHAINLIT.is_file(), "run: python examples/install_servers.py --chainlit"
    root = tmp_path_factory.mktemp("chainlit")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        str(CHAINLIT),
        "run",
        str(AGENT / "app.py"),
        "--headless",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    environ = {**os.environ, "CHAINLIT_APP_ROOT": str(root), "HOME": str(root)}
    environ.pop("PYTHONPATH", None)
    with (
        (root / "log").open("w") as log,
        subprocess.Popen(command, cwd=root, env=environ, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}/"
            _wait_for(url, process, root / "log")
            yield url
        finally:
            process.kill()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"Chainlit does not answer:\n{log.read_text()}")


@pytest.mark.parametrize("driver", ["playwright", "playwright-mcp"])
def test_an_agent_on_chainlit(tmp_path: Path, chainlit: str, npm_programs: None, driver: str) -> None:
    button = "[data-step-type=tool] button[id^=step-]"
    calls = {
        "entry": "[data-step-type=tool]",
        "tool_name": {"selector": "button[id^=step-]", "attribute": "id"},
        "arguments": "code",
        "result": "[role=article]",
    }
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    agent = manifest(
        case(
            "leader",
            text="Who leads Engineering?",
            final_response_contains="Ada Lovelace leads Engineering.",
            must_call=["step-find_leader"],
            must_call_with_args=[{"tool_name": "step-find_leader", "args": {"team": "Engineering"}}],
        ),
        case("wrong", text="Who leads Research?", final_response_contains="Ada Lovelace leads Research."),
        access={"url": chainlit},
        interaction={
            # The greeting comes once the page is connected; what is entered earlier gets no answer.
            "preconditions": [{"action": "click", "selector": "[data-step-type=assistant_message]"}],
            "input_selector": "#chat-input",
            "response_wait_ms": 60_000,
            "response_ready": {"selector": "[data-step-type=assistant_message] [role=article]"},
        },
        observability={
            "ui_introspection": {
                "description": "each tool is a step with a button that shows its input and output",
                "reveal_actions": [{"action": "click", "selector": button}],
                "exposes": ["tool_calls"],
                "extract": {"tool_calls": calls},
            }
        },
    )
    made.write_json("agent.yaml", agent)
    made.write_json("mcpeval.yaml", {"agent": [{"driver": driver}]})
    run = made.run("-v", columns=120, CI="", timeout=300)
    assert run.status == 1
    assert "1 failed, 1 passed" in run.last_line, run.out
    assert "Grace Hopper leads Research." in run.out
    [log] = (tmp_path / "runs").rglob("leader/trace/observability/tool_calls.jsonl")
    assert '"result":"Ada Lovelace"' in log.read_text().replace(": ", ":")
