"""Baselines: compared with, blessed on purpose, and refused when the run is not fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import Project, Run, case, failing

REPORTS = ("--mcpeval-report=report", "--junitxml=junit.xml", "-p", "no:html")
BLESS = ("--mcpeval-bless", *REPORTS, "datasets")
BASELINE = "datasets/suite.baseline.json"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A suite of three cases, one of them known to fail, held to a baseline."""
    project = Project.at(tmp_path)
    write(project, case("b-ok"), failing("c-known"), case("a-ok"))
    return project


def write(project: Project, *cases: dict[str, object], **settings: object) -> None:
    """Write the suite."""
    settings = {"gates": {"no_new_failures": True}, "baseline": "suite.baseline.json", **settings}
    project.suite("suite.yaml", *cases, **settings)


def message(run: Run) -> str:
    """The message of the last gate."""
    return str(run.report()["gates"][-1]["message"])


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])
def test_blessing_writes_the_outcome_of_every_case(project: Project, mode: Sequence[str]) -> None:
    run = project.run(*mode, *BLESS)
    assert run.status == 0, run.out
    assert run.line_with("blessed datasets/suite.baseline.json (3 cases)")
    data = (project.path / BASELINE).read_bytes()
    assert b"\r" not in data
    assert data.endswith(b"}\n")
    found = json.loads(data)
    assert list(found) == ["kind", "of", "version", "suite", "digest", "cases"]
    assert found["cases"] == {
        "a-ok": {"outcome": "passed"},
        "b-ok": {"outcome": "passed"},
        "c-known": {"outcome": "failed"},
    }
    assert list(found["cases"]) == sorted(found["cases"])
    assert not [path for path in (project.path / "datasets").iterdir() if path.name.startswith(".")]
    after = project.run(*mode, *REPORTS, "datasets")
    assert after.status == 0
    assert after.gates() == {"suite::no_new_failures": "passed"}
    # The baseline lies among the data files, and is none.
    assert after.report()["suites"].keys() == {"datasets/suite.yaml"}
    again = project.run(*mode, *BLESS)
    assert again.status == 0
    assert (project.path / BASELINE).read_bytes() == data


def test_no_baseline_yet_names_the_command_that_writes_it(project: Project) -> None:
    run = project.run(*REPORTS, "datasets")
    assert run.status == 1
    assert run.gates() == {"suite::no_new_failures": "error"}
    command = "pytest --mcpeval --mcpeval-bless datasets/suite.yaml"
    assert message(run) == f"{BASELINE}: no baseline yet: write it with {command}"
    blessed = project.run(*command.split()[2:])
    assert blessed.status == 0
    assert (project.path / BASELINE).is_file()


def test_newly_failing_and_newly_passing_cases_are_named(project: Project) -> None:
    assert project.run(*BLESS).status == 0
    # The server changes, not the suite: `echo` says goodbye to everyone.
    server = (project.path / "server.py").read_text(encoding="utf-8")
    project.write(
        "server.py", server.replace("    return text\n", '    return "goodbye" if text else ""\n', 1)
    )
    run = project.run(*REPORTS, "datasets")
    assert (run.status, run.gates()) == (0, {"suite::no_new_failures": "passed"})
    assert message(run) == "0 newly failing against the baseline (newly passing: c-known)"
    project.write("server.py", server.replace("    return text\n", '    return ""\n', 1))
    run = project.run(*REPORTS, "datasets")
    assert (run.status, run.gates()) == (1, {"suite::no_new_failures": "failed"})
    assert message(run) == "2 newly failing against the baseline: b-ok, a-ok"
    assert "3 tolerated" in run.last_line
    assert "1 failed" in run.last_line


@pytest.mark.parametrize("change", ["new", "removed", "edited"])
def test_an_edited_suite_is_an_error_not_a_comparison(project: Project, change: str) -> None:
    assert project.run(*BLESS).status == 0
    cases = {
        "new": [case("b-ok"), failing("c-known"), case("a-ok"), case("d-new")],
        "removed": [case("b-ok"), case("a-ok")],
        "edited": [case("b-ok", text="hi"), failing("c-known"), case("a-ok")],
    }[change]
    write(project, *cases)
    run = project.run(*REPORTS, "datasets")
    assert run.status == 1
    assert run.gates() == {"suite::no_new_failures": "error"}
    assert run.report()["verdict"] == "error"
    assert message(run).startswith(f"{BASELINE}:6: was made from another version of datasets/suite.yaml")
    assert project.run(*BLESS).status == 0
    assert project.run(*REPORTS, "datasets").status == 0


def test_another_threshold_is_no_other_suite(project: Project) -> None:
    assert project.run(*BLESS).status == 0
    gates = {"no_new_failures": True, "pass_rate": 0.6}
    write(project, case("b-ok"), failing("c-known"), case("a-ok"), gates=gates)
    run = project.run(*REPORTS, "datasets")
    assert run.gates() == {"suite::pass_rate": "passed", "suite::no_new_failures": "passed"}


def test_a_broken_baseline_is_named_with_its_line_and_spares_the_other_gates(project: Project) -> None:
    project.write(BASELINE, '{"kind": "baseline",\n oops}\n')
    write(project, case("a-ok"), gates={"no_new_failures": True, "pass_rate": 0.6})
    run = project.run(*REPORTS, "datasets/suite.yaml")
    assert run.status == 1
    assert run.gates() == {"suite::pass_rate": "passed", "suite::no_new_failures": "error"}
    assert message(run).startswith(f"{BASELINE}:2")


def refused(run: Run, reason: str, status: int = 1) -> None:
    """The blessing was refused, said so everywhere, and failed the run."""
    assert run.status == status, run.out
    assert run.gates()["suite::bless"] == "failed"
    assert reason in message(run)
    assert message(run).startswith("refused to write suite.baseline.json: ")
    assert run.line_with("FAILED datasets/suite.yaml::gates::bless")
    assert run.junit()["bless"].find("failure") is not None
    assert run.report()["verdict"] in ("failed", "error")


@pytest.fixture
def blessed(project: Project) -> Project:
    """The project, its baseline replaced by a sentinel that must stay."""
    project.write(BASELINE, json.dumps({"kind": "baseline", "sentinel": True}))
    return project


def untouched(project: Project) -> bool:
    """Whether the sentinel is still there."""
    return "sentinel" in (project.path / BASELINE).read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_filtered_run_is_refused(blessed: Project, mode: Sequence[str]) -> None:
    refused(blessed.run(*mode, *BLESS, "-k", "a-ok"), "the run is filtered")
    assert untouched(blessed)


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_red_run_is_refused(blessed: Project, mode: Sequence[str]) -> None:
    blessed.suite("other.yaml", case("o-ok"), failing("o-bad"))
    refused(blessed.run(*mode, *BLESS), "the run is red")
    assert untouched(blessed)


def test_a_run_with_a_failed_gate_is_refused(blessed: Project) -> None:
    cases = [case("b-ok"), failing("c-known"), case("a-ok")]
    write(blessed, *cases, gates={"no_new_failures": True, "pass_rate": 0.9})
    refused(blessed.run(*BLESS), "the run is red: datasets/suite.yaml::gates::pass_rate")
    assert untouched(blessed)


def test_a_stopped_run_is_refused(blessed: Project) -> None:
    blessed.suite("a_first.yaml", failing("o-bad"))
    refused(blessed.run(*BLESS, "-x"), "the run was stopped early")
    assert untouched(blessed)


def test_a_run_with_a_case_in_error_is_refused(blessed: Project) -> None:
    write(blessed, case("b-ok"), case("a-ok", fixtures=["missing"]))
    refused(blessed.run(*BLESS), "the run is incomplete")
    assert untouched(blessed)


def test_a_run_with_a_dead_worker_is_refused(blessed: Project) -> None:
    write(blessed, case("b-ok"), case("a-ok", "crash"))
    refused(blessed.run("-n2", *BLESS), "the run is incomplete")
    assert untouched(blessed)


def test_two_suites_that_name_one_file_are_refused(blessed: Project) -> None:
    settings = {"gates": {"no_new_failures": True}, "baseline": "suite.baseline.json"}
    blessed.suite("other.yaml", case("o-ok"), **settings)
    refused(blessed.run(*BLESS), "name the same file datasets/suite.baseline.json")
    assert untouched(blessed)


def test_nothing_to_bless_is_a_failure(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("plain.yaml", case("a"))
    run = project.run(*BLESS)
    assert run.status == 1
    assert message(run).startswith("nothing to bless: no suite of this run names a baseline.")
    assert run.line_with("FAILED mcpeval::gates::bless - nothing to bless")


@pytest.mark.parametrize(
    "marks", [{"skipif_env": {"name": "SKIP_IT", "reason": "not here"}}, {"xfail": "known"}]
)
def test_a_run_with_a_case_set_aside_is_refused(blessed: Project, marks: dict[str, object]) -> None:
    write(blessed, case("a-ok"), failing("b-bad", marks=marks))
    reason = "cases of datasets/suite.yaml (b-bad) were set aside: take the marks off or remove the cases"
    run = blessed.run(*BLESS, SKIP_IT="1")
    assert run.status == 1
    assert reason in message(run)
    assert untouched(blessed)


def test_a_suite_without_a_baseline_may_set_cases_aside(blessed: Project) -> None:
    blessed.suite("other.yaml", failing("o-bad", marks={"xfail": "known"}))
    assert blessed.run(*BLESS).status == 0
    assert not untouched(blessed)


def test_a_case_the_baseline_has_not_may_not_fail(project: Project) -> None:
    project.run(*BLESS)
    committed = json.loads((project.path / BASELINE).read_text())
    del committed["cases"]["c-known"]
    project.write_json(BASELINE, committed)
    run = project.run(*REPORTS, "datasets")
    assert run.gates() == {"suite::no_new_failures": "failed"}
    assert message(run) == "1 newly failing against the baseline: c-known"


OTHER_FILES = {
    "is no baseline": ("tools.json", '{"version": "v1", "tools": []}'),
    "cannot be read as a baseline": ("notes.txt", "<<<<<<< ours\n"),
    "is a baseline of a security suite": ("other.json", '{"kind": "baseline", "of": "security"}'),
}


@pytest.mark.parametrize("reason", OTHER_FILES)
def test_a_file_that_is_no_such_baseline_is_never_overwritten(project: Project, reason: str) -> None:
    name, text = OTHER_FILES[reason]
    path = project.write(f"datasets/{name}", text)
    write(project, case("a-ok"), gates={}, baseline=name)
    run = project.run(*BLESS, "-p", "no:cacheprovider")
    assert run.status == 1
    assert f"datasets/{name} exists and {reason}, so it would be lost" in message(run)
    assert path.read_text() == text


def test_a_run_without_any_suite_says_so(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("test_plain.py", "def test_plain():\n    pass\n")
    run = project.run("--mcpeval-bless", *REPORTS)
    assert run.status == 1
    assert message(run).startswith("nothing to bless: no suite was run.")
