"""Evaluations that are killed, and gone on with: nothing that was written is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.kinds.session.command_line import call_budget, minutes
from tests.session.evaluations import ECHO, SUMMARY, Evaluation, SessionProject, call, finding, scenario
from tests.support import Project

AGAIN = call("echo", text="again")


def lines(text: str | None) -> dict[str, dict[str, Any]]:
    """The lines of a transcript by their ids, which are unique."""
    found = [json.loads(line) for line in (text or "").splitlines()]
    by_id = {line["id"]: line for line in found}
    assert len(by_id) == len(found)
    return by_id


def test_killed_at_every_write_and_resumed(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario(ECHO, AGAIN), scenario(ECHO))
    done = subprocess.run(
        [sys.executable, "-m", "tests.session.killing", str(made.project.path)],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    attempts = [json.loads(line) for line in done.stdout.splitlines()]
    assert {attempt["status"] for attempt in attempts} == {0, 9}
    seen = set()
    for attempt in attempts:
        left, finally_ = attempt["left"], attempt["finally"]
        assert attempt["resumed"] == 0, (attempt["number"], done.stderr)
        if "state.json" in left:
            seen.add(json.loads(left["state.json"])["status"])
        state = json.loads(finally_["state.json"])
        assert state["status"] == "complete"
        assert [(one["scenario_id"], one["status"]) for one in state["execution"]] == [
            ("S1", "complete"),
            ("S2", "complete"),
        ]
        before, after = lines(left.get("transcript.jsonl")), lines(finally_["transcript.jsonl"])
        for key, line in before.items():
            # What was in flight stays as it is: nobody knows how it ended.
            assert after[key] == line
        assert sum(one["result_shape"] is None for one in after.values()) <= 1
        counts = {one["scenario_id"]: one["call_count"] for one in state["execution"]}
        assert sum(counts.values()) == len(after)
        if "critic-output.md" in left:
            assert finally_["critic-output.md"] == left["critic-output.md"]
        assert f"({len(after)} entries)" in finally_["report.md"]
    assert seen == {
        *("discovering", "interviewing", "scoping", "scoped", "executing"),
        *("critiquing", "reporting", "complete"),
    }


def test_a_worker_that_dies_loses_nothing_and_is_not_tried_again(tmp_path: Path) -> None:
    crash = call("crash")
    text = '"""End the process without a word'
    made = SessionProject.at(tmp_path, scenario(ECHO), scenario(crash), scenario(ECHO))
    source = (tmp_path / "server.py").read_text()
    made.project.write("server.py", source.replace(text, text.replace('"""', '"""Read-only. ')))
    run = made.run("-n2", "--mcpeval-report", "report")
    assert run.status == 1
    done = made.evaluation()
    ids = [(line["id"], line["result_shape"] is None) for line in done.transcript]
    assert ids == [("S1-001", False), ("S2-001", True), ("S3-001", False)]
    assert "the process that carried it out died" in run.out
    # Whichever item the dead worker was showing, and whichever sample went with it.
    assert "Not complete: S2: not carried out" in run.lines
    assert [one["status"] for one in done.state["execution"]] == ["complete", "aborted", "complete"]


@pytest.fixture(scope="module")
def complete_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an evaluation that is complete; its critic found something of no weight."""
    made = SessionProject.at(tmp_path_factory.mktemp("complete"))
    made.session(critic=made.critic(finding("MINOR") + SUMMARY))
    assert made.run("--mcpeval-call-budget", "5000").status == 0
    return made.project.path


@pytest.fixture
def complete(complete_once: Path, tmp_path: Path) -> SessionProject:
    """A copy of it."""
    shutil.copytree(complete_once, tmp_path, dirs_exist_ok=True)
    return SessionProject(Project(tmp_path))


def test_call_budgets_are_clamped(complete: SessionProject) -> None:
    assert complete.evaluation().state["config"]["call_budget_per_scenario"] == 999


def test_what_is_complete_is_not_overwritten(complete: SessionProject) -> None:
    done = complete.evaluation()
    report, transcript = done.report, done.transcript
    refused = complete.run()
    assert refused.status == 1
    assert "is complete and will not be overwritten" in refused.out
    shown = complete.run("--mcpeval-resume", "--mcpeval-report", "report")
    assert shown.status == 0
    assert shown.report()["suites"]["datasets/tiny.scenarios.yaml"]["metrics"]["findings"]["Minor"] == 1
    assert (done.report, done.transcript) == (report, transcript)

    # Begun anew, it keeps its files, and odd names beside them do not matter.
    (done.path / "replaced-7").mkdir()
    (done.path / "replaced-by-hand").mkdir()
    state = done.state
    complete.session(scenario(ECHO, AGAIN), critic=complete.critic(finding("MINOR") + SUMMARY))
    anew = complete.run("--mcpeval-restart")
    assert anew.status == 0, anew.out
    kept = Evaluation(done.path / "replaced-8")
    assert (kept.report, kept.transcript, kept.state) == (report, transcript, state)
    assert [line["id"] for line in done.transcript] == ["S1-001", "S1-002"]
    assert done.state["run_id"] != state["run_id"]
    assert not (done.path / "replaced-9").exists()


def test_what_is_unfinished_is_gone_on_with_or_begun_anew(complete: SessionProject, tmp_path: Path) -> None:
    done = complete.evaluation()
    done.write(status="critiquing", critic_findings=[], report_path=None)
    # The output that is there is read again; the critic, who would say something else, is not asked.
    complete.critic(finding("CRITICAL") + SUMMARY)
    resumed = complete.project.run("datasets", "--mcpeval-resume", HOME=str(tmp_path))
    assert resumed.status == 0, resumed.out
    assert [one["severity"] for one in done.state["critic_findings"]] == ["Minor"]

    done.write(status="executing")
    restarted = complete.run("--mcpeval-restart")
    assert restarted.status == 1
    assert [one["severity"] for one in done.state["critic_findings"]] == ["Critical"]
    kept = done.path / "replaced-1"
    assert (kept / "report.md").exists()
    assert (kept / "transcript.jsonl").read_text().count("\n") == 1


def test_a_state_that_cannot_be_read_is_told_and_can_be_begun_anew(complete: SessionProject) -> None:
    done = complete.evaluation()
    (done.path / "state.json").write_text("{")
    broken = complete.run("--mcpeval-resume")
    assert broken.status == 1
    assert "state.json" in broken.out
    assert complete.run("--mcpeval-restart").status == 0
    kept = Evaluation(done.path / "replaced-1")
    assert len(kept.transcript) == 1
    assert (kept.path / "state.json").read_text() == "{"


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    run = SessionProject.at(tmp_path).project.run("datasets", "--mcpeval-resume")
    assert run.status == 4
    words = "name the evaluation with --mcpeval-name (none in mcp-evals/ is unfinished)"
    assert words in " ".join(run.err.split())
    with pytest.raises(ArgumentTypeError, match="expected a whole number from 1"):
        call_budget("0")
    with pytest.raises(ArgumentTypeError, match="expected minutes, more than 0"):
        minutes("never")
