"""Without the flag there is nothing to notice."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import Project, case

MODULES_TEST = """
import json, sys
def test_modules():
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""
OURS_WHEN_INERT = re.compile(
    r"|\.(config|core|kinds|plugin|python_tests)|\.(config\.options|core\.(option|declaration)|plugin\.hooks)"
    r"|\.python_tests\.fixtures|\.kinds\.\w+(\.(declaration|command_line|definitions))?"
)
"""The door, and what kinds say of their files and options."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.at(tmp_path)
    made.suite("a.yaml", case("one"))
    made.suite("mcpeval.yaml", case("broken"))
    return made


def pytest_in(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(
        command, cwd=project.path, env=project.environ(), capture_output=True, text=True, check=False
    )


def modules(project: Project, *arguments: str) -> set[str]:
    # Plugins of other packages import what they like; they are left out on both sides.
    others = [
        "-p",
        "no:asyncio",
        "-p",
        "no:html",
        "-p",
        "no:xdist",
        "-p",
        "no:anyio",
        "-p",
        "no:hypothesispytest",
    ]
    done = pytest_in(project, "-q", *others, *arguments, "test_modules.py")
    assert done.returncode == 0, done.stdout + done.stderr
    return set(json.loads((project.path / "modules.json").read_text()))


def test_only_the_standard_library_and_the_door_are_imported(project: Project) -> None:
    project.write("test_modules.py", MODULES_TEST)
    without = modules(project, "-p", "no:mcpeval")
    inert = modules(project) - without
    ours = {name.removeprefix("pytest_mcpeval") for name in inert if name.split(".")[0] == "pytest_mcpeval"}
    foreign = {name.split(".")[0] for name in inert} - {"pytest_mcpeval"} - sys.stdlib_module_names
    assert [name for name in ours if not OURS_WHEN_INERT.fullmatch(name)] == []
    assert foreign == set()
    assert "pytest_mcpeval.plugin.roles" in modules(project, "--mcpeval")


KEEP_MODULES = """
import json, sys
def pytest_unconfigure():
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""


def test_only_kinds_that_have_a_file_are_imported(project: Project) -> None:
    (project.path / "datasets" / "mcpeval.yaml").unlink()
    project.write("conftest.py", KEEP_MODULES)
    done = pytest_in(project, "--mcpeval")
    assert "1 passed" in done.stdout
    loaded = json.loads((project.path / "modules.json").read_text())
    kinds = {name.split(".")[2] for name in loaded if re.fullmatch(r"pytest_mcpeval\.kinds\.\w+\.kind", name)}
    assert kinds == {"scenario"}


def test_nothing_is_collected_printed_or_written(project: Project) -> None:
    project.write("test_plain.py", "def test_plain(): pass")
    before = set(project.path.rglob("*"))
    with_plugin = pytest_in(project, "-v", "-W", "error", "-p", "no:asyncio")
    assert with_plugin.returncode == 0
    assert "1 passed" in with_plugin.stdout
    lines = [
        line for line in with_plugin.stdout.splitlines() if not line.startswith(("plugins:", "metadata:"))
    ]
    assert not [line for line in lines if "mcpeval" in line]
    written = set(project.path.rglob("*")) - before
    assert not [path for path in written if "mcpeval" in path.name or "datasets" in path.parts]


def test_an_ini_key_turns_it_on(project: Project) -> None:
    (project.path / "datasets" / "mcpeval.yaml").unlink()
    project.write("pytest.ini", "[pytest]\nmcpeval = true\n")
    done = pytest_in(project, "--collect-only", "-q")
    assert "datasets/a.yaml::one" in done.stdout


@pytest.mark.parametrize(
    "option",
    [
        "--mcpeval-bless",
        "--mcpeval-report=x",
        "--mcpeval-tag=x",
        "--mcpeval-project=x",
        "--mcpeval-difficulty=basic",
        "--mcpeval-concurrency=2",
    ],
)
def test_an_option_without_the_flag(pytester: pytest.Pytester, option: str) -> None:
    done = pytester.runpytest_inprocess("-p", "no:asyncio", option)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    name = option.partition("=")[0]
    words = f"ERROR: {name} has no effect without --mcpeval (or the ini key mcpeval = true)"
    assert words in done.stderr.str()


def test_a_fixture_without_the_flag(project: Project) -> None:
    project.write("test_it.py", "def test_it(mcpeval_call): pass")
    done = pytest_in(project)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 error" in done.stdout
    assert "the fixture mcpeval_call needs evals to be on: run pytest --mcpeval, or set" in done.stdout
