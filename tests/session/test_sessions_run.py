"""Session files run through pytest: outcomes of items, gates, reports, and who carries out what."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pytest_mcpeval.kinds.base import TargetError
from pytest_mcpeval.kinds.session.critic.asking import CriticRequest, ask_critic
from pytest_mcpeval.kinds.session.critic.settings import CriticModel
from pytest_mcpeval.kinds.session.gates import judge_gates
from pytest_mcpeval.kinds.session.schema import GatesModel
from tests.session.evaluations import (
    ECHO,
    SESSION,
    SUMMARY,
    SessionProject,
    call,
    finding,
    scenario,
)
from tests.support import Run

MODES = [["-p", "no:xdist"], ["-n0"], ["-n2"]]


def outcomes(run: Run) -> dict[str, str]:
    """Case → outcome, from ``report.json``."""
    return {case["id"]: case["outcome"] for case in run.report()["suites"][SESSION]["cases"]}


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_scenarios_run_in_order_and_the_report_is_written(tmp_path: Path, mode: list[str]) -> None:
    made = SessionProject.at(tmp_path, *(scenario(ECHO, description=f"Task {n}") for n in range(1, 5)))
    run = made.run(*mode, "--mcpeval-report", "report", "--junitxml", "junit.xml", "--html", "report.html")
    assert run.status == 0, run.out + run.err
    assert outcomes(run) == dict.fromkeys(["S1", "S2", "S3", "S4", "report"], "passed")
    done = made.evaluation()
    assert done.state["status"] == "complete"
    assert [line["id"] for line in done.transcript] == ["S1-001", "S2-001", "S3-001", "S4-001"]
    assert [entry["scenario_id"] for entry in done.state["execution"]] == ["S1", "S2", "S3", "S4"]
    assert {(entry["status"], entry["call_count"]) for entry in done.state["execution"]} == {("complete", 1)}
    started = [entry["started"] for entry in done.state["execution"]]
    assert started == sorted(started)
    assert "Evaluation complete: one" in run.out
    assert "Report: mcp-evals/mcp-eval-one/report.md" in run.out
    assert "Findings: 0 Critical, 0 Major, 0 Minor, 0 Suggestion" in run.out
    assert "PASSED datasets/tiny.scenarios.yaml::gates::fail_on" in run.out
    metrics = run.report()["suites"][SESSION]["metrics"]
    assert (metrics["scenarios"], metrics["calls"], metrics["blocked"]) == (4, 4, 0)
    assert metrics["servers"][0]["calls"] == 4
    assert {"S1", "S4", "report", "fail_on"} <= run.junit().keys()
    rows = dict(run.html_rows())
    assert f"{SESSION}::report" in rows
    assert "mcp__tiny__echo" in str(rows[f"{SESSION}::S2"])


def test_abort_reasons_are_in_the_outcome(tmp_path: Path) -> None:
    made = SessionProject.at(
        tmp_path,
        scenario(ECHO, ECHO, ECHO),
        scenario(ECHO, call("repeat", text="hello", times=2)),
        scenario({**call("repeat", text="outside", times=2), "refused": True}, expect_abort="safety_abort"),
        scenario(call("repeat", text="outside", times=2)),
        scenario(ECHO, expect_abort="safety_abort"),
    )
    run = made.run("--mcpeval-call-budget", "2", "--mcpeval-report", "report")
    assert run.status == 1
    assert outcomes(run) == {
        "S1": "failed",
        "S2": "passed",
        "S3": "passed",
        "S4": "failed",
        "S5": "failed",
        "report": "passed",
    }
    assert "aborted (call_budget): its call budget was exceeded" in run.out
    assert "aborted (safety_abort): a call could not be shown to be within what is allowed" in run.out
    assert "expected to be aborted (safety_abort), but was carried out" in run.out
    assert "S4-001 __blocked__" in run.out
    done = made.evaluation()
    reasons = [entry["abort_reason"] for entry in done.state["execution"]]
    assert reasons == ["call_budget", None, "safety_abort", "safety_abort", None]
    assert done.state["config"]["call_budget_per_scenario"] == 2
    assert "**Scenarios run:** 5 (3 aborted)" in done.report


def test_the_wallclock_ends_all_scenarios_to_come(tmp_path: Path) -> None:
    made = SessionProject.at(
        tmp_path,
        scenario(call("sleep", seconds=1.2), ECHO),
        scenario(ECHO),
        scenario(ECHO),
        wallclock_budget=0.015,
    )
    made.session(
        scenario(call("sleep", seconds=1.2), ECHO),
        scenario(ECHO),
        scenario(ECHO),
        dispositions={"tiny": {"disposition": "sandboxed", "test_resources": ["hello"]}},
        wallclock_budget=0.015,
    )
    made.project.write(
        "server.py",
        (tmp_path / "server.py").read_text().replace('"""Take a while;', '"""Read-only. Take a while;'),
    )
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    first, *others = made.evaluation().state["execution"]
    assert (first["status"], first["abort_reason"], first["call_count"]) == ("aborted", "wallclock", 1)
    for entry in others:
        assert (entry["status"], entry["abort_reason"], entry["call_count"]) == ("aborted", "wallclock", 0)
        assert entry["started"] == entry["ended"]
    tools = [line["tool"] for line in made.evaluation().transcript]
    assert tools.count("__wallclock_abort__") == 1
    assert "aborted (wallclock): the time of the whole session was over" in run.out


def test_an_expected_wallclock_leaves_nothing_to_complain_of(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    made.project.write_json("datasets/mcpeval.yaml", {"servers": {"broken": {"command": "no-such-program"}}})
    wallclock = {"expect_abort": "wallclock"}
    made.session(
        scenario(
            {**call("sleep", seconds=1.5), "expect": [{"type": "contains", "value": "woke"}]}, **wallclock
        ),
        scenario(ECHO, targets_mcps=["broken"], **wallclock),
        scenario(ECHO, targets_mcps=["broken"]),
        dispositions={"tiny": "read_only", "broken": "read_only"},
        wallclock_budget=0.01,
    )
    source = (tmp_path / "server.py").read_text()
    made.project.write("server.py", source.replace('"""Take a while;', '"""Read-only. Take a while;'))
    run = made.run("--mcpeval-report", "report")
    assert outcomes(run) == {"S1": "passed", "S2": "passed", "S3": "failed", "report": "passed"}
    reasons = [entry["abort_reason"] for entry in made.evaluation().state["execution"]]
    assert reasons == ["wallclock"] * 3


SECRETS = (
    "ghp_abcdefghij1234567890",
    "ada@example.com",
    "abc123secretvalue",
    "hunter2",
    "sk-live-a1b2c3d4e5f6g7h8",
)


def test_no_credential_of_a_server_reaches_the_disk(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    program = f"import sys; sys.exit('bad token {SECRETS[0]} for {SECRETS[1]}, https://u:{SECRETS[3]}@h/x')"
    made.project.write("broken.py", program)
    header = f"Authorization: Bearer {SECRETS[2]}"
    words = ["broken.py", "--header", header, f"https://u:{SECRETS[3]}@h/x", SECRETS[4]]
    broken = {"command": sys.executable, "args": words, "cwd": str(tmp_path)}
    made.project.write_json("datasets/mcpeval.yaml", {"servers": {"broken": broken}})
    made.session(
        scenario(ECHO, targets_mcps=["broken"]),
        dispositions={"tiny": "read_only", "broken": "read_only"},
        critic=made.critic(finding() + SUMMARY),
    )
    assert made.run().status == 1
    done = made.evaluation()
    (problem,) = [one["listing_problem"] for one in done.state["attached_mcps"] if one["name"] == "broken"]
    assert "its last words: bad" in problem
    assert "did not start" in done.state["execution"][0]["outcome"]["error"]
    texts = {path.name: path.read_text() for path in done.path.iterdir() if path.is_file()}
    assert {"state.json", "report.md", "report.html"} <= texts.keys()
    found = [(name, secret) for name, text in texts.items() for secret in SECRETS if secret in text]
    assert found == []


READ_ONLY_TOOLS = """

from mcp.types import ToolAnnotations


@server.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def git_status() -> str:
    return "clean"


@server.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def git_diff() -> str:
    return "none"
"""


def test_the_critic_knows_what_servers_say_of_their_tools(tmp_path: Path) -> None:
    made = SessionProject.at(
        tmp_path, scenario(*[call("git_status"), call("git_diff")] * 5), dispositions={"tiny": "read_only"}
    )
    made.project.write("server.py", (tmp_path / "server.py").read_text() + READ_ONLY_TOOLS)
    run = made.run()
    assert "2 Critical" in run.out
    findings = made.evaluation().state["critic_findings"]
    assert {one["dimension"] for one in findings} == {"redundant_calls"}


WRAPPED = """


@server.tool()
def find_issues(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "title": "x"} for n in range(count)]


@server.tool()
def find_one(many: bool) -> dict[str, Any] | list[dict[str, Any]]:
    return [{"id": 1}] if many else {"id": 1}
"""


def test_shapes_are_those_of_what_tools_return(tmp_path: Path) -> None:
    calls = [call("find_issues", count=count) for count in (0, 3)]
    ones = [call("find_one", many=many) for many in (False, True)]
    made = SessionProject.at(tmp_path, scenario(*calls, *ones), dispositions={"tiny": "read_only"})
    source = (tmp_path / "server.py").read_text() + WRAPPED
    made.project.write("server.py", source.replace("    return [{", '    """Read-only."""\n    return [{'))
    assert made.run().status == 0
    shapes = [line["result_shape"] for line in made.evaluation().transcript]
    assert shapes[:2] == ["array[0]", "array[3] of {id,title}"]
    (found,) = made.evaluation().state["critic_findings"]
    assert found["summary"] == "`find_one` answers in different shapes: array, object"


def test_a_server_that_does_not_start_is_an_error_where_it_is_meant_and_a_caveat(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    broken = {"command": "no-such-program-anywhere"}
    made.project.write_json("datasets/mcpeval.yaml", {"servers": {"broken": broken}})
    made.session(
        scenario(ECHO),
        scenario(ECHO, targets_mcps=["tiny", "broken"]),
        dispositions={
            "tiny": {"disposition": "sandboxed", "test_resources": ["hello"]},
            "broken": "read_only",
        },
    )
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert outcomes(run) == {"S1": "passed", "S2": "error", "report": "passed"}
    assert "no-such-program-anywhere" in run.out
    caveats = "\n".join(made.evaluation().section("Caveats"))
    assert "the tools of broken are not enumerable" in caveats
    assert "S2 could not be carried out" in caveats


def test_without_servers_the_report_says_that_there_is_nothing(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario(ECHO, targets_mcps=[]), dispositions=None)
    made.project.write_json(".mcp.json", {"mcpServers": {}})
    run = made.run("-v")
    assert run.status == 0
    assert "No MCPs attached — nothing to evaluate" in run.out
    assert "NO SERVERS" in run.line_with("::S1 ")
    done = made.evaluation()
    assert (done.state["status"], done.state["attached_mcps"], done.transcript_exists) == (
        "complete",
        [],
        False,
    )
    assert "No MCPs attached — nothing to evaluate" in done.report


def test_findings_are_judged_by_gates(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    output = finding("CRITICAL") + finding("MINOR", summary="a") + finding("MINOR", summary="b") + SUMMARY
    made.session(critic=made.critic(output), gates={"max_findings": {"Minor": 1, "Major": 0}})
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert outcomes(run) == {"S1": "passed", "report": "passed"}
    assert run.gates() == {
        "tiny.scenarios::fail_on": "failed",
        "tiny.scenarios::max_major": "passed",
        "tiny.scenarios::max_minor": "failed",
    }
    assert "F1 [Critical] tiny: too many calls (S1-001)" in run.out
    made.session(critic=made.critic(output), gates={"fail_on": "never"})
    assert made.run(name="two").status == 0
    made.session(critic=made.critic(finding("SUGGESTION") + SUMMARY), gates={"fail_on": "Suggestion"})
    assert made.run(name="three").status == 1


def test_gates_do_not_pass_over_findings_that_could_not_be_read(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    lost = finding("CRITICAL", evidence=["S1-001 (see Bash)"]) + finding("Critical")
    gates = {"fail_on": "Suggestion", "max_findings": {"Critical": 2, "Major": 0, "Minor": 0}}
    made.session(critic=made.critic(lost + SUMMARY), gates=gates, baseline="baseline.json")
    refused = made.run("--mcpeval-bless", "--mcpeval-report", "report")
    assert refused.status == 1
    assert refused.gates() == {
        "tiny.scenarios::fail_on": "error",
        "tiny.scenarios::max_critical": "passed",
        "tiny.scenarios::max_major": "passed",
        "tiny.scenarios::max_minor": "passed",
        "tiny.scenarios::new_findings": "error",
        "tiny.scenarios::bless": "failed",
    }
    assert "2 headings of the critic could not be read as findings (### [CRITICAL] glue_code" in refused.out
    assert "Findings: 0 Critical, 0 Major, 0 Minor, 0 Suggestion; 2 dropped" in refused.out
    assert not (tmp_path / "datasets" / "baseline.json").exists()
    # What has no severity may have any; what is there in so many words fails a gate as ever.
    unread = ["### Notes", "### [minor] glue_code: x"]
    found = judge_gates(
        "s", GatesModel(fail_on="Major", max_findings={"Minor": 1, "Major": 1}), [], [], unread
    )
    assert [gate.verdict for gate in found] == ["error", "passed", "error", "error"]
    sure = judge_gates("s", GatesModel(fail_on="Major"), [], [], ["### [MINOR] glue_code: x"])
    assert [gate.verdict for gate in sure] == ["passed", "error"]


def test_new_findings_against_a_committed_baseline(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    old = finding("MAJOR", summary="first words")
    made.session(critic=made.critic(old + SUMMARY), baseline="baseline.json")
    blessed = made.run("--mcpeval-bless", name="a")
    assert blessed.status == 0, blessed.out
    assert "blessed datasets/baseline.json" in blessed.out
    made.critic(finding("MAJOR", summary="the same in other words") + SUMMARY)
    assert made.run(name="b").status == 0
    made.critic(old + finding("MAJOR", summary="another") + SUMMARY)
    run = made.run(name="c")
    assert run.status == 1
    assert "1 findings that the baseline has not: F2 [Major] tiny: another (S1-001)" in run.out
    made.session(
        scenario(ECHO, description="Something else"), critic=made.critic(old), baseline="baseline.json"
    )
    assert "made from other scenarios or dispositions" in made.run(name="d").out


def test_a_critic_without_usable_output_fails_and_its_words_are_kept(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    made.session(critic=made.critic("I have no idea."))
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert "the critic's output cannot be read" in run.out
    assert "it is kept in mcp-evals/mcp-eval-one/critic-output.md" in run.out
    assert run.gates() == {"tiny.scenarios::fail_on": "error"}
    done = made.evaluation()
    assert done.state["status"] == "critic_failed"
    assert done.state["critic_failure_path"] == "mcp-evals/mcp-eval-one/critic-output.md"
    assert (done.path / "critic-output.md").read_text() == "I have no idea."
    assert not (done.path / "report.md").exists()
    (done.path / "critic-output.md").write_text(finding() + SUMMARY)
    again = made.run("--mcpeval-resume")
    assert again.status == 0, again.out
    assert [one["severity"] for one in made.evaluation().state["critic_findings"]] == ["Major"]
    assert len(done.transcript) == 1


def test_critics_of_other_kinds(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    made.project.write("critic.sh", f"cat > got.txt; printf '%s' '{finding()}{SUMMARY}'")
    made.session(critic={"command": ["sh", "critic.sh"], "directory": ".."})
    assert made.run(name="command").status == 0
    prompt = (tmp_path / "got.txt").read_text()
    folder = made.evaluation("command").path
    assert (
        f"Transcript: {folder / 'transcript.jsonl'}\nState: {folder / 'state.json'}\nAttached MCPs: tiny"
        in prompt
    )
    made.project.write("datasets/kept.md", finding("MINOR") + SUMMARY)
    made.session(critic="file:kept.md")
    assert made.run(name="file").status == 0
    assert made.evaluation("file").state["critic_findings"][0]["severity"] == "Minor"
    made.session(critic={"command": ["sh", "-c", "echo broken >&2; exit 3"]})
    failed = made.run(name="failed")
    assert failed.status == 1
    assert "ended with status 3" in failed.out
    assert "broken" in failed.out
    assert made.evaluation("failed").state["status"] == "critiquing"


def test_a_critic_that_hangs_leaves_no_process_behind(tmp_path: Path) -> None:
    program = "sleep 3600 & echo $! > left.txt; cat > got.txt; sleep 3600"
    critic = {"command": ["sh", "-c", program], "directory": str(tmp_path), "timeout": 1.5}
    request = CriticRequest("prompt", tmp_path / "t", tmp_path / "s")
    with pytest.raises(TargetError, match="no output within"):
        ask_critic(CriticModel.model_validate(critic), request, {})
    assert (tmp_path / "got.txt").read_text().endswith("prompt")
    with suppress(psutil.NoSuchProcess):
        # Where nobody collects orphans, what has ended stays as a zombie.
        left = psutil.Process(int((tmp_path / "left.txt").read_text()))
        assert left.status() == psutil.STATUS_ZOMBIE
    with pytest.raises(TargetError, match="cannot be started: command not found"):
        ask_critic(CriticModel.model_validate({"command": ["no-such-critic"]}), request, {})


def test_a_partial_run_writes_no_report_and_can_be_gone_on_with(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario(ECHO), scenario(ECHO), scenario(ECHO))
    run = made.run("-k", "S2", "--mcpeval-report", "report")
    assert run.status == 0
    assert [line["id"] for line in made.evaluation().transcript] == ["S2-001"]
    assert made.evaluation().state["status"] == "executing"
    assert run.gates() == {"tiny.scenarios::fail_on": "not_evaluated"}
    too_early = made.run("-k", "report", "--mcpeval-resume")
    assert too_early.status == 1
    assert "S1, S3 not carried out yet" in too_early.out
    assert made.run("--mcpeval-resume").status == 0
    assert [line["id"] for line in made.evaluation().transcript] == ["S2-001", "S1-001", "S3-001"]


def test_several_files_of_one_run_have_folders_of_their_own(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    made.session(scenario(ECHO), name="datasets/other.scenarios.yaml")
    assert made.run("-n2").status == 0
    names = sorted(path.name for path in (tmp_path / "mcp-evals").iterdir())
    assert names == ["mcp-eval-one-other", "mcp-eval-one-tiny"]


def test_evaluations_are_named_by_date_and_time(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    run = made.project.run("datasets", "-n2")
    assert run.status == 0
    (folder,) = (tmp_path / "mcp-evals").iterdir()
    assert folder.name.removeprefix("mcp-eval-").replace("-", "").isdecimal()


def test_no_credential_of_an_answer_reaches_the_disk(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    step = {**call("echo", text="hello"), "expect": [{"type": "equals", "value": "else"}]}
    made = SessionProject.at(tmp_path, scenario(step))
    source = (tmp_path / "server.py").read_text()
    made.project.write(
        "server.py", source.replace("    return text\n", f'    return text + " {secret}"\n', 1)
    )
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert "✗ step 1" in run.out or "✗" in run.out
    files = [*made.evaluation().path.iterdir(), *(tmp_path / "report").iterdir()]
    assert len(files) >= 7
    assert [path.name for path in files if path.is_file() and secret in path.read_text()] == []
    assert secret not in run.out


AGENT = """
import pytest


@pytest.fixture
def my_agent():
    async def run(task, toolbox):
        await toolbox.call("mcp__tiny__echo", {"text": "hello"})
        return f"did: {task}"

    return run


@pytest.fixture
def my_critic():
    async def review(prompt):
        assert "Attached MCPs: tiny" in prompt
        return "## Summary\\n\\nFine."

    return review
"""


@pytest.mark.parametrize("mode", [["-n0"], ["-n2"]], ids=" ".join)
def test_agents_and_critics_from_fixtures(tmp_path: Path, mode: list[str]) -> None:
    made = SessionProject.at(tmp_path)
    made.project.write("conftest.py", AGENT)
    made.project.write("datasets/tasks.txt", "# What is to be done\n\nSay hello\nSay it again\n")
    made.project.write_json(
        SESSION,
        {
            "dispositions": {"tiny": "read_only"},
            "approval": "approve",
            "agent": "fixture:my_agent",
            "critic": "fixture:my_critic",
            "scenarios": "tasks.txt",
        },
    )
    text = '"""Return the text."""'
    source = (tmp_path / "server.py").read_text().replace(text, '"""Read-only. Return the text."""')
    made.project.write("server.py", source)
    run = made.run(*mode, "--mcpeval-report", "report")
    assert run.status == 0, run.out
    cases = run.report()["suites"][SESSION]["cases"]
    assert [case["id"] for case in cases] == ["S1", "S2", "report"]
    outcomes_on_disk = [entry["outcome"]["answer"] for entry in made.evaluation().state["execution"]]
    assert outcomes_on_disk == ["did: Say hello", "did: Say it again"]
    assert made.evaluation().state["critic_summary"] == "Fine."
