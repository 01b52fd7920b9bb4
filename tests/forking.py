"""Runs of pytest in processes that begin with the packages imported which every run needs.

Half of the time of a small run goes into importing mcp and pydantic. Here one process imports them once,
and is forked for each run (`multiprocessing`'s fork server); the plugin itself is imported in each.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory

PRELOADED = ("anyio", "asyncio", "jinja2", "jsonschema", "mcp", "mcp.server", "pydantic", "pytest", "yaml")


def run_pytest(
    arguments: Sequence[str], directory: Path, environ: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a process of its own, as ``python -m pytest`` in a directory.

    Raises:
        subprocess.TimeoutExpired: It took longer than ``timeout`` seconds, and was killed.
    """
    with TemporaryDirectory() as name:
        out, err = Path(name, "out"), Path(name, "err")
        given = (list(arguments), str(directory), dict(environ), str(out), str(err), _search_path())
        process = _fork_server().Process(target=_main, args=given)
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(arguments), timeout, out.read_text("utf-8"))
        texts = [file.read_text("utf-8") if file.exists() else "" for file in (out, err)]
        return subprocess.CompletedProcess(list(arguments), process.exitcode, *texts)


@functools.cache
def _fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


@functools.cache
def _search_path() -> list[str]:
    """Where a fresh interpreter finds modules."""
    command = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.path[1:]))"]
    found: list[str] = json.loads(subprocess.check_output(command))
    return found


def _main(
    arguments: list[str], directory: str, environ: dict[str, str], out: str, err: str, path: list[str]
) -> None:
    """What ``python -m pytest`` does, in a forked process."""
    for number, name in enumerate((out, err), 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environ)
    sys.dont_write_bytecode = False
    sys.argv[:] = ["pytest", *arguments]
    sys.path[:] = [directory, *path]
    # A project may have a package of this name as well.
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]

    import anyio
    import pytest

    # It brings a plugin, so pytest would rewrite its asserts and warns that it cannot.
    anyio.__doc__ = "PYTEST_DONT_REWRITE"
    sys.exit(pytest.console_main())
