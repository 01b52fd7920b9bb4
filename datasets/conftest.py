"""The systems that the agents in ``agents/`` are evaluated on, started for each run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.running import running


@pytest.fixture(scope="session")
def people_agent() -> Iterator[dict[str, str]]:
    """The URLs of the people assistant and of the store that its traces go to."""
    with running("examples.trace_store") as store:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": store, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with running("examples.web_agent", **environ) as agent:
            yield {"url": agent, "otel": store}
