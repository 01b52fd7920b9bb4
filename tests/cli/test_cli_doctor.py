"""``pytest-mcpeval doctor``: what works, what does not, and how to fix it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from pytest_mcpeval.browser import finding
from pytest_mcpeval.cli import doctor, main
from tests.support import Project, case

MANIFEST = """\
apiVersion: agentevaluator/v1
name: a
access: {url: "http://localhost:1/"}
cases: [{id: c, input: hello there friend, assertions: {final_response_contains: hi}}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project.at(tmp_path, transport="stdio")


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_project_that_can_run(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.suite("calls.yaml", case("one"), case("two"))
    assert main(["doctor"]) == 0
    found = lines(capsys)
    assert found[0].startswith("✓ Python 3.")
    assert any(line.startswith("✓ server tiny: ") and line.endswith(" tools") for line in found)
    assert "✓ 1 data file with 2 cases, no problems" in found
    assert found[-1] == "doctor: evals can run here"


def test_everything_that_is_wrong_is_named_with_its_fix(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "version", _version)
    monkeypatch.setattr(finding, "installed_browser", lambda _: None)
    project.write(
        "mcpeval.yaml",
        "servers:\n"
        "  gone: {command: no-such-program-here}\n"
        "  ends: {command: python, args: [-c, 'raise SystemExit(\"no licence\")']}\n"
        "  secret: {url: '${URL_THAT_NOBODY_SET}'}\n",
    )
    project.suite("calls.yaml", case("one") | {"inputt": {}})
    project.write("datasets/agent.yaml", MANIFEST)
    assert main(["doctor"]) == 1
    found = lines(capsys)
    joined = "\n".join(found)
    assert (
        "✗ server gone: no-such-program-here is not on the PATH: install it, or name its whole path" in joined
    )
    assert "✗ server ends: " in joined
    assert "no licence" in joined
    wanted = (
        "✗ variable URL_THAT_NOBODY_SET, which mcpeval.yaml names, is not set: export URL_THAT_NOBODY_SET=…"
    )
    assert wanted in found
    assert 'unknown key "inputt"' in joined
    assert "– extra xdist is not installed (pytest-xdist): pip install 'pytest-mcpeval[xdist]'" in found
    assert found[-1].endswith(" to fix")


def test_an_empty_folder_needs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finding, "installed_browser", lambda _: None)
    assert main(["doctor"]) == 0
    found = lines(capsys)
    assert "– no Chromium, which agents need: pytest-mcpeval install-browser" in found
    assert "– no data files: pytest-mcpeval init writes some" in found


def _version(package: str) -> str:
    if package == "pytest-xdist":
        raise PackageNotFoundError(package)
    return "1.0"
