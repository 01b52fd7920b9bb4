"""What is shipped, and that it runs where nothing else is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

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


def test_wheel_and_sdist_hold_the_page_of_reports_and_the_licences_of_what_draws(distributions: Path) -> None:
    (wheel,), (sdist,) = distributions.glob("*.whl"), distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    folder = ROOT / "pytest_mcpeval" / "reports" / "html_report"
    ours = [path for path in folder.rglob("*") if path.suffix in (".html", ".css", ".js", ".txt")]
    wanted = {path.relative_to(ROOT).as_posix() for path in ours}
    assert {Path(name).name for name in wanted} >= {
        "page.js",
        "d3.min.js",
        "LICENSE-d3.txt",
        "LICENSE-plot.txt",
    }
    assert wanted <= in_sdist & {*zipfile.ZipFile(wheel).namelist()}


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
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-compile",
        "--no-deps",
        "--no-index",
    )
    installed = run(*pip, wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    (packages,) = environment.glob("lib/python*/site-packages")
    link_what_is_required(packages)

    for block in blocks("python", "yaml", pages=(README,)):
        path = project / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "COV"))
    }
    env = {**kept, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    script = python.parent / "pytest"
    _, _, body = Path(sys.executable).with_name("pytest").read_text("utf-8").partition("\n")
    script.write_text(f"#!{python}\n{body}", "utf-8")
    script.chmod(0o755)
    found = run(script, "--mcpeval", cwd=project, env=env)

    assert found.returncode == 1, found.stdout + found.stderr
    assert found.stderr == ""
    (shown,) = blocks("text", pages=(README,))
    printed = iter(without_times(found.stdout))
    assert [line for line in without_times(shown.text) if line not in printed] == []
    single = run(script, "--mcpeval", "datasets/greetings.yaml::greet-ada", cwd=project, env=env)
    assert "1 passed" in single.stdout


def link_what_is_required(packages: Path) -> None:
    """Make what the packages of an environment require without extras importable there, and nothing else.

    The files are those of this environment: to download and unpack them takes most of a minute.
    """
    (installed,) = metadata.distributions(path=[str(packages)])
    wanted = [(installed.name, "")]
    for found, extra in wanted:
        distribution = installed if found == installed.name else metadata.distribution(found)
        for text in distribution.requires or ():
            required = Requirement(text)
            if required.marker is None or required.marker.evaluate({"extra": extra}):
                new = ((required.name, one) for one in ("", *required.extras))
                wanted += [one for one in new if one not in wanted]
        for file in distribution.files or () if distribution is not installed else ():
            # What several distributions have a part of is no package of one of them.
            site = Path(str(distribution.locate_file("")))
            is_shared = len(file.parts) > 1 and not (site / file.parts[0] / "__init__.py").exists()
            part = Path(*file.parts[: 2 if is_shared else 1])
            if ".." not in part.parts and not (packages / part).exists():
                (packages / part).parent.mkdir(exist_ok=True)
                (packages / part).symlink_to(site / part)


def without_times(text: str) -> list[str]:
    text = re.sub(r" +[\d.]+/[\d.]+ m?s$", " n/n ms", text, flags=re.MULTILINE)
    return re.sub(r"\(\d+ ms\)", "(n ms)", text).splitlines()
