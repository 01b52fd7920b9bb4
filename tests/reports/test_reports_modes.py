"""The same run with plugins switched off: the same verdict, and nothing breaks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import Project, case, failing

OTHERS = ("html", "xdist", "junitxml", "cacheprovider")
MODES = {
    "no-terminal": ("-p", "no:terminal"),
    "no-terminal-n2": ("-p", "no:terminal", "-n2"),
    "none-but-terminal": tuple(word for plugin in OTHERS for word in ("-p", f"no:{plugin}")),
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_gates_decide_whatever_plugins_are_there(tmp_path: Path, mode: Sequence[str]) -> None:
    project = Project.at(tmp_path)
    project.suite("good.yaml", case("a"), failing("b"), gates={"pass_rate": 0.5})
    project.suite("bad.yaml", case("a"), failing("b"), gates={"pass_rate": 0.9})
    run = project.run(*mode, "--mcpeval-report=report", "datasets")
    assert run.status == 1
    assert run.gates() == {"good::pass_rate": "passed", "bad::pass_rate": "failed"}
    assert run.report()["verdict"] == "failed"
    assert "Traceback" not in run.out + run.err
    assert "INTERNALERROR" not in run.out + run.err
    if "no:terminal" in mode:
        assert "mcpeval" not in run.out
    else:
        assert run.line_with("FAILED", "datasets/bad.yaml::gates::pass_rate")


def test_without_failures_no_terminal_ends_with_status_0(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("good.yaml", case("a"))
    run = project.run("-p", "no:terminal", "datasets")
    assert (run.status, run.out) == (0, "")
