"""Fixtures for tests written in Python. Everything heavy is imported when a fixture is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.python_tests.agents import CaptureAgent, Trajectory
    from pytest_mcpeval.python_tests.client import (
        AsyncCallTool,
        AsyncCaseClient,
        CallTool,
        CaseClient,
        MakeExpect,
    )
    from pytest_mcpeval.servers.response import Response

NETWORK_TRANSPORTS = ("http", "sse")


context_key: pytest.StashKey[RunContext] = pytest.StashKey()
"""Where the run is kept in a session with the plugin on."""


def _context(request: pytest.FixtureRequest) -> RunContext:
    context = request.config.stash.get(context_key, None)
    if context is None:
        pytest.fail(
            f"the fixture {request.fixturename} needs evals to be on: "
            "run pytest --mcpeval, or set the ini key mcpeval = true",
            pytrace=False,
        )
    return context


def _client(request: pytest.FixtureRequest) -> CaseClient:
    context = _context(request)
    from pytest_mcpeval.python_tests.client import CaseClient

    return CaseClient(request.node, context)


def _connected(request: pytest.FixtureRequest, *, is_async: bool = False) -> CaseClient:
    """A client whose server runs: that it does not start is an error of the set-up, not of the test."""
    client = _client(request)
    # A server reached over the network may live in the loop of an async test, which stands still meanwhile.
    if not (is_async and client.server.transport in NETWORK_TRANSPORTS):
        _ = client.connection
    return client


@pytest.fixture
def mcpeval_client(request: pytest.FixtureRequest) -> CaseClient:
    """Client of one MCP server: ``call_tool(name, arguments)``, ``read_resource(uri)``, ``get_prompt(name)``.

    The server is the one named by ``@pytest.mark.mcpeval_server("docs")``, or the only one that is defined.
    Every call is recorded for the reports. A call without an answer raises ``pytest_mcpeval.CallError``.
    """
    return _connected(request)


@pytest.fixture
def mcpeval_call(request: pytest.FixtureRequest) -> CallTool:
    """Call a tool with its arguments as keywords: ``response = mcpeval_call("search", query="x")``.

    The response has ``text``, ``structured``, ``is_error`` and ``latency_ms``.
    """
    client = _connected(request)

    def call(tool: str, /, **arguments: Any) -> Response:
        __tracebackhide__ = True
        return client.call_tool(tool, arguments)

    return call


@pytest.fixture
def mcpeval_expect(request: pytest.FixtureRequest) -> MakeExpect:
    """Check a response or a text: ``mcpeval_expect(response).min_length(200).has_citation()``.

    One method for each check. ``with mcpeval_expect(response).all() as expect:`` evaluates all of its block.
    """
    return _client(request).expect


@pytest.fixture
def mcpeval_async_client(request: pytest.FixtureRequest) -> AsyncCaseClient:
    """``mcpeval_client`` for ``async def`` tests: the same methods, to be awaited."""
    return _connected(request, is_async=True).as_async()


@pytest.fixture
def mcpeval_async_call(request: pytest.FixtureRequest) -> AsyncCallTool:
    """``mcpeval_call`` for ``async def`` tests: ``await mcpeval_async_call("search", query="x")``."""
    client = _connected(request, is_async=True).as_async()

    async def call(tool: str, /, **arguments: Any) -> Response:
        __tracebackhide__ = True
        return await client.call_tool(tool, arguments)

    return call


@pytest.fixture
def mcpeval_page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of Playwright in a browser of its own, which holds one of the browser slots of this user.

    It has Playwright's synchronous methods: ``mcpeval_page.goto(url)``.
    """
    context = _context(request)
    from pytest_mcpeval.python_tests.agents import leased_page

    with leased_page(context) as page:
        yield page


@pytest.fixture
def mcpeval_capture(request: pytest.FixtureRequest) -> CaptureAgent:
    """Visit a web agent: ``visit = mcpeval_capture(url, "Who leads Engineering?")``, then ``visit.text``.

    Keywords are those of ``interaction`` in manifests. ``mcpeval_capture.case("agent.yaml", "case-id")``
    visits as a manifest says, and gathers its evidence. A visit that fails raises ``BrowserError``.
    """
    context = _context(request)
    if context.options("agent").mode == "score_only":
        pytest.fail(
            "the fixture mcpeval_capture visits agents, and with --mcpeval-score-only none is visited: "
            "run this test without that option",
            pytrace=False,
        )
    from pytest_mcpeval.python_tests.agents import CaptureAgent

    return CaptureAgent(request, context)


@pytest.fixture
def mcpeval_trajectory(request: pytest.FixtureRequest) -> Trajectory:
    """What the agent did during the last visit: ``tools``, ``tool_calls``, ``steps``, ``response_text``, …

    Where the evidence is missing, the test is inconclusive.
    """
    _context(request)
    from pytest_mcpeval.python_tests.agents import last_trajectory

    return last_trajectory(request.node)
