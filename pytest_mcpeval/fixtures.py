"""Fixtures for tests written in Python. Everything heavy is imported when a fixture is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_mcpeval.python_client import AsyncCaseClient, CaseClient, RecordingExpect
    from pytest_mcpeval.servers.response import Response


def _client(request: pytest.FixtureRequest, fixture: str) -> CaseClient:
    from pytest_mcpeval.session_key import runtime_key

    runtime = request.config.stash.get(runtime_key, None)
    if runtime is None:
        raise pytest.UsageError(
            f"the fixture {fixture} needs evals to be on: run pytest --mcpeval, or set the ini key mcpeval = true"
        )
    from pytest_mcpeval.python_client import CaseClient

    return CaseClient(request.node, runtime)


@pytest.fixture
def mcpeval_client(request: pytest.FixtureRequest) -> CaseClient:
    """Calls tools, resources and prompts of the server named by the marker ``mcpeval_server``.

    Without the marker, the only server that is defined. Every answer is recorded for the reports.
    """
    return _client(request, "mcpeval_client")


@pytest.fixture
def mcpeval_call(request: pytest.FixtureRequest) -> Callable[..., Response]:
    """``mcpeval_call("search", query="x")``: one tool call with its arguments as keywords."""
    client = _client(request, "mcpeval_call")

    def call(tool: str, /, **arguments: Any) -> Response:
        return client.call_tool(tool, arguments)

    return call


@pytest.fixture
def mcpeval_expect(request: pytest.FixtureRequest) -> Callable[[Response | str], RecordingExpect]:
    """``mcpeval_expect(response).min_length(200).has_citation()``: one method for each check."""
    return _client(request, "mcpeval_expect").expect


@pytest.fixture
def mcpeval_async_client(request: pytest.FixtureRequest) -> AsyncCaseClient:
    """`mcpeval_client` for ``async def`` tests: the same methods, to be awaited."""
    return _client(request, "mcpeval_async_client").as_async()


@pytest.fixture
def mcpeval_async_call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`mcpeval_call` for ``async def`` tests: ``await mcpeval_async_call("search", query="x")``."""
    client = _client(request, "mcpeval_async_call").as_async()

    async def call(tool: str, /, **arguments: Any) -> Response:
        return await client.call_tool(tool, arguments)

    return call
