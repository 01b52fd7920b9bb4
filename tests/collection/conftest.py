"""A small project, and runs of the plugin on it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages

import pytest

import pytest_mcpeval
from tests.support import Project

# A run in this process forgets what it imported; libyaml's loader, for one, works in its first life only.
for found in walk_packages(pytest_mcpeval.__path__, "pytest_mcpeval."):
    import_module(found.name)
for name in ("hypothesis", "mcp", "yaml"):
    import_module(name)

RunPytest = Callable[..., pytest.RunResult]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a server, in the directory that runs of `run` start from."""
    monkeypatch.setenv("COLUMNS", "160")
    return Project.at(pytester.path)


@pytest.fixture
def run(pytester: pytest.Pytester) -> RunPytest:
    """Run pytest with evals in this process."""

    def run_pytest(*arguments: str) -> pytest.RunResult:
        # pytest-asyncio warns about an ini key that the small projects do not have.
        return pytester.runpytest_inprocess("--mcpeval", "-p", "no:asyncio", *arguments)

    return run_pytest


@pytest.fixture
def collected(run: RunPytest) -> Callable[..., list[str]]:
    """The node ids that a run collects."""

    def collect(*arguments: str) -> list[str]:
        result = run("--collect-only", "-q", *arguments)
        assert result.ret in (0, 5), result.outlines
        return [line for line in result.outlines if "::" in line]

    return collect
