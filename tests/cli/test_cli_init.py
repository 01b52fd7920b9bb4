"""``pytest-mcpeval init``: what it writes passes at once, and nothing is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval.cli import main
from tests.support import Project

WRITTEN = {"example_server.py", "mcpeval.yaml", "datasets/example.eval.yaml"}


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_the_example_passes_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert files(tmp_path) == WRITTEN
    printed = capsys.readouterr().out
    assert all(f"wrote {name}\n" in printed for name in WRITTEN)
    assert printed.endswith("Now run:  pytest --mcpeval\n")

    run = Project(tmp_path).run("-W", "error", "-p", "no:asyncio", "-p", "no:xdist", "-p", "no:html")
    assert run.status == 0, run.out + run.err
    assert run.last_line.startswith("3 passed in")


def test_the_example_passes_inside_another_project(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    assert main(["init", "evals/here"]) == 0
    run = Project(tmp_path).run()
    assert run.status == 0, run.out + run.err
    assert run.last_line.startswith("4 passed in")


def test_a_directory_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "new/place"]) == 0
    assert files(tmp_path / "new" / "place") == WRITTEN
    assert "cd new/place && pytest --mcpeval" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_existing_files_are_left_alone(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    assert main(["init"]) == 1
    assert files(tmp_path) == {name}
    assert (tmp_path / name).read_text() == "mine"
    assert f"nothing was written, since these exist already: {name}" in capsys.readouterr().err


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", "file"]) == 1
    assert "cannot write" in capsys.readouterr().err
