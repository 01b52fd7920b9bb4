"""The console script ``pytest-mcpeval``, for what is not a test run: one module for each command."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO

from pytest_mcpeval import __version__
from pytest_mcpeval.cli.project import opened, root_directory, runtime_of
from pytest_mcpeval.kinds.registry import KIND_COMMANDS
from pytest_mcpeval.text.redact import redactor

COMMANDS = {
    "init": "pytest_mcpeval.cli.init",
    "validate": "pytest_mcpeval.cli.validate",
    "doctor": "pytest_mcpeval.cli.doctor",
    "schema": "pytest_mcpeval.cli.schema",
    "servers": "pytest_mcpeval.cli.servers",
    "tools": "pytest_mcpeval.cli.tools",
    "call": "pytest_mcpeval.cli.call",
    "selftest": "pytest_mcpeval.cli.selftest",
    "install-browser": "pytest_mcpeval.cli.install_browser",
    "merge": "pytest_mcpeval.cli.merge",
    "compare": "pytest_mcpeval.cli.compare",
    "html": "pytest_mcpeval.cli.html",
    **KIND_COMMANDS,
}
"""Name → module with functions ``add_parser`` and ``run``."""

EXIT_CODES = """\
exit codes:
  0  all is well
  1  problems were found, or a server did not start
  2  wrong usage: an unknown command, option, path or name
  3  snapshot --check could not compare: a server did not start, or a file cannot be read
"""


class _Redacted(io.TextIOBase):
    """A stream that shows no value from the environment."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        self._stream.write(redactor.text(text))
        return len(text)

    def flush(self) -> None:
        """Let everything be seen."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether a person sees it."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The number of the stream below."""
        return self._stream.fileno()

    @property
    def buffer(self) -> BinaryIO:
        """The bytes below, for what is not a text for people."""
        return self._stream.buffer


class _Parser(argparse.ArgumentParser):
    """A parser that suggests the command that was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and end with exit code 2."""
        self.exit(2, f"{self.prog}: {message}\n(see {self.prog} --help)\n")


def parser(modules: Mapping[str, str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of the console script, with its commands."""
    top = _Parser(
        prog="pytest-mcpeval",
        description="Companion of the pytest plugin. Evals themselves are run by: pytest --mcpeval",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"pytest-mcpeval {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", title="commands", required=True)
    for name, path in modules.items():
        module = import_module(path)
        prog = f"{top.prog} {name}"
        module.add_parser(commands).set_defaults(run=module.run, prog=prog, project=opened)
    return top


def _commands_of_the_project() -> dict[str, str]:
    """The commands of the kinds that conftest files and plugins add."""
    try:
        kinds = runtime_of(root_directory(Path.cwd())).kinds.declarations.values()
    except ValueError:  # pytest does not start here.
        return {}
    return {name: module for kind in kinds for name, module in kind.commands.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code that ``--help`` documents."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    known = COMMANDS
    if given and not given[0].startswith("-") and given[0] not in COMMANDS:
        known = {**COMMANDS, **_commands_of_the_project()}
    top = parser(known)
    if given and not given[0].startswith("-") and given[0] not in known:
        from pytest_mcpeval.loading.messages import suggestion

        hint = suggestion(given[0], known)
        top.error(f"unknown command {given[0]!r}{hint} (commands: {', '.join(known)})")
    options = top.parse_args(given)
    with redirect_stdout(_Redacted(sys.stdout)), redirect_stderr(_Redacted(sys.stderr)):
        code: int = options.run(options)
    return code
