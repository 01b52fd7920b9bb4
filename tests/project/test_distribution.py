"""What is shipped, and that it runs where nothing else is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.project.documents import README, ROOT, blocks


def run(
    *command: str | Path, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    built = run(sys.executable, "-m", "hatchling", "build", "-d", directory, cwd=ROOT)
    assert built.returncode == 0, built.stdout + built.stderr
    return directory


def test_wheel_holds_the_package_and_nothing_else(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pytest_mcpeval").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources
    assert "pytest_mcpeval/py.typed" in names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"pytest_mcpeval"}


def test_sdist_holds_what_the_tests_need(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = "LICENSE README.md tox.ini conftest.py .mcp.json .ci/run datasets/mcpeval.yaml docs/checks.md"
    assert set(wanted.split()) <= names
    assert "tests/project/test_distribution.py" in names
    assert "examples/npm_servers/package-lock.json" in names
    assert not [name for name in names if "node_modules" in name or ".venv" in name or "__pycache__" in name]


def test_readme_start_works_in_an_empty_environment(distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    environment, project = tmp_path / "environment", tmp_path / "project"
    # Without pip of its own: some systems ship venv without ensurepip.
    venv.EnvBuilder(with_pip=False).create(environment)
    python = environment / "bin" / "python"
    # Compiling all packages takes longer than what is run here: what is imported is compiled then.
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-compile")
    installed = run(*pip, wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stdout + installed.stderr

    for block in blocks("python", "yaml", pages=(README,)):
        path = project / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "COV"))
    }
    env = {**kept, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    found = run(python.parent / "pytest", "--mcpeval", cwd=project, env=env)

    assert found.returncode == 1, found.stdout + found.stderr
    assert found.stderr == ""
    (shown,) = blocks("text", pages=(README,))
    printed = iter(without_times(found.stdout))
    assert [line for line in without_times(shown.text) if line not in printed] == []
    single = run(
        python.parent / "pytest", "--mcpeval", "datasets/greetings.yaml::greet-ada", cwd=project, env=env
    )
    assert "1 passed" in single.stdout


def without_times(text: str) -> list[str]:
    return re.sub(r"\(\d+ ms\)", "(n ms)", text).splitlines()
