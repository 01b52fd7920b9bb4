"""While cases run: a line on a terminal, and nothing of it elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mcpeval.plugin.progress import progress_line
from tests.support import Project, case, failing


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        ((0, 10, 0, 3.0), "0 of 10"),
        ((1, 100, 0, 4.0), "1 of 100, 4.0 s each"),
        ((120, 1200, 0, 4.0), "120 of 1200, 30/s, 36 s left"),
        ((10, 100, 2, 20.0), "10 of 100, 2.0 s each, 3 min 0 s left, 2 failed"),
    ],
)
def test_the_line_says_how_far_how_fast_and_how_long(numbers: tuple[int, int, int, float], line: str) -> None:
    assert progress_line(*numbers) == line


def on_a_terminal(project: Project, *arguments: str) -> str:
    """What a run prints that takes a terminal for its output."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pytest", "--mcpeval", "-p", "no:cacheprovider", *arguments]
    with subprocess.Popen(
        command, cwd=project.path, stdout=theirs, stderr=theirs, stdin=theirs, env=project.environ()
    ):
        os.close(theirs)
        found = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            found += part
    os.close(ours)
    return found.decode()


def test_a_terminal_shows_how_far_it_is_and_takes_the_line_away(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    slow = [case(f"s-{number}", "sleep", input={"seconds": 1.2}) for number in range(3)]
    project.suite("slow.yaml", *slow, failing("bad"), concurrency=1)
    shown = on_a_terminal(project, "datasets")
    assert re.search(
        r"\r\d of 4, [\d.]+(/s| s each), \d+ s left +\S*scenario datasets/slow\.yaml::s-\d", shown
    )
    # Where the line stood, there are spaces, and then what comes next.
    last = shown.rindex(" of 4, ")
    assert re.search(r"\r +\r", shown[last:])
    assert "datasets/slow.yaml F" not in shown
    log = project.run("datasets")
    assert " of 4, " not in log.out
    assert "slow.yaml ." not in log.out
    assert log.last_line.startswith("1 failed, 3 passed in ")
