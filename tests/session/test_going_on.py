"""What an evaluation that was begun may be gone on with, and what it never shares or takes over."""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_mcpeval.kinds.session.folder import Folder, folder_names
from pytest_mcpeval.kinds.session.options import Earlier, session_options
from pytest_mcpeval.kinds.session.scoping import limited
from pytest_mcpeval.kinds.session.state import Config, State, StateFile
from tests.session.evaluations import (
    ECHO,
    SESSION,
    SUMMARY,
    SessionProject,
    call,
    finding,
    outcomes,
    scenario,
    session_in,
    verdicts,
)
from tests.support import Project, Run

NEVER = {**ECHO, "expect": [{"type": "contains", "value": "NEVER"}]}


def test_files_of_one_name_are_evaluations_of_their_own(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    (tmp_path / SESSION).unlink()
    made.session(scenario(ECHO), name="datasets/p/x.scenarios.yaml")
    made.session(scenario(NEVER), name="datasets/q/x.scenarios.yaml")
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    cases = {key: suite["cases"][0]["outcome"] for key, suite in run.report()["suites"].items()}
    assert cases == {"datasets/p/x.scenarios.yaml": "passed", "datasets/q/x.scenarios.yaml": "failed"}
    found = {path.name for path in (tmp_path / "mcp-evals").iterdir()}
    assert found == {f"mcp-eval-{name}" for name in folder_names("one", list(cases)).values()}
    assert len(found) == 2


def test_names_of_folders_tell_files_apart() -> None:
    keys = ["pay.eu.scenarios.yaml", "pay.us.scenarios.yaml", "a/Pay.EU.scenarios.json", "ü ö.scenarios.yaml"]
    found = folder_names("n", keys)
    assert found["pay.us.scenarios.yaml"] == "n-pay.us"
    assert found["ü ö.scenarios.yaml"] == "n--"
    assert found["pay.eu.scenarios.yaml"].startswith("n-pay.eu-")
    assert len({name.lower() for name in found.values()}) == 4


CHANGED: dict[str, dict[str, Any]] = {
    "steps": {"scenarios": [scenario(NEVER)]},
    "more": {"scenarios": [scenario(ECHO), scenario(ECHO)]},
    "description": {"scenarios": [scenario(ECHO, description="Something else")]},
    "expected": {"scenarios": [scenario(ECHO, expect_abort="wallclock")]},
    "agent": {"agent": "python:other:agent"},
    "judging": {"gates": {"fail_on": "Minor"}, "critic": "file:kept.md"},
}
"""What is changed in a session file once its evaluation is complete: only how it is judged may be."""


@dataclass(frozen=True)
class GoneOn:
    """A run that went on with complete evaluations, and one that went on with unfinished ones."""

    complete: Run
    unfinished: Run


@pytest.fixture(scope="module")
def gone_on(tmp_path_factory: pytest.TempPathFactory) -> GoneOn:
    """Evaluations of session files that were changed since, one in each folder."""
    project = Project.at(tmp_path_factory.mktemp("changed"))

    def run(part: str, *more: str) -> Run:
        arguments = ("--mcpeval-name", "one", "--mcpeval-report", f"{part}/report", *more)
        done = project.run("datasets", *arguments, columns=160, HOME=str(project.path))
        return Run(project.path / part, done.status, done.out, done.err)

    made = {folder: SessionProject.within(project, folder) for folder in CHANGED}
    project.write("datasets/agent/other.py", "def agent(task, toolbox): ...\n")
    begun = run("begun")
    assert begun.status == 0, begun.out
    for folder, changed in CHANGED.items():
        content = {"scenarios": [scenario(ECHO)], **changed}
        made[folder].session(*content.pop("scenarios"), **content)
    complete = run("complete", "--mcpeval-resume")
    for folder, one in made.items():
        one.evaluation(f"one-{folder}").write(status="critiquing")
    return GoneOn(complete, run("unfinished", "--mcpeval-resume"))


@pytest.mark.parametrize("folder", [folder for folder in CHANGED if folder != "judging"])
def test_only_the_same_scenarios_are_gone_on_with(gone_on: GoneOn, folder: str) -> None:
    words = f"has other scenarios or dispositions than the evaluation 'one-{folder}' began with"
    advices = (
        "begin another one with --mcpeval-name, or start this one over",
        "start it over with --mcpeval-restart",
    )
    for run, advice in zip((gone_on.complete, gone_on.unfinished), advices, strict=True):
        assert run.status == 1
        assert "passed" not in outcomes(run, session_in(folder)).values()
        assert f"{words}: {advice}" in run.out
        assert "AssertionError" not in run.out


def test_what_is_judged_in_another_way_is_gone_on_with(gone_on: GoneOn) -> None:
    for run in (gone_on.complete, gone_on.unfinished):
        judged = session_in("judging")
        assert outcomes(run, judged) == {"S1": "passed", "report": "passed"}, run.out
        assert {"failed", "error"}.isdisjoint(verdicts(run, judged).values())


def test_budgets_of_the_command_line_count_when_a_run_goes_on(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario(ECHO), scenario(ECHO, ECHO))
    assert made.run("-k", "S1", "--mcpeval-call-budget", "7").status == 0
    done = made.evaluation()
    run = made.run("--mcpeval-resume", "--mcpeval-call-budget", "1", "--mcpeval-report", "report")
    assert outcomes(run) == {"S1": "passed", "S2": "failed", "report": "passed"}
    assert done.state["config"]["call_budget_per_scenario"] == 1
    refused = made.run("--mcpeval-resume", "--mcpeval-wallclock-budget=3")
    assert refused.status == 1
    assert "are over, so another budget has no effect" in refused.out
    config = Config(call_budget_per_scenario=1)
    assert limited(config, {"call_budget": 3}) != config
    assert limited(config, {"call_budget": 1, "wallclock_budget": 15}) == config
    shown = made.run("--mcpeval-resume", "--mcpeval-call-budget=1", "--mcpeval-report", "report")
    assert outcomes(shown) == {"S1": "passed", "S2": "failed", "report": "passed"}


def test_each_file_goes_on_with_the_evaluation_that_is_its_own(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario(ECHO), scenario(ECHO))
    made.session(scenario(ECHO), name="datasets/other.scenarios.yaml")
    begun = ["datasets/tiny.scenarios.yaml", "datasets/other.scenarios.yaml", "-k", "S2"]
    assert made.project.run(*begun, "--mcpeval-name", "T", HOME=str(tmp_path)).status == 0
    evaluations = tmp_path / "mcp-evals"
    assert [path.name for path in evaluations.iterdir()] == ["mcp-eval-T-tiny"]
    assert "--mcpeval-resume --mcpeval-name T-tiny" in made.run(name="T").out
    assert made.evaluation("T-other").state["status"] == "complete"
    run = made.project.run("datasets", "-n2", "--mcpeval-resume", HOME=str(tmp_path))
    assert run.status == 0, run.out
    assert [line["id"] for line in made.evaluation("T-tiny").transcript] == ["S2-001", "S1-001"]
    assert sorted(path.name for path in evaluations.iterdir()) == ["mcp-eval-T-other", "mcp-eval-T-tiny"]


def left(root: Path, name: str, run_name: str, file: str, status: str) -> None:
    """An evaluation as an earlier run left it."""
    config = Config(scenarios_file=f"datasets/{file}.scenarios.yaml")
    path = Folder(root, name).state
    path.parent.mkdir(parents=True)
    begun = {"eval_name": name, "run_name": run_name, "status": status, "config": config}
    StateFile.create(path, State.model_validate({**begun, "started": "x", "last_updated": "x"}))


def test_the_command_line_says_which_evaluations_are_gone_on_with(tmp_path: Path) -> None:
    tiny, other = "datasets/tiny.scenarios.yaml", "datasets/other.scenarios.yaml"
    left(tmp_path, "T-tiny", "T", "tiny", "executing")
    left(tmp_path, "T-other", "T", "other", "complete")
    for name in (None, "T", "T-tiny"):
        options = session_options(tmp_path, name, resume=True, restart=False)
        found = options.earlier_of(tiny)
        assert found is not None
        assert (found.name, found.run_name) == ("T-tiny", "T")
        # One that is complete is only meant by its run; otherwise its file joins the run.
        assert (options.earlier_of(other) is None) == (name is None)
        assert options.run_name([tiny, other]) == "T"
    words = r"there is no evaluation 'typo' in mcp-evals/ \(unfinished are T-tiny\)"
    with pytest.raises(ValueError, match=words):
        session_options(tmp_path, "typo", resume=True, restart=False)
    # Two that are unfinished, and nobody says which.
    left(tmp_path, "U-tiny", "U", "tiny", "executing")
    unclear = session_options(tmp_path, None, resume=True, restart=False)
    with pytest.raises(ValueError, match=f"name the evaluation of {tiny} with --mcpeval-name"):
        unclear.earlier_of(tiny)
    assert session_options(tmp_path, "U", resume=True, restart=False).earlier_of(tiny) == Earlier(
        "U-tiny", tiny, "U"
    )


def test_nothing_that_lies_in_the_folder_is_taken_for_ones_own(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    folder = made.evaluation().path
    made.project.write(f"{folder.relative_to(tmp_path)}/critic-output.md", finding("CRITICAL") + SUMMARY)
    run = made.run()
    assert run.status == 1
    assert "holds critic-output.md of an evaluation whose state.json is gone" in run.out
    assert not (folder / "state.json").exists()
    (folder / "critic-output.md").unlink()
    assert made.run().status == 0


WAITING = """
import asyncio
from pathlib import Path


async def run(task, toolbox):
    await toolbox.call("mcp__tiny__echo", {"text": "hello"})
    Path("held").touch()
    while Path("hold").exists():
        await asyncio.sleep(0.02)
"""


def test_two_runs_of_one_name_do_not_get_at_each_other(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario(ECHO), {"description": "Wait", "agent": "python:waiting:run"})
    made.project.write("datasets/waiting.py", WAITING)
    made.project.write("hold", "")
    first = subprocess.Popen(
        made.project.command("datasets", "-n2", "--mcpeval-name", "one"),
        cwd=tmp_path,
        env=made.project.environ(HOME=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    while not (tmp_path / "held").exists() and first.poll() is None:
        time.sleep(0.01)
    done = made.evaluation()
    transcript = done.transcript
    for arguments in ([], ["--mcpeval-resume"]):
        second = made.run(*arguments, "--mcpeval-report", "report")
        assert second.status == 1
        assert f"{done.path} is in use by another run, process {first.pid}: wait until" in second.out
        assert outcomes(second) == dict.fromkeys(["S1", "S2", "report"], "error")
    assert done.transcript == transcript
    # A run that was killed keeps nobody out.
    processes = [psutil.Process(first.pid), *psutil.Process(first.pid).children(recursive=True)]
    for process in processes:
        process.kill()
    for process in processes:
        # Where nobody collects orphans, what has ended stays as a zombie.
        with suppress(psutil.NoSuchProcess):
            while process.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.01)
    assert first.communicate(timeout=60)[0] is not None
    (tmp_path / "hold").unlink()
    resumed = made.run("--mcpeval-resume")
    assert resumed.status == 0, resumed.out
    assert [line["id"] for line in done.transcript] == ["S1-001", "S2-001", "S2-002"]


def test_an_interruption_is_no_friction(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario(ECHO), scenario(ECHO, call("sleep", seconds=1.5)))
    source = (tmp_path / "server.py").read_text()
    made.project.write("server.py", source.replace('"""Take a while;', '"""Read-only. Take a while;'))
    running = subprocess.Popen(
        made.project.command("datasets", "--mcpeval-name", "one"),
        cwd=tmp_path,
        env=made.project.environ(HOME=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    asleep = tmp_path / "asleep"
    while not asleep.exists() and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=60)[0]
    done = made.evaluation()
    assert done.state["status"] == "executing"
    run = made.run("--mcpeval-resume")
    assert run.status == 0, run.out
    assert [line["tool"] for line in done.transcript].count("mcp__tiny__sleep") == 2
    assert done.state["critic_findings"] == []
    assert len(done.state["resumed"]) == 1
