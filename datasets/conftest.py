"""The systems that the agents in ``agents/`` are evaluated on, started for each run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def people_agent() -> Iterator[dict[str, str]]:
    """The URLs of the people assistant and of the store that its traces go to."""
    with running("examples.trace_store") as store:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": store, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with running("examples.web_agent", **environ) as agent:
            yield {"url": agent, "otel": store}


@contextmanager
def running(module: str, **environ: str) -> Iterator[str]:
    """A server of the examples on a free port; gives the address that it prints."""
    command = [sys.executable, "-m", module, "--port", "0"]
    env = {**os.environ, **environ}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        try:
            if not address:
                pytest.fail(f"{module} did not start: see its error output above", pytrace=False)
            yield address
        finally:
            process.terminate()
