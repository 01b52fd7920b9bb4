"""Where a project begins, for commands that run without pytest."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mcpeval.config.root_directory import configures_pytest

if TYPE_CHECKING:
    import pytest

    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.core.sample_store import Selection
    from pytest_mcpeval.plugin.runtime import Runtime
    from pytest_mcpeval.servers import ServerDefinition


def root_directory(start: Path) -> Path:
    """The nearest directory, from ``start`` up, with a pytest configuration or a ``.mcp.json``."""
    for directory in (start, *start.parents):
        if (directory / ".mcp.json").is_file() or configures_pytest(directory):
            return directory
    return start


def runtime_at(root: Path) -> Runtime:
    """What the plugin knows in a session with this root directory, without conftest files and ini keys."""
    from pytest_mcpeval.config.settings import Settings
    from pytest_mcpeval.kinds.registry import Kinds
    from pytest_mcpeval.kinds.scenario.checks import BUILTIN
    from pytest_mcpeval.plugin.runtime import Runtime

    settings = Settings(rootdir=root, datasets=(root / "datasets",))
    return Runtime(settings, Kinds(BUILTIN))


@contextlib.contextmanager
def opened(start: Path, rootdir: str | None = None) -> Iterator[Runtime]:
    """`runtime_at` of the root directory that is given, or found from ``start`` up; closed at the end."""
    runtime = runtime_at(Path(rootdir).absolute() if rootdir else root_directory(start))
    try:
        yield runtime
    finally:
        runtime.close()


def runtime_of(root: Path, paths: Sequence[str] = ()) -> Runtime:
    """What the plugin knows in a session of pytest with these paths: ini keys, and what conftest files add.

    Raises:
        ValueError: pytest does not start; the text is what it printed.
    """
    import pytest

    from pytest_mcpeval.plugin.runtime import Runtime
    from pytest_mcpeval.python_tests.fixtures import context_key

    found: list[RunContext] = []

    class Started:
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session: pytest.Session) -> bool:
            found.append(session.config.stash[context_key])
            return True  # Nothing is collected.

    _start_pytest(root, [f"--rootdir={root}", *paths], Started(), found)
    (runtime,) = found
    assert isinstance(runtime, Runtime)
    return runtime


class DefinitionError(Exception):
    """No server can be taken from the files here; ``status`` is the exit code that says so."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def defined_servers(
    rootdir: str | None, names: Sequence[str] = ()
) -> tuple[dict[str, ServerDefinition], list[str]]:
    """The servers that are defined for the working directory, or those of these names, by name.

    Beside them, what was ignored in the files that define servers.

    Raises:
        DefinitionError: There is none, or a file that defines servers cannot be read.
    """
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.loading.messages import suggestion
    from pytest_mcpeval.servers import ServerConfigError

    root = Path(rootdir).absolute() if rootdir else root_directory(Path.cwd())
    try:
        project_files = runtime_at(root).project_files
        defined = project_files.servers_at(Path.cwd() / "mcpeval.yaml")
        ignored = [str(problem) for problem in project_files.ignored()]
    except (DataFileError, ServerConfigError) as error:
        raise DefinitionError(str(error).replace(f"{Path.cwd()}/", ""), 1) from None
    known = ", ".join(sorted(defined)) or "none"
    unknown = [name for name in names if name not in defined]
    if unknown:
        lines = [
            f"no server {name!r} is defined{suggestion(name, defined)} (defined: {known})" for name in unknown
        ]
        raise DefinitionError("\n".join(lines), 2)
    if not defined:
        where = f"no server is defined in an mcpeval.yaml here or above, nor in {root / '.mcp.json'}"
        raise DefinitionError(f"{where}; pytest-mcpeval init --server COMMAND begins with one", 1)
    return {name: defined[name] for name in names or sorted(defined)}, ignored


@dataclass(frozen=True)
class Collected:
    """What a session of pytest would run, what it knows then, and its configuration."""

    runtime: Runtime
    selections: Sequence[Selection]
    config: pytest.Config


def collected(root: Path, arguments: Sequence[str]) -> Collected:
    """What a session of pytest with these arguments would run in a root directory.

    Raises:
        ValueError: Something cannot be collected; the text is what pytest printed.
    """
    from pytest_mcpeval.plugin.executing import Executor

    found: list[Collected] = []

    class Finished:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            executor = session.config.pluginmanager.get_plugin("mcpeval-executor")
            assert isinstance(executor, Executor)
            found.append(Collected(executor.runtime, executor.selections(), session.config))

    _start_pytest(root, arguments, Finished(), found)
    return found[0]


def _start_pytest(root: Path, arguments: Sequence[str], plugin: object, found: Sequence[object]) -> None:
    """Run a session of pytest in which no case runs, and in which a plugin finds something."""
    import pytest

    if str(root) not in sys.path:
        # As `python -m pytest` does.
        sys.path.append(str(root))
    output = io.StringIO()
    # Asserts are not rewritten: that would warn of packages which are imported already.
    options = ["--mcpeval", "--collect-only", "-q", "--capture=no", "--assert=plain", *arguments]
    with contextlib.chdir(root), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main(options, plugins=[plugin])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) or not found:
        raise ValueError(output.getvalue().strip())
