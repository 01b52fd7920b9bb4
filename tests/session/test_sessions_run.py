"""Session files run through pytest: outcomes of items, gates, reports, and who carries out what.

Most session files are run together, serially (`together`). Each has a folder and a server of its own.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_mcpeval import TargetError
from pytest_mcpeval.kinds.session.critic.asking import CriticRequest, ask_critic
from pytest_mcpeval.kinds.session.critic.parsing import may_be_finding
from pytest_mcpeval.kinds.session.critic.settings import CriticModel
from pytest_mcpeval.kinds.session.gates import judge_gates
from pytest_mcpeval.kinds.session.schema import GatesModel
from tests.session.evaluations import (
    ECHO,
    SESSION,
    SUMMARY,
    Evaluation,
    SessionProject,
    call,
    finding,
    outcomes,
    scenario,
    session_in,
    verdicts,
)
from tests.support import SERVER, Project, Run

MODES = [["-p", "no:xdist"], ["-n2"]]
READ_ONLY = {"dispositions": {"tiny": "read_only"}}
READING_SLEEP = SERVER.replace('"""Take a while;', '"""Read-only. Take a while;')
OUTSIDE = call("repeat", text="outside", times=2)
SECRET = "ghp_" + "a1B2" * 9
WALLCLOCK = {"expect_abort": "wallclock"}
NO_PROGRAM = {"broken": {"command": "no-such-program-anywhere"}}
OLD = finding("MAJOR", summary="first words")

SECRETS = (
    "ghp_abcdefghij1234567890",
    "ada@example.com",
    "abc123secretvalue",
    "hunter2",
    "sk-live-a1b2c3d4e5f6g7h8",
)


READ_ONLY_TOOLS = """

from mcp.types import ToolAnnotations


@server.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def git_status() -> str:
    return "clean"


@server.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def git_diff() -> str:
    return "none"
"""


WRAPPED = """


@server.tool()
def find_issues(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "title": "x"} for n in range(count)]


@server.tool()
def find_one(many: bool) -> dict[str, Any] | list[dict[str, Any]]:
    return [{"id": 1}] if many else {"id": 1}
"""


def made_in(path: Path) -> Project:
    """A project without a server for all."""
    project = Project.at(path)
    project.write_json(".mcp.json", {"mcpServers": {}})
    return project


def carried_out(project: Project, *arguments: str) -> Run:
    """Run session files as evaluations whose names begin with ``one``."""
    return project.run(*arguments, "--mcpeval-name", "one", columns=160, HOME=str(project.path))


def evaluation(run: Run, folder: str) -> Evaluation:
    """The evaluation of a session file that was run with others."""
    return Evaluation(run.path / "mcp-evals" / f"mcp-eval-one-{folder}")


@pytest.fixture(scope="module")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline with one finding."""
    made = SessionProject.at(tmp_path_factory.mktemp("blessed"))
    made.session(critic=made.critic(OLD + SUMMARY), baseline="baseline.json")
    run = made.run("--mcpeval-bless", name="a")
    assert run.status == 0, run.out
    assert "blessed datasets/baseline.json" in run.out
    return made.project.path / "datasets" / "baseline.json"


def aborted(project: Project) -> None:
    """Files whose scenarios are aborted."""
    SessionProject.within(
        project,
        "aborts",
        scenario(ECHO, ECHO, ECHO),
        scenario(ECHO, call("repeat", text="hello", times=2)),
        scenario({**OUTSIDE, "refused": True}, expect_abort="safety_abort"),
        scenario(OUTSIDE),
        scenario(ECHO, expect_abort="safety_abort"),
        call_budget=2,
    )
    SessionProject.within(
        project,
        "late",
        scenario(call("sleep", seconds=1.2), ECHO),
        scenario(ECHO),
        scenario(ECHO),
        dispositions={"tiny": {"disposition": "sandboxed", "test_resources": ["hello"]}},
        wallclock_budget=0.015,
        source=READING_SLEEP,
    )
    woken = {**call("sleep", seconds=1.5), "expect": [{"type": "contains", "value": "woke"}]}
    SessionProject.within(
        project,
        "foreseen",
        scenario(woken, **WALLCLOCK),
        scenario(ECHO, targets_mcps=["broken"], **WALLCLOCK),
        scenario(ECHO, targets_mcps=["broken"]),
        dispositions={"tiny": "read_only", "broken": "read_only"},
        wallclock_budget=0.01,
        source=READING_SLEEP,
        servers=NO_PROGRAM,
    )


TARGET_AGENTS = """
from pytest_mcpeval import CallRefused


async def idle(task, toolbox):
    return "Done: nothing to do."


async def elsewhere(task, toolbox):
    await toolbox.call("mcp__other__echo", {"text": "hello"})


async def denied(task, toolbox):
    try:
        await toolbox.call("mcp__reader__delete_all")
    except CallRefused as refusal:
        return refusal.reason


async def greedy(task, toolbox):
    for _ in range(9):
        await toolbox.call("mcp__tiny__echo", {"text": "hello"})
"""

DELETING = """


@server.tool()
def delete_all() -> str:
    return "gone"
"""


def of_targets(project: Project) -> None:
    """Scenarios whose agents call their targets, or do not."""
    project.write("datasets/targets/target_agents.py", TARGET_AGENTS)

    def by(agent: str, *targets: str, **fields: Any) -> dict[str, Any]:
        agent = f"python:target_agents:{agent}"
        return {"description": agent, "targets_mcps": list(targets), "agent": agent, **fields}

    module = {"module": "server_targets:server"}
    sandboxed = {"disposition": "sandboxed", "test_resources": ["hello"]}
    SessionProject.within(
        project,
        "targets",
        by("idle", "tiny"),
        by("elsewhere", "tiny"),
        by("denied", "reader"),
        by("greedy", "tiny"),
        by("greedy", "tiny", expect_abort="call_budget"),
        by("greedy", "other", expect_abort="call_budget"),
        by("elsewhere", "tiny", "other"),
        by("idle"),
        source=SERVER + DELETING,
        servers={"other": module, "reader": module},
        dispositions={"tiny": sandboxed, "other": sandboxed, "reader": "read_only"},
        call_budget=3,
    )
    nobody = {"python": "target_agents:idle", "directory": "../targets"}
    SessionProject.within(project, "idle", {"description": "Nothing", "agent": nobody})


def of_servers(project: Project) -> None:
    """Files whose servers are odd, or break, or give secrets away."""
    program = f"import sys; sys.exit('bad token {SECRETS[0]} for {SECRETS[1]}, https://u:{SECRETS[3]}@h/x')"
    project.write("broken.py", program)
    header = f"Authorization: Bearer {SECRETS[2]}"
    words = ["broken.py", "--header", header, f"https://u:{SECRETS[3]}@h/x", SECRETS[4]]
    broken = {"command": sys.executable, "args": words, "cwd": str(project.path)}
    leaking = SessionProject.within(
        project, "leaking", scenario(ECHO, targets_mcps=["broken"]), servers={"broken": broken}
    )
    leaking.session(
        scenario(ECHO, targets_mcps=["broken"]),
        scenario(ECHO, targets_mcps=["broken"]),
        dispositions={"tiny": "read_only", "broken": "read_only"},
        critic=leaking.critic(finding() + SUMMARY),
    )
    SessionProject.within(
        project,
        "telling",
        scenario({**ECHO, "expect": [{"type": "equals", "value": "else"}]}),
        source=SERVER.replace("    return text\n", f'    return text + " {SECRET}"\n', 1),
    )
    SessionProject.within(
        project,
        "hinting",
        scenario(*[call("git_status"), call("git_diff")] * 5),
        source=SERVER + READ_ONLY_TOOLS,
        **READ_ONLY,
    )
    calls = [call("find_issues", count=count) for count in (0, 3)]
    ones = [call("find_one", many=many) for many in (False, True)]
    source = (SERVER + WRAPPED).replace("    return [{", '    """Read-only."""\n    return [{')
    SessionProject.within(project, "shapes", scenario(*calls, *ones), source=source, **READ_ONLY)
    sandboxed = {"disposition": "sandboxed", "test_resources": ["hello"]}
    SessionProject.within(
        project,
        "absent",
        scenario(ECHO),
        scenario(ECHO, targets_mcps=["tiny", "broken"]),
        dispositions={"tiny": sandboxed, "broken": "read_only"},
        servers=NO_PROGRAM,
    )
    nothing = SessionProject.within(project, "nothing", scenario(ECHO, targets_mcps=[]), dispositions=None)
    (project.path / nothing.name).with_name("mcpeval.yaml").unlink()


def of_critics(project: Project, baseline: Path) -> None:
    """Files whose critics find something, or say nothing of use."""
    minors = finding("MINOR", summary="a") + finding("MINOR", summary="b")
    counted: dict[str, tuple[str, dict[str, Any]]] = {
        "counted": (
            finding("CRITICAL") + minors + SUMMARY,
            {"gates": {"max_findings": {"Minor": 1, "Major": 0}}},
        ),
        "never": (finding("CRITICAL") + minors + SUMMARY, {"gates": {"fail_on": "never"}}),
        "suggested": (finding("SUGGESTION") + SUMMARY, {"gates": {"fail_on": "Suggestion"}}),
        "unusable": ("I have no idea.", {}),
    }
    held: dict[str, tuple[str, Sequence[Mapping[str, Any]]]] = {
        "reworded": (finding("MAJOR", summary="the same in other words") + SUMMARY, []),
        "grown": (OLD + finding("MAJOR", summary="another") + SUMMARY, []),
        "otherwise": (OLD, [scenario(ECHO, description="Something else")]),
    }
    for folder, (output, settings) in counted.items():
        made = SessionProject.within(project, folder)
        made.session(critic=made.critic(output), **settings)
    for folder, (output, scenarios) in held.items():
        made = SessionProject.within(project, folder)
        made.session(*scenarios, critic=made.critic(output), baseline="baseline.json")
        shutil.copy(baseline, (project.path / made.name).parent)

    project.write("datasets/command/critic.sh", f"cat > got.txt; printf '%s' '{finding()}{SUMMARY}'")
    SessionProject.within(
        project, "command", critic={"command": ["sh", "command/critic.sh"], "directory": ".."}
    )
    SessionProject.within(project, "kept", critic="file:kept.md")
    project.write("datasets/kept/kept.md", finding("MINOR") + SUMMARY)
    SessionProject.within(project, "broken", critic={"command": ["sh", "-c", "echo worn out >&2; exit 3"]})


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory, blessed: Path) -> Run:
    """All these files, run together."""
    project = made_in(tmp_path_factory.mktemp("together"))
    aborted(project)
    of_targets(project)
    of_servers(project)
    of_critics(project, blessed)
    return carried_out(project, "datasets", "-v", "--mcpeval-report", "report")


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_scenarios_run_in_order_and_the_report_is_written(tmp_path: Path, mode: list[str]) -> None:
    made = SessionProject.at(tmp_path, *(scenario(ECHO, description=f"Task {n}") for n in range(1, 5)))
    options = ("--mcpeval-report", "report", "--junitxml", "junit.xml", "--html", "report.html")
    run = made.run("-v", *mode, *options)
    assert run.status == 0, run.out + run.err
    assert outcomes(run) == dict.fromkeys(["S1", "S2", "S3", "S4", "report"], "passed")
    done = made.evaluation()
    assert done.state["status"] == "complete"
    assert [line["id"] for line in done.transcript] == ["S1-001", "S2-001", "S3-001", "S4-001"]
    assert [entry["scenario_id"] for entry in done.state["execution"]] == ["S1", "S2", "S3", "S4"]
    assert {(entry["status"], entry["call_count"]) for entry in done.state["execution"]} == {("complete", 1)}
    started = [entry["started"] for entry in done.state["execution"]]
    assert started == sorted(started)
    told = run.lines[run.lines.index("Evaluation complete: one") :][:3]
    assert told[1:] == [
        "Findings: 0 Critical, 0 Major, 0 Minor, 0 Suggestion",
        "Report: mcp-evals/mcp-eval-one/report.md",
    ]
    assert "PASSED datasets/tiny.scenarios.yaml::gates::fail_on" in run.out
    metrics = run.report()["suites"][SESSION]["metrics"]
    assert (metrics["scenarios"], metrics["calls"], metrics["blocked"]) == (4, 4, 0)
    assert metrics["servers"][0]["calls"] == 4
    assert {"S1", "S4", "report", "fail_on"} <= run.junit().keys()
    rows = dict(run.html_rows())
    assert f"{SESSION}::report" in rows
    assert "mcp__tiny__echo" in str(rows[f"{SESSION}::S2"])


# Each of those that are run together


def test_abort_reasons_are_in_the_outcome(together: Run) -> None:
    assert together.status == 1
    assert outcomes(together, session_in("aborts")) == {
        "S1": "failed",
        "S2": "passed",
        "S3": "passed",
        "S4": "failed",
        "S5": "failed",
        "report": "passed",
    }
    assert "aborted (call_budget): it exceeded its call budget" in together.out
    assert "aborted (safety_abort): a call was not certain to be allowed" in together.out
    assert "expected to be aborted (safety_abort), but was carried out" in together.out
    assert "S4-001 __blocked__" in together.out
    done = evaluation(together, "aborts")
    reasons = [entry["abort_reason"] for entry in done.state["execution"]]
    assert reasons == ["call_budget", None, "safety_abort", "safety_abort", None]
    assert done.state["config"]["call_budget_per_scenario"] == 2
    assert "**Scenarios run:** 5 (3 aborted)" in done.report
    ended = [line.split(" | ")[1] for line in done.section("Scenarios")[2:]]
    assert ended == [
        "aborted (call_budget)",
        "complete",
        "aborted (safety_abort)",
        "aborted (safety_abort)",
        "not aborted",
    ]
    early = (
        "S1: aborted (call_budget); S3: aborted (safety_abort); S4: aborted (safety_abort); S5: not aborted"
    )
    place = together.lines.index("Evaluation complete: one-aborts")
    assert together.lines[place + 2] == f"Not complete: {early}"
    (gate,) = (one for one in together.report()["gates"] if one["suite"] == session_in("aborts"))
    assert gate["message"].endswith(f"; not complete: {early}")
    reports = [evaluation(together, name).report for name in ("aborts", "late", "absent")]
    assert all("behaved well" not in report for report in reports)


def test_a_scenario_whose_agent_called_none_of_its_targets_fails(together: Run) -> None:
    assert outcomes(together, session_in("targets")) == {
        **{"S1": "failed", "S2": "failed", "S3": "failed", "S4": "failed"},
        **{"S5": "passed", "S6": "failed", "S7": "passed", "S8": "failed", "report": "passed"},
    }
    told = "✗ targets_mcps: called none of its target servers: "
    assert f"{told}tiny; it called other" in together.out
    assert f"{told}reader; the guard blocked 1 of its calls to them" in together.out
    assert f"{told}other; it called tiny" in together.out
    report = evaluation(together, "targets")
    assert "never called; S3: failed (targets_mcps)." in "\n".join(report.section("Per-MCP Findings"))
    # Where nobody called anything, nothing could be found.
    assert outcomes(together, session_in("idle")) == {"S1": "failed", "report": "passed"}
    assert "✗ calls: made no call, so nothing was tried" in together.out
    (gate,) = (one for one in together.report()["gates"] if one["suite"] == session_in("idle"))
    assert (gate["verdict"], gate["message"].partition(";")[0]) == (
        "error",
        "no MCP tool was called, so no friction could be found",
    )


def test_the_wallclock_ends_all_scenarios_to_come(together: Run) -> None:
    assert set(outcomes(together, session_in("late")).values()) >= {"failed"}
    first, *others = evaluation(together, "late").state["execution"]
    assert (first["status"], first["abort_reason"], first["call_count"]) == ("aborted", "wallclock", 1)
    assert len(others) == 2
    for entry in others:
        assert (entry["status"], entry["abort_reason"], entry["call_count"]) == ("aborted", "wallclock", 0)
        assert entry["started"] == entry["ended"]
    tools = [line["tool"] for line in evaluation(together, "late").transcript]
    assert tools.count("__wallclock_abort__") == 1
    assert "aborted (wallclock): the time of the whole session was over" in together.out


def test_an_expected_wallclock_leaves_nothing_to_complain_of(together: Run) -> None:
    found = outcomes(together, session_in("foreseen"))
    assert found == {"S1": "passed", "S2": "passed", "S3": "failed", "report": "passed"}
    reasons = [entry["abort_reason"] for entry in evaluation(together, "foreseen").state["execution"]]
    assert reasons == ["wallclock"] * 3


def test_no_credential_of_a_server_reaches_the_disk(together: Run) -> None:
    done = evaluation(together, "leaking")
    (problem,) = [one["listing_problem"] for one in done.state["attached_mcps"] if one["name"] == "broken"]
    assert "its last words: bad" in problem
    assert "did not start" in done.state["execution"][0]["outcome"]["error"]
    assert outcomes(together, session_in("leaking"))["S1"] == "error"
    start = "server 'broken' did not start: it exited with code 1 before it answered"
    lines = [line for line in together.lines if line.startswith(start)]
    assert lines == [start]
    texts = {path.name: path.read_text() for path in done.path.iterdir() if path.is_file()}
    assert {"state.json", "report.md", "report.html"} <= texts.keys()
    found = [(name, secret) for name, text in texts.items() for secret in SECRETS if secret in text]
    assert found == []


def test_no_credential_of_an_answer_reaches_the_disk(together: Run) -> None:
    assert outcomes(together, session_in("telling"))["S1"] == "failed"
    assert "✗ step 1" in together.out or "✗" in together.out
    done = evaluation(together, "telling")
    files = [*done.path.iterdir(), *(together.path / "report").iterdir()]
    assert len(files) >= 7
    assert [path.name for path in files if path.is_file() and SECRET in path.read_text()] == []
    assert SECRET not in together.out


def test_the_critic_knows_what_servers_say_of_their_tools(together: Run) -> None:
    findings = evaluation(together, "hinting").state["critic_findings"]
    assert [one["severity"] for one in findings].count("Critical") == 2
    assert {one["dimension"] for one in findings} == {"redundant_calls"}
    assert "2 Critical" in together.out


def test_shapes_are_those_of_what_tools_return(together: Run) -> None:
    assert set(outcomes(together, session_in("shapes")).values()) == {"passed"}
    done = evaluation(together, "shapes")
    shapes = [line["result_shape"] for line in done.transcript]
    assert shapes[:2] == ["array[0]", "array[3] of {id,title}"]
    (found,) = done.state["critic_findings"]
    assert found["summary"] == "`find_one` answers in different shapes: array, object"


def test_a_server_that_does_not_start_is_an_error_where_it_is_meant_and_a_caveat(together: Run) -> None:
    found = outcomes(together, session_in("absent"))
    assert found == {"S1": "passed", "S2": "error", "report": "passed"}
    assert "no-such-program-anywhere" in together.out
    caveats = "\n".join(evaluation(together, "absent").section("Caveats"))
    assert "the tools of broken are not enumerable" in caveats
    assert "S2 could not be carried out" in caveats


def test_without_servers_the_report_says_that_there_is_nothing(together: Run) -> None:
    assert "No MCPs attached — nothing to evaluate" in together.out
    assert "NO SERVERS" in together.line_with(f"{session_in('nothing')}::S1 ")
    assert {"failed", "error"}.isdisjoint(outcomes(together, session_in("nothing")).values())
    done = evaluation(together, "nothing")
    assert (done.state["status"], done.state["attached_mcps"], done.transcript_exists) == (
        "complete",
        [],
        False,
    )
    assert "No MCPs attached — nothing to evaluate" in done.report
    assert f"Report: {(done.path / 'report.md').relative_to(together.path)}" in together.lines


def test_findings_are_judged_by_gates(together: Run) -> None:
    assert outcomes(together, session_in("counted")) == {"S1": "passed", "report": "passed"}
    assert verdicts(together, session_in("counted")) == {
        "fail_on": "failed",
        "max_major": "passed",
        "max_minor": "failed",
    }
    assert "F1 [Critical] tiny: too many calls (S1-001)" in together.out
    assert "failed" not in verdicts(together, session_in("never")).values()
    assert verdicts(together, session_in("suggested")) == {"fail_on": "failed"}


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
    unread = ["### Major: x", "### [minor] glue_code: x"]
    found = judge_gates(
        "s", GatesModel(fail_on="Major", max_findings={"Minor": 1, "Major": 1}), [], [], unread
    )
    assert [gate.verdict for gate in found] == ["error", "passed", "error", "error"]
    assert not may_be_finding("### Notes")
    assert all(map(may_be_finding, [*unread, "### critical", "### glue_code: x"]))
    sure = judge_gates("s", GatesModel(fail_on="Major"), [], [], ["### [MINOR] glue_code: x"])
    assert [gate.verdict for gate in sure] == ["passed", "error"]


def test_new_findings_against_a_committed_baseline(together: Run) -> None:
    assert set(verdicts(together, session_in("reworded")).values()) == {"passed"}
    assert "failed" in verdicts(together, session_in("grown")).values()
    assert "1 findings that are not in the baseline: F2 [Major] tiny: another (S1-001)" in together.out
    assert "error" in verdicts(together, session_in("otherwise")).values()
    assert "made from other scenarios or dispositions" in together.out


def test_a_critic_without_usable_output_fails_and_its_words_are_kept(together: Run) -> None:
    unusable = session_in("unusable")
    place = "mcp-evals/mcp-eval-one-unusable/critic-output.md"
    assert "the critic's output cannot be read" in together.out
    assert f"it is kept in {place}" in together.out
    assert verdicts(together, unusable) == {"fail_on": "error"}
    done = evaluation(together, "unusable")
    assert done.state["status"] == "critic_failed"
    assert done.state["critic_failure_path"] == place
    assert (done.path / "critic-output.md").read_text() == "I have no idea."
    assert not (done.path / "report.md").exists()
    (done.path / "critic-output.md").write_text(finding() + SUMMARY)
    arguments = ("--mcpeval-resume", "--mcpeval-name", "one-unusable")
    again = Project(together.path).run(unusable, *arguments, HOME=str(together.path))
    assert again.status == 0, again.out
    assert [one["severity"] for one in done.state["critic_findings"]] == ["Major"]
    assert len(done.transcript) == 1


def test_critics_of_other_kinds(together: Run) -> None:
    assert {"failed", "error"}.isdisjoint(verdicts(together, session_in("command")).values())
    prompt = (together.path / "datasets" / "got.txt").read_text()
    folder = evaluation(together, "command").path
    assert (
        f"Transcript: {folder / 'transcript.jsonl'}\nState: {folder / 'state.json'}\nAttached MCPs: tiny"
        in prompt
    )
    assert {"failed", "error"}.isdisjoint(verdicts(together, session_in("kept")).values())
    assert evaluation(together, "kept").state["critic_findings"][0]["severity"] == "Minor"
    assert "error" in verdicts(together, session_in("broken")).values()
    assert "ended with status 3" in together.out
    assert "worn out" in together.out
    assert evaluation(together, "broken").state["status"] == "critiquing"


# Runs of their own


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
    told = " ".join(too_early.out.split())
    assert "S1, S3 not carried out yet" in told
    assert "run the file without -k, and with --mcpeval-resume --mcpeval-name one" in told
    assert made.run("--mcpeval-resume").status == 0
    assert [line["id"] for line in made.evaluation().transcript] == ["S2-001", "S1-001", "S3-001"]


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


def of_agents(path: Path) -> SessionProject:
    """A session file whose agent and critic are fixtures."""
    text = '"""Return the text."""'
    made = SessionProject.at(path)
    made.project.write("server.py", SERVER.replace(text, '"""Read-only. Return the text."""'))
    made.project.write("conftest.py", AGENT)
    made.project.write("datasets/tasks.txt", "# What is to be done\n\nSay hello\nSay it again\n")
    settings = {
        "dispositions": {"tiny": "read_only"},
        "approval": "approve",
        "agent": "fixture:my_agent",
        "critic": "fixture:my_critic",
        "scenarios": "tasks.txt",
    }
    made.project.write_json(SESSION, settings)
    return made


def assert_agents_did_it(run: Run, done: Evaluation) -> None:
    assert run.status == 0, run.out
    assert outcomes(run) == dict.fromkeys(["S1", "S2", "report"], "passed")
    answers = [entry["outcome"]["answer"] for entry in done.state["execution"]]
    assert answers == ["did: Say hello", "did: Say it again"]
    assert done.state["critic_summary"] == "Fine."


def test_agents_and_critics_from_fixtures(tmp_path: Path) -> None:
    made = of_agents(tmp_path)
    assert_agents_did_it(made.run("-n0", "--mcpeval-report", "report"), made.evaluation())


def test_several_files_on_workers_have_folders_of_their_own_named_by_date_and_time(tmp_path: Path) -> None:
    made = of_agents(tmp_path)
    made.session(scenario(ECHO), name="datasets/other.scenarios.yaml")
    run = made.project.run("datasets", "-n2", "--mcpeval-report", "report")
    other, tiny = sorted((tmp_path / "mcp-evals").iterdir(), key=lambda path: path.name.rpartition("-")[2])
    date, _, label = other.name.removeprefix("mcp-eval-").rpartition("-")
    assert label == "other"
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", date)
    assert tiny.name == f"mcp-eval-{date}-tiny"
    assert_agents_did_it(run, Evaluation(tiny))
    assert Evaluation(other).state["status"] == "complete"


BREAKS = """
from pytest_mcpeval import NoParameters, check_type

@check_type("breaks", NoParameters)
def breaks(parameters, response):
    "Raises what a typing error raises."
    return len(None)

def pytest_mcpeval_checks():
    return [breaks]
"""


def test_a_check_of_a_step_that_breaks_is_an_error(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario({**ECHO, "expect": [{"type": "breaks"}]}))
    made.project.write("conftest.py", BREAKS)
    run = made.run("--mcpeval-report", "report")
    assert outcomes(run)["S1"] == "error"
    assert "the check breaks broke: TypeError" in run.line_with(f"ERROR {SESSION}::S1 ")
