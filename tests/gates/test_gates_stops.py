"""Runs that are cut short, on purpose or by a crash: which gates are judged, and what they say."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import Project, Run, case, failing

SERIAL_AND_WORKERS = pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])
REPORTS = ("--mcpeval-report=report", "--junitxml=junit.xml", "-p", "no:html")
Mode = Sequence[str]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """One suite with a gate that one of three cases holds back, and one that passes."""
    project = Project.at(tmp_path)
    cases = [case("a-1", tags=["chosen"]), case("a-2"), failing("a-3")]
    project.suite("gated.yaml", *cases, gates={"pass_rate": 0.5})
    return project


def message(run: Run) -> str:
    """The message of the only gate."""
    (gate,) = run.report()["gates"]
    return str(gate["message"])


@pytest.mark.parametrize(
    ("mode", "chosen"),
    [
        (("-n0",), ("-m", "chosen")),
        ((), ("datasets/gated.yaml::a-1",)),
        (("-n2",), ("--mcpeval-tag=chosen",)),
    ],
)
def test_a_filtered_run_evaluates_no_gate(project: Project, mode: Mode, chosen: Mode) -> None:
    run = project.run(*mode, *REPORTS, *chosen, *(["datasets"] if "::" not in chosen[0] else []))
    assert run.status == 0
    assert run.gates() == {"gated::pass_rate": "not_evaluated"}
    assert run.report()["verdict"] == "not_evaluated"
    assert message(run) == "not evaluated: 1 of 3 cases selected"
    assert run.line_with("NOT EVALUATED datasets/gated.yaml: pass_rate (1 of 3 cases selected)")
    assert "1 passed, 1 skipped" in run.last_line
    (skipped,) = run.junit()["pass_rate"].findall("skipped")
    assert skipped.attrib["message"] == "not evaluated: 1 of 3 cases selected"


EVIDENCE = '✗ contains: missing "goodbye"\ncalled tool echo on server tiny'

SPLITTING = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.name == "a-3"]
"""

# What the cache plugin of pytest has written after a run.
LAST_FAILED = ".pytest_cache/v/cache/lastfailed"


@pytest.mark.parametrize(
    "arguments",
    [
        ("-k", "a-3"),
        ("-m", "chosen", "-q", "-n2"),
        ("datasets/gated.yaml::a-3", "--tb=short"),
        ("--mcpeval-tag=chosen", "--tb=line"),
        ("--lf",),
        ("-p", "splitting", "--html=report.html", "--self-contained-html"),
    ],
    ids=" ".join,
)
def test_a_partial_run_decides_on_no_case(tmp_path: Path, arguments: Mode) -> None:
    project = Project.at(tmp_path)
    cases = [case("a-1"), case("a-2"), failing("a-3", tags=["chosen"])]
    project.suite("gated.yaml", *cases, gates={"pass_rate": 0.5})
    project.write("splitting.py", SPLITTING)
    project.write_json(LAST_FAILED, {"datasets/gated.yaml::a-3": True})
    reports = ("--mcpeval-report=report", "--junitxml=junit.xml")
    run = project.run(*reports, *arguments, CI="true")
    assert run.status == 1
    assert run.out.index(EVIDENCE) > run.out.index("= WRONG, AND NO GATE DECIDED =")
    assert re.search("1 skipped, (2 deselected, )?1 wrong in", run.last_line), run.out
    assert run.lines[-2] == (
        "mcpeval: not evaluated: gates were not evaluated: 1 of 3 cases selected, 1 wrong case on which no "
        "gate decided (exit status 1 by the ini key mcpeval_not_evaluated)"
    )
    assert run.gates() == {"gated::pass_rate": "not_evaluated"}
    found = run.report()["suites"]["datasets/gated.yaml"]["cases"]
    assert [(one["id"], one["outcome"]) for one in found] == [("a-3", "wrong")]
    assert any(EVIDENCE in one.attrib.get("value", "") for one in run.junit()["a-3"].iter())
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.glob("report*/**/*") if path.is_file()]
    # report.html has styles and a script for every outcome.
    shown = [re.sub(r"(?s)<(style|script).*?</\1>", "", text) for text in [run.out, *texts]]
    assert not [text for text in shown if "tolerated" in text.lower()]
    if "--html=report.html" in arguments:
        assert "called tool echo on server tiny" in dict(run.html_rows())["datasets/gated.yaml::a-3"]["log"]


def test_a_stopped_run_decides_on_whole_suites_only(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef broken():\n    1 / 0\n")
    cases = [failing("wrong"), case("broken", fixtures=["broken"]), case("never")]
    project.suite("gated.yaml", *cases, gates={"pass_rate": 0.1})
    project.suite("1.yaml", failing("whole"), case("right"), gates={"pass_rate": 0.5})
    run = project.run("-x", *REPORTS, "-o", "mcpeval_not_evaluated=warn", CI="true")
    assert run.gates() == {"1::pass_rate": "passed", "gated::pass_rate": "not_evaluated"}
    assert run.out.count(EVIDENCE) == 1
    assert run.lines[-3] == (
        "mcpeval: error: 1 case in error, gates were not evaluated: stopped after 2 of 3 cases, "
        "1 wrong case on which no gate decided"
    )
    # pytest's own counts, of a run that stopped.
    assert re.search(r"\b1 wrong\b", run.last_line)
    assert re.search(r"\b1 tolerated\b", run.last_line)
    outcomes = {key: found["cases"][0]["outcome"] for key, found in run.report()["suites"].items()}
    assert outcomes == {"datasets/1.yaml": "tolerated", "datasets/gated.yaml": "wrong"}


@pytest.mark.parametrize(("value", "status"), [("warn", 0), ("fail", 1), ("no", 4)])
def test_what_a_run_without_evaluated_gates_does_can_be_said(
    project: Project, value: str, status: int
) -> None:
    run = project.run("-k", "a-1", "-o", f"mcpeval_not_evaluated={value}", CI="true" if status == 0 else "")
    assert run.status == status
    if status == 4:
        assert "ini key mcpeval_not_evaluated: expected fail or warn, found 'no'" in run.err


def test_a_wrong_case_that_is_blessed_is_shown(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    gates = {"no_new_failures": True, "p95_latency_ms": 60_000}
    project.suite("s.yaml", case("ok"), failing("bad"), gates=gates, baseline="s.baseline.json")
    run = project.run("--mcpeval-bless", *REPORTS, CI="true")
    assert run.status == 0
    assert run.line_with("blessed datasets/s.baseline.json (2 cases)")
    assert EVIDENCE in run.out
    assert run.lines[-2] == "mcpeval: not evaluated: 1 wrong case on which no gate decided"
    assert run.gates() == {"s::p95_latency_ms": "passed"}
    later = project.run("-q", CI="true")
    assert later.status == 0
    assert later.lines[-2] == "mcpeval: passed: 2 gates passed, 1 case passed, 1 case tolerated"
    assert re.match("3 passed, 1 tolerated in ", later.last_line)


def test_last_failed_evaluates_no_gate_of_files_that_it_leaves_out(project: Project) -> None:
    project.suite("plain.yaml", case("p-1"))
    project.write_json(LAST_FAILED, {"datasets/plain.yaml::p-1": True})
    run = project.run(*REPORTS, "--lf", "datasets", CI="true")
    assert run.status == 1
    assert run.gates() == {"gated::pass_rate": "not_evaluated"}
    assert message(run) == "not evaluated: 0 of 3 cases selected"
    assert set(run.report()["suites"]) == {"datasets/gated.yaml", "datasets/plain.yaml"}


@SERIAL_AND_WORKERS
def test_stopping_at_a_failure_evaluates_complete_suites_only(tmp_path: Path, mode: Mode) -> None:
    project = Project.at(tmp_path)
    project.suite("1.yaml", case("one"), gates={"pass_rate": 1.0})
    # The failure has to come after the first suite in every mode: it takes its time.
    project.suite(
        "2.yaml", case("slow", "sleep", {"type": "contains", "value": "no"}, input={"seconds": 0.5})
    )
    project.suite(
        "3.yaml",
        *(case(f"three-{n}", "sleep", input={"seconds": 0.5}) for n in range(9)),
        gates={"pass_rate": 1.0},
    )
    run = project.run(*mode, *REPORTS, "-x", "datasets")
    assert run.gates() == {"1::pass_rate": "passed", "3::pass_rate": "not_evaluated"}
    assert run.report()["verdict"] == "failed"
    assert run.status != 0
    gate = run.report()["gates"][1]
    assert gate["message"].startswith("not evaluated: stopped after ")
    assert gate["message"].endswith(" of 9 cases")


@SERIAL_AND_WORKERS
def test_control_c_in_the_middle_of_a_call(tmp_path: Path, mode: Mode) -> None:
    # A process of its own: a thread that sleeps cannot be told to stop.
    project = Project.at(tmp_path, transport="stdio")
    project.suite("1.yaml", case("quick"))
    project.suite(
        "2.yaml", *(case(f"slow-{n}", "sleep", input={"seconds": 60}) for n in (1, 2)), gates={"pass_rate": 1}
    )
    run = _interrupted(project, *mode, *REPORTS, "datasets")
    assert run.status == 2
    assert run.gates() == {"2::pass_rate": "not_evaluated"}
    assert run.report()["verdict"] == "not_evaluated"
    assert run.line_with("NOT EVALUATED datasets/2.yaml: pass_rate (stopped after 0 of 2 cases)")
    assert message(run) == "not evaluated: stopped after 0 of 2 cases"
    assert "INTERNALERROR" not in run.out + run.err


SLOW_SETUP = """
import time
import pytest

@pytest.fixture(autouse=True)
def slow():
    open("asleep", "w").close()
    time.sleep(60)
"""


@SERIAL_AND_WORKERS
def test_control_c_before_anything_was_reported(tmp_path: Path, mode: Mode) -> None:
    project = Project.at(tmp_path)
    project.write("conftest.py", SLOW_SETUP)
    project.suite("1.yaml", case("one"), case("two"), gates={"pass_rate": 1})
    run = _interrupted(project, *mode, *REPORTS, "datasets")
    assert run.status == 2
    assert run.gates() == {"1::pass_rate": "not_evaluated"}
    assert message(run) == "not evaluated: stopped after 0 of 2 cases"


INTERRUPTING = """
import pytest

@pytest.fixture
def interrupting():
    raise KeyboardInterrupt("the disk is needed elsewhere")
"""


@SERIAL_AND_WORKERS
def test_a_fixture_that_interrupts_the_run(tmp_path: Path, mode: Mode) -> None:
    project = Project.at(tmp_path)
    project.write("conftest.py", INTERRUPTING)
    cases = [case(f"c{n}", fixtures=["interrupting"]) for n in range(4)]
    project.suite("1.yaml", *cases, gates={"pass_rate": 1})
    run = project.run(*mode, *REPORTS, "datasets")
    assert run.status == 2
    assert run.gates() == {"1::pass_rate": "not_evaluated"}
    assert message(run) == "not evaluated: stopped after 0 of 4 cases"
    assert "???" not in run.report()["reason"]


def _interrupted(project: Project, *arguments: str) -> Run:
    """A run that gets SIGINT once the tool `sleep` has begun."""
    process = subprocess.Popen(
        project.command(*arguments),
        cwd=project.path,
        env=project.environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (project.path / "asleep").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    # As a terminal does it: to the whole group, workers included.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return Run(project.path, process.returncode, out, err)


@pytest.mark.parametrize("restart", [(), ("--max-worker-restart=0",)], ids=["restart", "no restart"])
def test_a_worker_that_dies_fails_the_gate_that_names_the_case(tmp_path: Path, restart: Mode) -> None:
    project = Project.at(tmp_path)
    cases = [*(case(f"ok-{n}") for n in range(4)), case("deadly", "crash")]
    project.suite("gated.yaml", *cases, gates={"pass_rate": 0.1})
    run = project.run("-n2", *restart, *REPORTS, "datasets")
    assert run.status != 0
    assert run.gates() == {"gated::pass_rate": "failed"}
    assert "missing: " in message(run)
    assert "deadly" in message(run)
    suite = run.report()["suites"]["datasets/gated.yaml"]
    assert "deadly" in suite["missing"]
    assert suite["measured"] == suite["expected"] - len(suite["missing"])
    assert run.report()["verdict"] == "error"
    assert run.line_with("FAILED datasets/gated.yaml::gates::pass_rate")
    assert run.junit()["pass_rate"].find("failure") is not None


def test_no_worker_that_lives_long_enough_to_run_anything(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("gated.yaml", case("one"), case("two"), gates={"pass_rate": 0.1})
    project.write(
        "conftest.py",
        "import os\n\ndef pytest_runtest_setup(item):\n    os.kill(os.getpid(), 9)\n",
    )
    run = project.run("-n2", *REPORTS, "datasets")
    assert run.status != 0
    assert run.gates() == {"gated::pass_rate": "failed"}
    assert message(run).startswith("2 of 2 cases missing: one, two")
    assert run.report()["verdict"] == "error"


def test_a_server_that_does_not_start_fails_the_gate(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write_json(".mcp.json", {"mcpServers": {"tiny": {"command": "no-such-command"}}})
    project.suite("gated.yaml", case("one"), case("two"), gates={"pass_rate": 0.1})
    run = project.run(*REPORTS, "datasets")
    assert run.status == 1
    assert message(run).startswith("2 of 2 cases in error: one, two")
    assert run.report()["verdict"] == "error"
    assert "1 error, 1 not asked" in run.last_line


def test_a_file_that_cannot_be_collected_is_no_verdict_on_quality(project: Project) -> None:
    project.write("datasets/bad.yaml", "tests: [\n")
    run = project.run(*REPORTS, "datasets")
    assert run.status == 2
    assert run.report()["verdict"] == "error"
    assert "1 file not collected: datasets/bad.yaml" in run.report()["reason"]
    assert run.gates() == {"gated::pass_rate": "not_evaluated"}


OTHERS = """
import os
import pytest


@pytest.fixture
def untidy():
    yield
    raise RuntimeError("not tidied up")


def test_wrong():
    assert 0


def test_untidy(untidy):
    pass


def test_crash():
    os._exit(9)
"""


def test_the_report_names_the_other_tests_and_files_that_made_a_run_red(project: Project) -> None:
    project.write("test_others.py", OTHERS)
    project.write("test_nothing.py", "import no_such_module")
    files = ("datasets", "test_others.py", "test_nothing.py")
    run = project.run("-n2", *REPORTS, "--continue-on-collection-errors", *files)
    others = "test_others.py::test_untidy (teardown), test_others.py::test_wrong"
    reason = (
        "1 file not collected: test_nothing.py, a worker died in test_others.py::test_crash, "
        f"2 other tests failed: {others}"
    )
    assert run.report()["reason"] == reason
    assert f"mcpeval: error: {reason}" in run.out
    report = (project.path / "report" / "report.md").read_text().replace("\\", "")
    assert report.startswith(f"# Evaluation report: error\n\n{reason}\n")


@pytest.mark.parametrize("option", ["--collect-only", "--fixtures", "--fixtures-per-test", "--cache-show"])
def test_nothing_is_judged_when_no_case_runs(project: Project, option: str) -> None:
    run = project.run(option, "-q", "--mcpeval-report=report", "datasets", CI="true")
    assert run.status == 0
    assert "gates" not in run.out
    assert "mcpeval: " not in run.out
    assert not list((project.path / "report").iterdir())


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan"])
def test_nothing_can_be_blessed_when_no_case_runs(project: Project, option: str) -> None:
    run = project.run(option, "--mcpeval-bless", "datasets")
    assert run.status == 4
    assert f"--mcpeval-bless has no effect with {option}: no case runs, so nothing is measured" in run.err


FAILING_SESSION = """
import pytest

def pytest_sessionfinish(session):
    {}
"""


@pytest.mark.parametrize("mode", [("-n0",), ("-n2",)], ids=["serial", "n2"])
def test_a_session_that_something_else_fails_has_not_passed(tmp_path: Path, mode: Mode) -> None:
    project = Project.at(tmp_path)
    project.suite("good.yaml", case("a-1"))
    project.write("conftest.py", FAILING_SESSION.format("session.exitstatus = 3"))
    run = project.run(*mode, "--mcpeval-report=report", "--html=report.html")
    assert run.status == 3
    words = "exit status 3, which a conftest.py, a plugin or pytest itself gave the session, 1 case passed"
    assert run.line_with("mcpeval: ") == f"mcpeval: error: {words}"
    assert (run.report()["verdict"], run.report()["reason"]) == ("error", words)
    assert "exit status 3" in (project.path / "report.html").read_text(encoding="utf-8")


def test_a_session_whose_end_raises_has_not_passed(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("good.yaml", case("a-1"))
    project.write("conftest.py", FAILING_SESSION.format('pytest.exit("no more licences", returncode=7)'))
    run = project.run("-n0", "--mcpeval-report=report")
    assert (run.status, run.report()["verdict"]) == (7, "error")
    assert "exit status 7" in run.report()["reason"]


def test_an_exit_status_that_a_project_gives_a_red_session_stays(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("bad.yaml", failing("a-1"))
    project.write("conftest.py", FAILING_SESSION.format("session.exitstatus = 0"))
    run = project.run("-n0", "--mcpeval-report=report")
    assert (run.status, run.report()["verdict"]) == (0, "failed")
