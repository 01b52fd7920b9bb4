"""The bundled sessions, run against the servers from npm and PyPI."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.evaluations import Evaluation

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def evaluation() -> Iterator[Evaluation]:
    """An evaluation in this repository that is removed afterwards."""
    folder = ROOT / "mcp-evals" / f"mcp-eval-test-{os.getpid()}"
    yield Evaluation(folder)
    shutil.rmtree(folder, ignore_errors=True)


def test_bundled_sessions_pass_and_every_citation_exists(evaluation: Evaluation, tmp_path: Path) -> None:
    name = evaluation.path.name.removeprefix("mcp-eval-")
    report = tmp_path / "report"
    command = ["pytest", "--mcpeval", "datasets/sessions", "--mcpeval-name", name, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--mcpeval-report", str(report)],
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ids = {line["id"] for line in evaluation.transcript}
    cited = {
        one
        for line in re.findall(r"- Evidence: (.*)", evaluation.report)
        for one in re.findall(r"`(.*?)`", line)
    }
    assert cited
    assert cited <= ids
    state = evaluation.state
    assert state["dangling_citations"] == []
    assert len(state["critic_findings"]) == evaluation.report.count("\n- **[")
    assert {server["name"] for server in state["attached_mcps"] if server["tools"]} == {
        *("scratch", "memory", "time", "history"),
    }
    assert [one["abort_reason"] for one in state["execution"]] == [*[None] * 5, "safety_abort"]
    # Nobody called the skipped server, or wrote outside the sandbox.
    called = {line["tool"] for line in evaluation.transcript}
    assert not any(tool.startswith("mcp__everything__") for tool in called)
    blocked = [line["blocked_tool"] for line in evaluation.transcript if line["tool"] == "__blocked__"]
    assert blocked == ["mcp__history__git_commit", "mcp__everything__echo", "mcp__scratch__write_file"]
    assert not (ROOT / "elsewhere.md").exists()
    suites = json.loads((report / "report.json").read_text())["suites"]
    (suite,) = suites.values()
    assert suite["kind"] == "session"
    assert suite["metrics"]["findings"] == {"Critical": 0, "Major": 0, "Minor": 2, "Suggestion": 0}
