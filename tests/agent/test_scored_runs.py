"""Captured runs scored through pytest: outcomes as people see them, scores on disk, comparisons and gates."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.config.root_directory import values_that_move
from pytest_mcpeval.kinds.agent.captures import read_capture, write_capture
from pytest_mcpeval.kinds.agent.folders import agent_of
from tests.agent.captured_runs import AGENT, RUN_ID, CapturedProject, Evidence, call, case
from tests.support import Run

FIND = [call("find", team="Engineering")]
MODES = {"serial": ["-p", "no:xdist"], "xdist": ["-n2"]}


def four_cases(tmp_path: Path) -> CapturedProject:
    """One case of each outcome: ok, bad, open, broken."""
    made = CapturedProject.at(
        tmp_path,
        case("ok", final_response_contains="Ada Lovelace", must_call=["find"]),
        case("bad", must_call=["find", "rank"], max_steps=1),
        case("open", must_call=["find"], must_route_to="hr"),
        case("broken", must_call=["find"]),
    )
    generations = [
        {
            "total_tokens": 1_234,
            "total_cost_usd": 0.5,
            "started_at": "2026-01-31T12:00:00Z",
            "ended_at": "2026-01-31T12:00:01Z",
        }
    ]
    made.capture("ok", Evidence(calls=FIND, generations=generations))
    made.capture("bad", Evidence(calls=FIND, steps=3, notes=("Enter was repeated",)))
    made.capture("open", Evidence(calls=FIND))
    made.capture("broken", Evidence(error="navigate: the page is down: start the agent"))
    return made


def outcomes(run: Run, report: str = "report") -> dict[str, str]:
    return {found["id"]: found["outcome"] for found in run.report(report)["suites"]["agent.yaml"]["cases"]}


@dataclass(frozen=True)
class ScoredTwice:
    """A captured run that was scored: in one process where it was captured, and by two workers elsewhere."""

    made: CapturedProject
    runs: dict[str, Run]
    folders: dict[str, Path]


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> ScoredTwice:
    """The run with one case of each outcome."""
    root = tmp_path_factory.mktemp("scored")
    made = four_cases(root)
    captured, moved = made.folder().path, root / "elsewhere" / AGENT / RUN_ID
    shutil.copytree(captured, moved)
    folders = {"serial": captured, "xdist": moved}
    runs = {}
    for mode, folder in folders.items():
        reports = [f"--mcpeval-report=report-{mode}", f"--junitxml={mode}.xml", f"--html={mode}.html"]
        where = f"--mcpeval-score-only={folder}"
        shown = ["-v", "--self-contained-html"]
        runs[mode] = made.project.run(where, *MODES[mode], *reports, *shown, columns=120, CI="")
    return ScoredTwice(made, runs, folders)


def test_agents_are_captured_once_and_say_so(scored: ScoredTwice) -> None:
    run = scored.made.score("--mcpeval-runs=3", "--mcpeval-report", "three")
    assert run.line_with("agents: scored as captured in", "each case is captured once, whatever")
    assert "asked 3 times" not in run.out
    assert "runs" not in run.report("three")["suites"]["agent.yaml"]["metrics"]


@pytest.mark.parametrize("mode", MODES)
def test_each_outcome_is_shown_as_what_it_is(scored: ScoredTwice, mode: str) -> None:
    run = scored.runs[mode]
    assert run.status == 1
    found = {"ok": "passed", "bad": "failed", "open": "inconclusive", "broken": "error"}
    assert outcomes(run, f"report-{mode}") == found
    assert "1 failed, 1 passed, 1 error, 1 inconclusive" in run.last_line
    for words in ("✗ must_call: rank was not called", "observed: 3", "note: Enter was repeated"):
        assert run.line_with(words)
    assert "start the agent" in run.out
    assert run.line_with(f"agents: scored as captured in {scored.folders[mode]}")
    section = run.section()
    (line,) = (line.split() for line in section if line.startswith("✗"))
    assert line[:8] == ["✗", "agent", "agent.yaml", "4", "pass", "rate", "25", "%"]
    assert any("Inconclusive (1; evidence is missing)" in line for line in section)
    assert any("missing: trace/observability/routing_decisions.jsonl" in line for line in section)
    assert any(re.match(r" +1\. declare a source of routing_decisions", line) for line in section)
    junit = run.junit(f"{mode}.xml")
    assert junit["bad"].find("failure") is not None
    skipped = junit["open"].find("skipped")
    assert skipped is not None
    assert "there is no routing_decisions.jsonl" in skipped.attrib["message"]
    shown = {node.rpartition("::")[2]: json.dumps(row) for node, row in run.html_rows(f"{mode}.html")}
    assert "data:image/png;base64," in shown["ok"]
    assert "what the agent did" in shown["ok"]
    assert "1,234" in shown["ok"]
    assert "agent, inconclusive" in shown["open"]


def test_a_run_is_reported_the_same_however_it_is_scored(scored: ScoredTwice) -> None:
    reports = []
    for mode, run in scored.runs.items():
        reports.append({key: value for key, value in run.report(f"report-{mode}").items() if key != "run"})
    assert reports[0] == reports[1]


def test_inconclusive_fails_where_it_is_told_to(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, case("open", max_steps=1))
    made.capture("open", Evidence())
    arguments = ("--mcpeval-report", "report", "-q")
    local, in_ci = made.score(*arguments), made.score(*arguments, ci="true")
    assert (local.status, in_ci.status) == (0, 1)
    assert "there is no step_count.json" in in_ci.out
    assert in_ci.last_line.startswith("1 inconclusive")
    assert in_ci.report()["verdict"] == "failed"
    made.project.write("pytest.ini", "[pytest]\nmcpeval_inconclusive = skip\n")
    skipping = made.score(*arguments, ci="true")
    assert skipping.status == 0
    assert skipping.report()["verdict"] == "not_evaluated"
    made.project.write("pytest.ini", "[pytest]\nmcpeval_inconclusive = fail\n")
    assert made.score("-p", "no:terminal").status == 1
    made.project.write("pytest.ini", "[pytest]\nmcpeval_inconclusive = maybe\n")
    wrong = made.score()
    assert wrong.status == 4
    assert "mcpeval_inconclusive: expected fail or skip, found 'maybe'" in wrong.err


def test_scores_lie_beside_what_was_captured_and_are_the_same_again(scored: ScoredTwice) -> None:
    made, folder, moved = scored.made, scored.folders["serial"], scored.folders["xdist"]
    written = {
        path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.suffix in (".json", ".md")
    }
    assert {path.relative_to(folder).as_posix() for path in written} >= {
        "score.json",
        "report.md",
        "ok/score.json",
    }
    found = made.read("score.json")
    assert (found["agent_name"], found["run_id"]) == (AGENT, RUN_ID)
    assert [row["case_id"] for row in found["cases"]] == ["ok", "bad", "open", "broken"]
    assert {name: found[name] for name in ("total", "passed", "failed", "inconclusive")} == {
        "total": 7,
        "passed": 4,
        "failed": 2,
        "inconclusive": 1,
    }
    assert found["cases_error"] == 1
    assert found["by_assertion_kind"]["must_call"] == {
        "total": 4,
        "passed": 3,
        "failed": 1,
        "inconclusive": 0,
    }
    assert list(found["by_target"]) == ["find", "hr", "rank"]
    assert made.read("broken/score.json")["error"] == "navigate: the page is down: start the agent"
    assert {path: (moved / path.relative_to(folder)).read_bytes() for path in written} == written


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> tuple[CapturedProject, Run]:
    """A run of whose cases none can be scored."""
    made = CapturedProject.at(
        tmp_path_factory.mktemp("harmed"),
        case("missing", max_steps=1),
        case("other", text="new question", max_steps=1),
        case("unfinished", max_steps=1),
        case("unfetched", max_steps=1),
    )
    made.capture("other", Evidence(steps=1))
    made.capture("unfinished", Evidence(steps=1)).capture.unlink()
    made.capture("unfetched", Evidence(steps=1, fetch_error="no route to the trace store"))
    return made, made.score("--mcpeval-report", "report")


def test_what_cannot_be_scored_is_an_error(harmed: tuple[CapturedProject, Run]) -> None:
    made, run = harmed
    assert run.status == 1
    assert outcomes(run) == dict.fromkeys(("missing", "other", "unfinished", "unfetched"), "error")
    score = made.read("score.json")
    assert (score["cases_total"], score["cases_error"], score["not_scored"]) == (4, 4, [])
    told = {row["case_id"]: row["error"] for row in score["cases"]}
    assert told["missing"] == "the case was not captured"
    assert "with another input" in told["other"]
    assert "0 of 4 cases passed" in (made.folder().path / "report.md").read_text(encoding="utf-8")


def test_a_case_that_was_not_captured_or_with_another_input(harmed: tuple[CapturedProject, Run]) -> None:
    assert "has no case 'missing': it was not captured" in harmed[1].out
    assert "'other' was captured with another input" in harmed[1].out


def test_a_capture_that_did_not_finish(harmed: tuple[CapturedProject, Run]) -> None:
    assert "the capture did not finish" in harmed[1].out
    assert "observability: no route to the trace store" in harmed[1].out


def test_a_run_of_another_agent_is_refused(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, case("a", max_steps=1))
    other = tmp_path / "runs" / "pets" / RUN_ID
    other.mkdir(parents=True)
    run = made.project.run("--mcpeval-score-only", f"runs/pets/{RUN_ID}")
    assert run.status == 1
    assert "none of these is a run of the agent 'people'" in " ".join(run.out.split())
    made.capture("a", Evidence(steps=1))
    made.score_here()
    # One level too high, and one too low.
    for folder in (f"runs/{AGENT}", f"runs/{AGENT}/{RUN_ID}/a"):
        assert agent_of(tmp_path / folder) != AGENT
    gone = made.project.run("--mcpeval-score-only", "runs/gone")
    assert gone.status == 4
    assert "--mcpeval-score-only: there is no directory" in gone.err


def test_transitions_since_a_baseline_run(tmp_path: Path) -> None:
    made = CapturedProject.at(
        tmp_path,
        case("a", must_call=["find"], max_steps=3),
        case("b", must_call=["find", "rank"], must_route_to="hr"),
    )
    made.capture("a", Evidence(calls=FIND, steps=3))
    made.capture("b", Evidence(calls=FIND))
    made.score_here()
    made.write_manifest(
        case("a", must_call=["find"], max_steps=3, must_not_call=["drop"]),
        case("b", must_call=["rank"], must_route_to="hr"),
    )
    new = "20260201T120000Z-bbbbbb"
    made.capture("a", Evidence(calls=[]), new)
    made.capture("b", Evidence(calls=[call("rank")], routes=[]), new)
    base = ["--mcpeval-baseline-run", f"runs/{AGENT}/{RUN_ID}", "--mcpeval-report", "report"]
    run = made.score(*base, run_id=new)
    assert run.status == 1
    delta = run.report()["suites"]["agent.yaml"]["baseline_delta"]
    assert [(e["case"], e["type"], e.get("target"), e["transition"]) for e in delta["changed"]] == [
        ("a", "must_call", "find", "newly_failing"),
        ("a", "must_not_call", "drop", "introduced"),
        ("a", "max_steps", None, "newly_inconclusive"),
        ("b", "must_call", "rank", "newly_passing"),
        ("b", "must_route_to", "hr", "turned_out_failing"),
        ("b", "must_call", "find", "removed"),
    ]
    assert run.gates() == {"agent::newly_failing": "failed"}
    assert "at most 0 may newly fail; newly failing: a must_call find" in " ".join(run.out.split())
    # Two assertions got better, three worse: the suite says so in its line, and so does the last one.
    assert any("+1 −3" in line for line in run.section()), run.out
    assert "worst change agent.yaml +1 −3" in run.lines[-2]
    # The one that was inconclusive is none of them.
    made.settings(gates={"newly_failing": 1})
    assert made.score(*base, run_id=new).gates() == {"agent::newly_failing": "passed"}
    partial = made.score(*base, "-k", "b", run_id=new)
    assert partial.gates() == {"agent::newly_failing": "not_evaluated"}


NAMES = ("first", "second", "third")


def test_cases_that_were_not_selected_are_marked_where_they_were_scored_earlier(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, *(case(name, must_call=["find"]) for name in NAMES))
    for name in NAMES:
        made.capture(name, Evidence(calls=FIND))
    made.score("-k", "first or second")
    # What was only captured has no score.
    assert [row["case_id"] for row in made.read("score.json")["cases"]] == ["first", "second"]
    assert made.read("score.json")["not_scored"] == ["third"]
    made.write_manifest(*(case(name, must_call=["rank"]) for name in NAMES))
    made.score("-k", "second or third")
    rows = made.read("score.json")["cases"]
    assert [(row["case_id"], row["outcome"], row.get("scored_earlier")) for row in rows] == [
        ("first", "passed", True),
        ("second", "failed", None),
        ("third", "failed", None),
    ]
    report = (made.folder().path / "report.md").read_text(encoding="utf-8")
    assert report.count("✓ passed (scored earlier)") == 2
    assert report.count("(scored earlier)") == 2


def test_a_case_that_cannot_be_scored_again_is_marked(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, *(case(name, must_call=["find"]) for name in NAMES))
    for name in NAMES:
        made.capture(name, Evidence(calls=FIND))
    made.score("-k", "first or second")
    other = (case(name, must_call=["find"]) | {"input": "another question"} for name in NAMES[1:])
    made.write_manifest(case("first", must_call=["find"]), *other)
    run = made.score()
    assert run.out.count("another input") >= 2
    rows = made.read("score.json")["cases"]
    assert [(row["case_id"], row["outcome"], row.get("scored_earlier")) for row in rows] == [
        ("first", "passed", None),
        ("second", "passed", True),
        ("third", "error", None),
    ]


def test_a_baseline_run_without_a_score_is_an_error(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, case("a", max_steps=3))
    made.capture("a", Evidence(steps=3))
    made.capture("a", Evidence(steps=3), "older")
    run = made.score("--mcpeval-baseline-run", f"runs/{AGENT}/older", "--mcpeval-report", "report")
    assert run.status == 1
    assert run.report()["verdict"] == "error"
    assert "score.json: cannot be read" in run.out


def test_gates_on_cases_and_on_missing_evidence(tmp_path: Path) -> None:
    made = four_cases(tmp_path)
    made.capture("broken", Evidence(calls=FIND))
    made.settings(files="agent.yaml", gates={"pass_rate": 0.75, "max_inconclusive": 0})
    run = made.score("--mcpeval-report", "report")
    assert run.gates() == {"agent::pass_rate": "failed", "agent::max_inconclusive": "failed"}
    out = " ".join(run.out.split())
    assert "2 of 4 cases passed (50 %), wanted at least 75 %; not passed: bad, open" in out
    assert "1 inconclusive assertion, at most 0 may be: open" in out
    made.settings(gates={"pass_rate": 0.5, "max_inconclusive": 1})
    assert set(made.score("--mcpeval-report", "report").gates().values()) == {"passed"}


def test_secrets_are_shown_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = {"url": "http://localhost:8901/", "auth": {"type": "bearer", "token_env": "AGENT_TOKEN"}}
    made = CapturedProject.at(
        tmp_path, case("a", final_response_contains="nothing like it", must_call=["find"]), access=access
    )
    made.capture(
        "a", Evidence(page="<p>your token is s3cr3t-t0ken</p>", calls=[call("other", key="s3cr3t-t0ken")])
    )
    monkeypatch.setenv("AGENT_TOKEN", "s3cr3t-t0ken")
    run = made.score(
        "--mcpeval-report", "report", "--html", "r.html", "--self-contained-html", "--junitxml", "j"
    )
    assert "${AGENT_TOKEN}" in run.out
    written = [
        tmp_path / "j",
        tmp_path / "r.html",
        *(tmp_path / "report").iterdir(),
        *made.folder().path.glob("**/*.*"),
    ]
    texts = [path.read_bytes() for path in written if path.is_file() and "trace" not in path.parts]
    assert b"s3cr3t-t0ken" not in b"".join([run.out.encode(), *texts])


def test_files_of_runs_among_data_files_are_left_alone(tmp_path: Path) -> None:
    made = four_cases(tmp_path)
    made.score_here()
    narrative = {"case_id": "ok", "summary": "x", "observations": []}
    made.project.write_json(f"runs/{AGENT}/{RUN_ID}/narratives/ok.json", narrative)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "runs").rename(tmp_path / "datasets" / "runs")
    run = made.project.run("datasets", "--collect-only", "-q")
    assert "no tests collected" in run.out
    assert "error" not in run.out


def test_two_manifests_of_one_name_are_refused(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, case("a", max_steps=1))
    other = json.loads((tmp_path / "agent.yaml").read_text())
    made.project.write_json("other.agent.yaml", other)
    run = made.project.run("--collect-only", columns=200)
    assert run.status != 0
    assert 'name: "people" is the name of the agent in' in run.out


def test_the_plan_has_a_directive_for_each_case(tmp_path: Path) -> None:
    cases = [case(f"c{number}", max_steps=1) for number in range(5)]
    ui = {
        "description": "panel",
        "exposes": ["tool_calls"],
        "reveal_actions": [{"action": "click", "selector": "x"}],
    }
    made = CapturedProject.at(
        tmp_path,
        *cases,
        access={"url": "http://localhost:8901/?s={run_id}-{case_id}"},
        observability={"ui_introspection": ui},
        interaction={"preconditions": [{"action": "fill", "selector": "#n", "value": "v"}]},
    )
    run = made.project.run("--collect-only", "-q", "--mcpeval-plan", "plan.json", "--mcpeval-pool-size", "2")
    assert run.status == 0, run.out + run.err
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert [one["case_id"] for one in plan["directives"]] == [f"c{number}" for number in range(5)]
    assert [one["pool_slot"] for one in plan["directives"]] == [0, 1, 0, 1, 0]
    first = plan["directives"][0]
    assert {one["run_id"] for one in plan["directives"]} == {plan["run_id"]}
    assert first["url"] == f"http://localhost:8901/?s={plan['run_id']}-c0"
    assert first["case_dir"] == str(tmp_path / "runs" / AGENT / plan["run_id"] / "c0")
    assert (
        first["after_submit_dom_snapshot_path"] == f"{first['case_dir']}/trace/dom/step-002-after_submit.html"
    )
    assert first["preconditions"] == [{"action": "fill", "selector": "#n", "value": "v"}]
    assert first["ui_introspection"]["reveal_actions"][0]["selector"] == "x"
    assert not (tmp_path / "runs").exists()
    chosen = made.project.run("--collect-only", "-q", "--mcpeval-plan", "plan.json", "-k", "c1")
    assert chosen.status == 0
    (only,) = json.loads((tmp_path / "plan.json").read_text())["directives"]
    assert (only["case_id"], only["pool_slot"]) == ("c1", 1)
    alone = made.project.run("--mcpeval-plan", "plan.json")
    assert alone.status == 4
    assert "--mcpeval-plan needs --collect-only" in alone.err


def test_options_of_agents_need_mcpeval_and_go_together(tmp_path: Path) -> None:
    made = four_cases(tmp_path)
    both = made.score("--mcpeval-capture-only")
    assert both.status == 4
    assert "--mcpeval-capture-only and --mcpeval-score-only exclude each other" in both.err
    plan = made.score("--collect-only", "--mcpeval-plan=plan.json")
    assert plan.status == 4
    assert "--mcpeval-plan and --mcpeval-score-only exclude each other" in plan.err
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize("option", ["--mcpeval-score-only", "--mcpeval-baseline-run"])
def test_of_each_agent_one_run_is_named(tmp_path: Path, option: str) -> None:
    made = CapturedProject.at(tmp_path, case("a", max_steps=1))
    made.capture("a", Evidence(steps=1))
    made.capture("a", Evidence(steps=1), "older")
    given = [f"{option}=runs/{AGENT}/{name}" for name in (RUN_ID, "older")]
    run = made.project.run(*given, columns=200)
    assert run.status == 4
    assert f"{option}: {tmp_path}/runs/{AGENT}/{RUN_ID} and " in run.err
    assert "are both runs of the agent 'people': name one" in run.err


def test_a_copied_run_is_scored_wherever_it_lies(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, case("a", max_steps=1))
    made.capture("a", Evidence(steps=1))
    made.score_here()
    copied = tmp_path / "downloads" / "nightly"
    copied.parent.mkdir()
    made.folder().path.rename(copied)
    written = {name: (copied / name).read_bytes() for name in ("score.json", "report.md", "a/score.json")}
    run = made.project.run("--mcpeval-score-only=downloads/nightly", CI="")
    assert run.status == 0, run.out
    assert {name: (copied / name).read_bytes() for name in written} == written
    # Before it is scored, what was captured says whose it is.
    for score in copied.rglob("score.json"):
        score.unlink()
    assert agent_of(copied) == "downloads"
    capture = read_capture(CaseFolder(copied / "a"))
    assert capture is not None
    write_capture(CaseFolder(copied / "a"), replace(capture, agent=AGENT))
    assert agent_of(copied) == AGENT


WITH_A_PATH = ("--mcpeval-browser", "--mcpeval-score-only", "--mcpeval-report")


@pytest.fixture
def beside(tmp_path: Path) -> tuple[CapturedProject, Path]:
    """A project, and a directory beside it."""
    made = CapturedProject.at(tmp_path / "project", case("a", max_steps=1))
    made.project.write("pytest.ini", "[pytest]\nmcpeval_inconclusive = fail\n")
    elsewhere = tmp_path / "elsewhere" / AGENT / "run"
    elsewhere.mkdir(parents=True)
    return made, elsewhere


@pytest.mark.parametrize("option", WITH_A_PATH)
def test_an_option_does_not_move_the_project(
    beside: tuple[CapturedProject, Path], tmp_path: Path, option: str
) -> None:
    made, elsewhere = beside
    apart = made.project.run(option, str(elsewhere))
    assert apart.status == 4
    assert f"write {option}={elsewhere}" in " ".join(apart.err.split())
    assert not (tmp_path / "runs").exists()


def test_options_with_their_values_do_not_move_the_project(beside: tuple[CapturedProject, Path]) -> None:
    made, elsewhere = beside
    options = [f"{option}={elsewhere}" for option in WITH_A_PATH]
    joined = made.project.run(*options, "--collect-only", "-q")
    assert joined.status == 0, joined.out + joined.err


def test_what_lies_in_the_project_may_stand_apart(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "nested").mkdir()
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "tests").mkdir()

    def moved(value: str, *paths: str) -> list[tuple[str, str]]:
        return list(values_that_move(["--o", value, "-q"], ["--o"], tmp_path, paths))

    assert moved("runs/a") == moved("runs/a", "tests") == moved("gone") == moved("--other") == []
    (tmp_path / "nested" / "pytest.ini").write_text("[pytest]\n")
    assert moved("nested") == [("--o", "nested")]
    assert moved("nested", "tests") == []
    assert moved(str(tmp_path.parent)) == [("--o", str(tmp_path.parent))]


# Before all other hooks: xdist may answer what a worker said before it died, and ends in an internal error.
KILLED = """
import os
import signal

import pytest


@pytest.hookimpl(tryfirst=True)
def {hook}:
    if os.environ.get("PYTEST_XDIST_WORKER") and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_that_died_before_its_first_case_spoils_nothing(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, *(case(name, max_steps=1) for name in "abc"))
    for name in "abc":
        made.capture(name, Evidence(steps=1))
    made.project.write("conftest.py", KILLED.format(hook="pytest_collection_finish(session)"))
    run = made.score("-n2", "--mcpeval-report", "report")
    assert (tmp_path / "killed").exists()
    assert (run.status, run.report()["verdict"]) == (0, "passed"), run.out


def test_cases_that_did_not_come_back_count_as_errors(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, *(case(name, max_steps=1) for name in "abc"))
    made.settings(gates={"pass_rate": 1})
    for name in "abc":
        made.capture(name, Evidence(steps=1))
    made.project.write("conftest.py", KILLED.format(hook="pytest_runtest_call(item)"))
    run = made.score("-n1", "--mcpeval-report", "report")
    assert run.status == 1
    assert run.report()["verdict"] == "error"
    assert run.report()["suites"]["agent.yaml"]["metrics"]["cases"]["error"] == 1
    assert any(re.match(r"✗ agent agent.yaml +2/3 pass rate 66\.7 %", line) for line in run.section()), (
        run.out
    )


@pytest.mark.parametrize(
    "written", [None, '{"mcpServers": {"a": {"comand": "x"}}}', "{", '{"mcpServers": {}}']
)
def test_agents_need_no_servers(tmp_path: Path, written: str | None) -> None:
    made = CapturedProject.at(
        tmp_path, case("ok", final_response_contains="Ada Lovelace", must_call=["find"])
    )
    made.capture("ok", Evidence(calls=FIND))
    if written is not None:
        (tmp_path / ".mcp.json").write_text(written, encoding="utf-8")
    run = made.score()
    assert run.line_with("1 passed"), run.out


FAILING = """
import pytest


@pytest.fixture
def place():
    yield
    raise RuntimeError("cannot be tidied up")
"""


def test_the_reports_name_what_failed_besides_the_cases(tmp_path: Path) -> None:
    made = CapturedProject.at(tmp_path, case("ok", final_response_contains="Ada Lovelace"))
    made.capture("ok", Evidence())
    made.project.write("conftest.py", FAILING + "\n\n@pytest.fixture(autouse=True)\ndef _place(place): ...\n")
    made.project.write("test_other.py", "def test_other():\n    assert False\n")
    run = made.score("--mcpeval-report", "report")
    assert run.status == 1
    other = "test_other.py::test_other"
    others = f"{other}, {other} (teardown)"
    agent = (made.folder().path / "report.md").read_text().replace("\\", "")
    assert "**1 of 1 cases passed**" in agent
    torn_down = "agent.yaml::ok (tear-down failed: conftest.py:8: RuntimeError)"
    assert f"The session failed besides these verdicts: {torn_down}, {others}." in agent
    whole = (tmp_path / "report" / "report.md").read_text().replace("\\", "")
    assert f"2 other tests failed: {others}" in whole
    assert "tear-down failed: conftest.py:8: RuntimeError" in whole


@pytest.mark.parametrize("word", ["Ada Lovelace", "${AGENT_WORD}", "somebody else"])
def test_assertions_take_variables_whether_artifacts_have_their_values_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("AGENT_WORD", "Ada Lovelace")
    wanted = "${env.AGENT_WORD}"
    calls = [{"tool_name": "find", "args": {"who": wanted}}]
    asserted = case("ok", final_response_contains=wanted, must_call_with_args=calls)
    made = CapturedProject.at(tmp_path, asserted)
    made.capture("ok", Evidence(page=f"<p>It is {word}.</p>", calls=[call("find", who=word)]))
    run = made.score("--mcpeval-report=report")
    assert outcomes(run) == {"ok": "failed" if word == "somebody else" else "passed"}
    assert "Ada Lovelace" not in run.out + (tmp_path / "report" / "report.json").read_text("utf-8")
