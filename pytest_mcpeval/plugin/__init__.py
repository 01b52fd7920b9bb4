"""pytest's door: options, markers and fixtures. Without ``--mcpeval`` nothing else here is imported."""

from __future__ import annotations

import pytest

from pytest_mcpeval.config.options import OPTIONS, add_options, is_enabled
from pytest_mcpeval.kinds import KIND_OPTIONS
from pytest_mcpeval.plugin import hooks
from pytest_mcpeval.python_tests.fixtures import (
    mcpeval_async_call,
    mcpeval_async_client,
    mcpeval_call,
    mcpeval_capture,
    mcpeval_client,
    mcpeval_expect,
    mcpeval_page,
    mcpeval_trajectory,
)

__all__ = [
    "mcpeval_async_call",
    "mcpeval_async_client",
    "mcpeval_call",
    "mcpeval_capture",
    "mcpeval_client",
    "mcpeval_expect",
    "mcpeval_page",
    "mcpeval_trajectory",
]

MARKERS = (
    "mcpeval_server(name): the MCP server a test talks to",
    "mcpeval_checks(**checks): checks on what the test returned, or on the last answer it got",
    "mcpeval_assert(must_call=[], max_steps=, ...): what must hold of the agent that a test visited last",
    "mcpeval_case(project=, difficulty=, tags=[], name=): where a test written in Python is counted",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and ini keys."""
    add_options(parser, (*OPTIONS, *KIND_OPTIONS))


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks offered to conftest files."""
    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Ignore what pytest-asyncio, which comes with this plugin, warns of in each run without its setting."""
    if config.getoption("mcpeval") or config.getini("mcpeval"):
        line = 'ignore:The configuration option "asyncio_default_fixture_loop_scope" is unset'
        config.addinivalue_line("filterwarnings", line)


def pytest_configure(config: pytest.Config) -> None:
    """Declare markers; with ``--mcpeval``, take this process's part in the session."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    if is_enabled(config, (*OPTIONS, *KIND_OPTIONS)):
        from pytest_mcpeval.plugin.roles import take_part

        take_part(config)
