"""The hooks pytest-mcpeval offers to conftest files and other plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation
    from pytest_mcpeval.core.kind import Kind
    from pytest_mcpeval.kinds.scenario.checks import CheckType


@pytest.hookspec
def pytest_mcpeval_kinds() -> Iterable[Kind[Any]]:  # type: ignore[empty-body]
    """Return further kinds of evaluation, each of which detects its own data files.

    Called once per process, before the first data file is collected. A kind whose name is taken is an error.
    """


@pytest.hookspec
def pytest_mcpeval_checks() -> Iterable[CheckType]:  # type: ignore[empty-body]
    """Return further types of check for scenario cases.

    Called once per process, before the first data file is collected. A type whose name is taken is an error.
    """


@pytest.hookspec
def pytest_mcpeval_report(evaluation: Evaluation) -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return further reports on a run: the text of each by the name of its file.

    Called once when the session ends, by the process that judges, and by ``pytest-mcpeval merge``. The files
    are written beside ``report.json``, into the directory of ``--mcpeval-report`` (of ``merge``:
    ``--report``); without it nothing is written. A hook that raises makes the run red.
    """
