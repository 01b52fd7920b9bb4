"""The two commands of the README, and those who repeat them."""

from __future__ import annotations

import configparser
import os
import re
import tomllib
from pathlib import Path

from tests.project.documents import README, ROOT, blocks

CI = ROOT / ".ci" / "run"


def commands() -> list[str]:
    return [block.text.strip() for block in blocks("bash", pages=(README,))]


def test_readme_has_two_commands_of_one_line() -> None:
    evals, tests = commands()
    assert evals.endswith("tox run -e eval")
    assert tests.endswith("tox run -e lint,tests")
    assert "\n" not in evals + tests


def test_ci_calls_the_second_command_as_printed() -> None:
    lines = [line for line in CI.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', commands()[1]]
    assert os.access(CI, os.X_OK)


def test_every_environment_named_exists() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    named = {name for command in commands() for name in re.search(r"-e (\S+)", command)[1].split(",")}  # type: ignore[index]
    assert named == {"eval", "lint", "tests"}
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    for name in named:
        assert tox[f"testenv:{name}"]["dependency_groups"] in groups


def test_workflow_runs_ci_on_every_supported_python() -> None:
    import yaml

    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tox.yml").read_text("utf-8"))
    job = workflow["jobs"]["tox"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert job["strategy"]["matrix"]["python"] == supported
    assert f".ci/{Path(CI).name}" in [step.get("run") for step in job["steps"]]
