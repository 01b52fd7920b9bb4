"""Where a project begins, for commands that run without pytest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mcpeval.root_directory import configures_pytest

if TYPE_CHECKING:
    from pytest_mcpeval.runtime import Runtime


def root_directory(start: Path) -> Path:
    """The nearest directory, from ``start`` up, with a pytest configuration or a ``.mcp.json``."""
    for directory in (start, *start.parents):
        if (directory / ".mcp.json").is_file() or configures_pytest(directory):
            return directory
    return start


def runtime_at(root: Path) -> Runtime:
    """What the plugin knows in a session with this root directory, without conftest files and ini keys."""
    from pytest_mcpeval.kinds import Kinds
    from pytest_mcpeval.kinds.scenario.checks import BUILTIN
    from pytest_mcpeval.runtime import Runtime
    from pytest_mcpeval.settings import Settings

    settings = Settings(rootdir=root, datasets=(root / "datasets",))
    return Runtime(settings, Kinds(BUILTIN), BUILTIN)


def shown(path: Path) -> str:
    """A path relative to the working directory where it lies below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
