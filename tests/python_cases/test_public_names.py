"""What people import from the package: all of it is there, and none is loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pytest_mcpeval


def printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", pytest_mcpeval.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(pytest_mcpeval, name) is not None


def test_names_are_listed_and_sorted() -> None:
    assert dir(pytest_mcpeval) == sorted(pytest_mcpeval.__all__)
    star = "from pytest_mcpeval import *; print(sorted(name for name in dir() if name[0] != '_'))"
    assert eval(printed(star)) == sorted(set(pytest_mcpeval.__all__) - {"__version__"})


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = pytest_mcpeval.Nothing


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import __future__, importlib, sys, typing; before = set(sys.modules); import pytest_mcpeval; "
        "print(sorted(name for name in set(sys.modules) - before))"
    )
    assert eval(printed(code)) == ["pytest_mcpeval"]


@pytest.mark.parametrize("name", ["Check", "CaseClient", "CallError", "Kind", "Toolbox", "check_type"])
def test_names_are_loaded_without_mcp(name: str) -> None:
    code = f"import sys; from pytest_mcpeval import {name}; print('mcp' in sys.modules)"
    assert printed(code) == "False\n"


@pytest.mark.parametrize(
    "name", ["CallError", "CallRefused", "CheckFailed", "CheckSpecError", "ServerStartError"]
)
def test_errors_are_shown_under_their_public_name(name: str) -> None:
    assert getattr(pytest_mcpeval, name).__module__ == "pytest_mcpeval"
