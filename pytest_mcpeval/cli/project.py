"""Where a project begins, for commands that run without pytest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mcpeval.runtime import Runtime

# The files pytest looks for, with the words that make a shared one its own; "" for its very own files.
CONFIGURATION = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}


def root_directory(start: Path) -> Path:
    """The nearest directory, from ``start`` up, with a pytest configuration or a ``.mcp.json``."""
    for directory in (start, *start.parents):
        if (directory / ".mcp.json").is_file() or any(
            _configures_pytest(directory / name, words) for name, words in CONFIGURATION.items()
        ):
            return directory
    return start


def _configures_pytest(path: Path, words: str) -> bool:
    if not path.is_file():
        return False
    return not words or words in path.read_text(encoding="utf-8", errors="replace")


def runtime_at(root: Path) -> Runtime:
    """What the plugin knows in a session with this root directory, without conftest files and ini keys."""
    from pytest_mcpeval.kinds import registered_kinds
    from pytest_mcpeval.kinds.scenario.checks import BUILTIN
    from pytest_mcpeval.runtime import Runtime
    from pytest_mcpeval.settings import Settings

    settings = Settings(rootdir=root, datasets=(root / "datasets",))
    return Runtime(settings, registered_kinds(BUILTIN), BUILTIN)


def shown(path: Path) -> str:
    """A path relative to the working directory where it lies below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
