"""Where a project begins, for commands that run without pytest."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mcpeval.config.root_directory import configures_pytest

if TYPE_CHECKING:
    from pytest_mcpeval.core.sample_store import Selection
    from pytest_mcpeval.plugin.runtime import Runtime


def root_directory(start: Path) -> Path:
    """The nearest directory, from ``start`` up, with a pytest configuration or a ``.mcp.json``."""
    for directory in (start, *start.parents):
        if (directory / ".mcp.json").is_file() or configures_pytest(directory):
            return directory
    return start


def runtime_at(root: Path) -> Runtime:
    """What the plugin knows in a session with this root directory, without conftest files and ini keys."""
    from pytest_mcpeval.config.settings import Settings
    from pytest_mcpeval.kinds import Kinds
    from pytest_mcpeval.kinds.scenario.checks import BUILTIN
    from pytest_mcpeval.plugin.runtime import Runtime

    settings = Settings(rootdir=root, datasets=(root / "datasets",))
    return Runtime(settings, Kinds(BUILTIN))


def collected(root: Path, arguments: Sequence[str]) -> tuple[Runtime, list[Selection]]:
    """What a session of pytest with these arguments would run in a root directory, and what it knows then.

    Unlike `runtime_at`, it knows ini keys and what conftest files register.

    Raises:
        ValueError: Something cannot be collected; the text is what pytest printed.
    """
    import pytest

    from pytest_mcpeval.plugin.executing import Executor

    found: list[tuple[Runtime, list[Selection]]] = []

    class Collected:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            executor = session.config.pluginmanager.get_plugin("mcpeval-executor")
            assert isinstance(executor, Executor)
            found.append((executor.runtime, executor.selections()))

    if str(root) not in sys.path:
        # As `python -m pytest` does, with which the shards may have been run.
        sys.path.append(str(root))
    output = io.StringIO()
    # Asserts are not rewritten: that would warn of packages which are imported already.
    options = ["--mcpeval", "--collect-only", "-q", "--capture=no", "--assert=plain", *arguments]
    with contextlib.chdir(root), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main(options, plugins=[Collected()])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) or not found:
        raise ValueError(output.getvalue().strip())
    return found[0]


def shown(path: Path) -> str:
    """A path relative to the working directory where it lies below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
