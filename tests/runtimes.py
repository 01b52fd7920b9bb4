"""The plugin's own view of a directory, without a pytest session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError
from pytest_mcpeval.config.settings import Settings
from pytest_mcpeval.kinds.registry import Kinds
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.plugin.runtime import Runtime

KINDS = Kinds(BUILTIN)
"""The kinds that the package brings, with its own checks."""


def runtime_at(rootdir: Path, **fields: Any) -> Runtime:
    """A runtime with the usual dataset directory and nothing loaded."""
    settings = Settings(rootdir=rootdir, datasets=(rootdir / "datasets",), **fields)
    return Runtime(settings, Kinds(BUILTIN))


def problems_of(runtime: Runtime, path: Path) -> list[str]:
    """Every problem of a data file, as people see it."""
    with pytest.raises(DataFileError) as caught:
        runtime.suite(path)
    return runtime.described(caught.value).splitlines()
