"""The hooks pytest-mcpeval offers to conftest files and other plugins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_mcpeval.core.kind import Kind
    from pytest_mcpeval.kinds.scenario.checks import CheckType


@pytest.hookspec
def pytest_mcpeval_kinds() -> Iterable[Kind[Any]]:  # type: ignore[empty-body]
    """Return further kinds of evaluation, each recognising its own data files.

    Called once per process, before the first data file is collected. A kind whose name is taken is an error.
    """


@pytest.hookspec
def pytest_mcpeval_checks() -> Iterable[CheckType]:  # type: ignore[empty-body]
    """Return further types of check for scenario cases.

    Called once per process, before the first data file is collected. A type whose name is taken is an error.
    """
