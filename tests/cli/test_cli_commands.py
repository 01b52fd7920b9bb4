"""The console script itself: help, versions, wrong usage and exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mcpeval import __version__
from pytest_mcpeval.cli import COMMANDS, main

SCRIPT = Path(sys.executable).with_name("pytest-mcpeval")


def ended(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    return ending.value.code


def test_the_script_is_installed() -> None:
    done = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"pytest-mcpeval {__version__}\n"


def test_help_names_commands_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("--help") == 0
    printed = capsys.readouterr().out
    assert all(f"    {name}" in printed for name in COMMANDS)
    assert "exit codes:" in printed


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(command, "--help") == 0
    assert f"usage: pytest-mcpeval {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["vaildate"], "unknown command 'vaildate' (did you mean \"validate\"?)"),
        (["frobnicate"], "unknown command 'frobnicate' (commands: init, validate, "),
        ([], "COMMAND"),
        (["validate", "--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(*arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


def test_help_is_quick_to_come() -> None:
    """Nothing heavy is imported to print help."""
    code = (
        "import sys; from pytest_mcpeval.cli import parser; parser(); "
        "print([name for name in ('mcp', 'pydantic', 'yaml', 'pytest') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
