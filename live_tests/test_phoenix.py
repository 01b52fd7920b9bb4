"""Evidence from a real Phoenix server, fed by the example agent over OTLP. Run by ``tox -e phoenix``."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from examples.running import running
from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent import evidence
from pytest_mcpeval.kinds.agent.observability.fetching import TraceQuery, fetch
from pytest_mcpeval.kinds.agent.schema import PhoenixSource

SECONDS_TO_START = 180


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Phoenix server with nothing in it."""
    command = shutil.which("arize-phoenix") or shutil.which("phoenix")
    assert command is not None, "pip install arize-phoenix, or run tox -e phoenix"
    port, directory = free_port(), tmp_path_factory.mktemp("phoenix")
    environ = {
        **os.environ,
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": str(directory),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    url, log = f"http://127.0.0.1:{port}", directory / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen([command, "serve"], env=environ, stdout=output, stderr=output) as process,
    ):
        try:
            _await(url, process, log)
            yield url
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(SECONDS_TO_START):
        assert process.poll() is None, log.read_text(errors="replace")
        try:
            if httpx2.get(f"{url}/healthz").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(1)
    pytest.fail(log.read_text(errors="replace"))


@pytest.fixture(scope="module")
def agent(phoenix: str) -> Iterator[str]:
    """The example agent, which sends its spans there."""
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": phoenix, "OTEL_BSP_SCHEDULE_DELAY": "100"}
    with running("examples.web_agent", **environ) as address:
        yield address


def ask(agent: str, session: str, question: str) -> None:
    turn = {"question": question, "session": session, "assistant": "concierge"}
    assert httpx2.post(f"{agent}/chat", json=turn).status_code == 200


def test_the_spans_of_a_session_become_logs(phoenix: str, agent: str, tmp_path: Path) -> None:
    folder = CaseFolder(tmp_path / "agent" / "run" / "case")
    folder.create()
    source = PhoenixSource(endpoint=phoenix, host_policy="insecure_loopback_only", trace_wait_ms=60_000)
    ask(agent, "12345", "Who is the manager of Goran Petrov?")
    ask(agent, "other", "Who works in Lisbon?")
    result = fetch(source, TraceQuery("12345"), folder)
    assert (result.traces, result.skipped_spans, result.notes) == (1, 0, ())
    calls = evidence.read_tool_calls(folder) or []
    assert [(call.tool_name, call.arguments) for call in calls] == [
        ("search_people", {"query": "Goran Petrov"}),
        ("get_manager", {"person_id": "goran-petrov"}),
    ]
    assert '"name": "Emil Haas"' in str(calls[1].result)
    routes = evidence.read_routing_decisions(folder) or []
    assert [(route.from_agent, route.target_agent) for route in routes] == [
        (None, "concierge"),
        ("concierge", "org_chart"),
    ]
    steps = evidence.read_step_count(folder)
    assert steps is not None
    assert steps.total_steps == 4
    generations = evidence.read_generations(folder) or []
    assert [row.model for row in generations] == ["people-rules-1"] * 3
    assert sum(row.total_tokens or 0 for row in generations) == 43
    assert all(row.total_cost_usd for row in generations)


def test_a_session_without_spans(phoenix: str, agent: str, tmp_path: Path) -> None:
    folder = CaseFolder(tmp_path / "agent" / "run" / "case")
    folder.create()
    source = PhoenixSource(
        endpoint=phoenix, project="empty", host_policy="insecure_loopback_only", trace_wait_ms=0
    )
    assert fetch(source, TraceQuery("12345"), folder).traces == 0
    assert fetch(source, TraceQuery("12345", until="2020-01-01T00:00:00Z"), folder).written == ()
