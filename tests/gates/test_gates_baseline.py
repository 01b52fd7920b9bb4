"""Baselines: compared with, blessed on purpose, and refused when the run is not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from pytest_mcpeval import Sample, SuiteResult
from pytest_mcpeval.core.baseline import write_atomically, write_baseline
from pytest_mcpeval.core.bless import write_baselines
from pytest_mcpeval.core.gate import Completeness
from pytest_mcpeval.core.judging_input import SessionState, SuiteRun
from pytest_mcpeval.core.sample_store import selection_of
from pytest_mcpeval.kinds.retrieval.schema import RetrievalSettings
from pytest_mcpeval.kinds.scenario.schema import ScenarioSettings
from pytest_mcpeval.kinds.security.schema import SecuritySettings
from pytest_mcpeval.kinds.session.schema import SessionSettings
from pytest_mcpeval.loading import load
from tests.runtimes import runtime_at
from tests.support import SERVER, Case, Project, Run, case, failing

REPORTS = ("--mcpeval-report=report", "--junitxml=junit.xml", "-p", "no:html")
BLESS = ("--mcpeval-bless", *REPORTS, "datasets")
BASELINE = "datasets/suite.baseline.json"
CASES = [case("b-ok"), failing("c-known"), case("a-ok")]


def write(project: Project, *cases: Case, name: str = "suite", **settings: object) -> None:
    """Write a suite that is held to a baseline."""
    given = {"gates": {"no_new_failures": True}, "baseline": f"{name}.baseline.json", "server": "tiny"}
    project.suite(f"{name}.yaml", *cases, **{**given, **settings})


def message(run: Run) -> str:
    """The message of the last gate."""
    return str(run.report()["gates"][-1]["message"])


@dataclass(frozen=True)
class Blessed:
    """A project with several suites of the same three cases, and the run that blessed them."""

    project: Project
    run: Run

    def copy(self, path: Path) -> Project:
        """The same project elsewhere."""
        return Project(shutil.copytree(self.project.path, path))


SAME_CASES = ("suite", "new", "removed", "edited", "threshold", "lacking", "renamed")
OF_OTHER_SERVERS = ("friendly", "silent")


@pytest.fixture(scope="module")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> Blessed:
    project = Project.at(tmp_path_factory.mktemp("blessed") / "project")
    servers = {"tiny": "server", **{name: name for name in OF_OTHER_SERVERS}}
    modules = {name: {"module": f"{module}:server"} for name, module in servers.items()}
    project.write_json(".mcp.json", {"mcpServers": modules})
    for name in SAME_CASES:
        write(project, *CASES, name=name)
    for name in OF_OTHER_SERVERS:
        project.write(f"{name}.py", SERVER)
        write(project, *CASES, name=name, server=name)
    aside = {"marks": {"xfail": "known"}}
    project.suite("no_baseline.yaml", failing("o-bad", **aside), server="tiny")
    # Warnings are errors here, to show that ours raises none.
    run = project.run("-W", "error", "-p", "no:asyncio", *BLESS)
    assert run.status == 0, run.out
    return Blessed(project, run)


def test_blessing_writes_the_outcome_of_every_case(blessed: Blessed) -> None:
    assert blessed.run.line_with(f"blessed {BASELINE} (3 cases)")
    # Cases and gates pass; one case of each suite is wrong.
    assert blessed.run.last_line.startswith("18 passed, 1 xfailed, 9 wrong in")
    data = (blessed.project.path / BASELINE).read_bytes()
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
    written = (blessed.project.path / "datasets").iterdir()
    assert not [path for path in written if path.name.startswith(".")]


def test_a_suite_without_a_baseline_may_set_cases_aside(blessed: Blessed) -> None:
    cases = blessed.run.report()["suites"]["datasets/no_baseline.yaml"]["cases"]
    assert [found["outcome"] for found in cases] == ["xfailed"]
    assert (blessed.project.path / BASELINE).is_file()


def test_workers_bless_the_same_bytes(blessed: Blessed, tmp_path: Path) -> None:
    project = blessed.copy(tmp_path / "project")
    data = (project.path / BASELINE).read_bytes()
    (project.path / BASELINE).unlink()
    suite = "datasets/suite.yaml"
    run = project.run("-n2", "--mcpeval-bless", *REPORTS, suite, PYTHONHASHSEED="1")
    assert run.status == 0
    assert run.line_with(f"blessed {BASELINE} (3 cases)")
    assert (project.path / BASELINE).read_bytes() == data


@dataclass(frozen=True)
class Compared:
    """A run after suites, servers and baselines have changed."""

    project: Project
    run: Run

    def verdict(self, gate: str) -> str:
        """The verdict of ``suite::gate``."""
        return self.run.gates()[gate]

    def message(self, suite: str, gate: str = "no_new_failures") -> str:
        """The message of a gate."""
        (found,) = (
            found["message"]
            for found in self.run.report()["gates"]
            if (found["suite"], found["name"]) == (f"datasets/{suite}.yaml", gate)
        )
        return str(found)

    def outcomes(self, suite: str) -> list[str]:
        """The outcomes of the cases of a suite."""
        cases = self.run.report()["suites"][f"datasets/{suite}.yaml"]["cases"]
        return [found["outcome"] for found in cases]


@pytest.fixture(scope="module")
def compared(blessed: Blessed, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    project = blessed.copy(tmp_path_factory.mktemp("compared") / "project")
    write(project, *CASES, case("d-new"), name="new")
    write(project, case("b-ok"), case("a-ok"), name="removed")
    write(project, case("b-ok", text="hi"), failing("c-known"), case("a-ok"), name="edited")
    gates = {"no_new_failures": True, "pass_rate": 0.6}
    write(project, *CASES, name="threshold", gates=gates)
    baselines = project.path / "datasets"
    lacking = json.loads((baselines / "lacking.baseline.json").read_text())
    del lacking["cases"]["c-known"]
    project.write_json("datasets/lacking.baseline.json", lacking)
    renamed = (baselines / "renamed.baseline.json").read_text()
    project.write("datasets/renamed.baseline.json", renamed.replace('"a-ok"', '"aa-ok"'))
    # Not below datasets/, where a file that cannot be read is an error by itself.
    project.write("broken.baseline.json", '{"kind": "baseline",\n oops}\n')
    write(project, case("a-ok"), name="broken", gates=gates, baseline="../broken.baseline.json")
    write(project, *CASES, name="missing")
    # Servers change, not suites: one says goodbye to everyone, the other nothing at all.
    answer = "    return text\n"
    project.write("friendly.py", SERVER.replace(answer, '    return "goodbye" if text else ""\n', 1))
    project.write("silent.py", SERVER.replace(answer, '    return ""\n', 1))
    return Compared(project, project.run(*REPORTS, "datasets"))


def test_an_unchanged_suite_passes(compared: Compared) -> None:
    assert compared.verdict("suite::no_new_failures") == "passed"
    # The baselines lie among the data files, and are none.
    assert all(suite.endswith(".yaml") for suite in compared.run.report()["suites"])


def test_no_baseline_yet_names_the_command_that_writes_it(compared: Compared) -> None:
    assert compared.run.status == 1
    assert compared.verdict("missing::no_new_failures") == "error"
    command = "pytest --mcpeval --mcpeval-bless datasets/missing.yaml"
    expected = f"datasets/missing.baseline.json: no baseline yet: write it with {command}"
    assert compared.message("missing") == expected


def test_newly_passing_cases_are_named(compared: Compared) -> None:
    assert compared.verdict("friendly::no_new_failures") == "passed"
    assert compared.message("friendly") == "0 newly failing against the baseline (newly passing: c-known)"


def test_newly_failing_cases_are_named(compared: Compared) -> None:
    assert compared.verdict("silent::no_new_failures") == "failed"
    assert compared.message("silent") == "2 newly failing against the baseline: b-ok, a-ok"
    assert compared.outcomes("silent") == ["tolerated"] * 3
    assert compared.run.line_with("FAILED datasets/silent.yaml::gates::no_new_failures")


EDITED = ("new", "removed", "edited")


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_suite_is_an_error_not_a_comparison(compared: Compared, name: str) -> None:
    assert compared.verdict(f"{name}::no_new_failures") == "error"
    assert compared.run.report()["verdict"] == "error"
    suite = f"datasets/{name}.yaml"
    start = f"datasets/{name}.baseline.json:6: was made from another version of {suite}"
    assert compared.message(name).startswith(start)


def test_another_threshold_is_no_other_suite(compared: Compared) -> None:
    assert compared.verdict("threshold::pass_rate") == "passed"
    assert compared.verdict("threshold::no_new_failures") == "passed"


def test_a_broken_baseline_is_named_with_its_line_and_spares_the_other_gates(compared: Compared) -> None:
    assert compared.verdict("broken::pass_rate") == "passed"
    assert compared.verdict("broken::no_new_failures") == "error"
    assert compared.message("broken").startswith("broken.baseline.json:2")


def test_a_case_the_baseline_has_not_may_not_fail(compared: Compared) -> None:
    assert compared.verdict("lacking::no_new_failures") == "failed"
    assert compared.message("lacking") == "1 newly failing against the baseline: c-known"


def test_a_baseline_that_names_an_unknown_case_is_an_error(compared: Compared) -> None:
    assert compared.verdict("renamed::no_new_failures") == "error"
    path = "datasets/renamed.baseline.json"
    assert compared.run.line_with(f"{path}:8: datasets/renamed.yaml has no case 'aa-ok'")


def test_blessing_again_makes_it_pass_and_keeps_what_has_not_changed(
    blessed: Blessed, compared: Compared, tmp_path: Path
) -> None:
    project = Project(shutil.copytree(compared.project.path, tmp_path / "project"))
    _, _, command = compared.message("missing").partition("write it with pytest --mcpeval ")
    others = [f"datasets/{name}.yaml" for name in ("suite", *EDITED)]
    assert project.run(*command.split(), *others).status == 0
    assert (project.path / BASELINE).read_bytes() == (blessed.project.path / BASELINE).read_bytes()
    after = project.run(*REPORTS, *others, "datasets/missing.yaml")
    assert after.status == 0
    names = ("suite", *EDITED, "missing")
    assert after.gates() == {f"{name}::no_new_failures": "passed" for name in names}


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
def sentinel(tmp_path: Path) -> Project:
    """A suite of three cases, one of them known to fail; its baseline is a sentinel that must stay."""
    project = Project.at(tmp_path)
    write(project, *CASES)
    project.write(BASELINE, json.dumps({"kind": "baseline", "sentinel": True}))
    return project


def untouched(project: Project) -> bool:
    """Whether the sentinel is still there."""
    return "sentinel" in (project.path / BASELINE).read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_filtered_run_is_refused(sentinel: Project, mode: Sequence[str]) -> None:
    refused(sentinel.run(*mode, *BLESS, "-k", "a-ok"), "the run is filtered")
    assert untouched(sentinel)


# Serially, a run is red below for the other reason.
def test_a_red_run_is_refused(sentinel: Project) -> None:
    sentinel.suite("other.yaml", case("o-ok"), failing("o-bad"))
    refused(sentinel.run("-n2", *BLESS), "the run is red: 1 failed")
    assert untouched(sentinel)


def test_a_run_with_a_failed_gate_is_refused(sentinel: Project) -> None:
    write(sentinel, *CASES, gates={"no_new_failures": True, "pass_rate": 0.9})
    refused(sentinel.run(*BLESS), "the run is red: datasets/suite.yaml::gates::pass_rate")
    assert untouched(sentinel)


def test_a_stopped_run_is_refused(sentinel: Project) -> None:
    sentinel.suite("a_first.yaml", failing("o-bad"))
    refused(sentinel.run(*BLESS, "-x"), "the run was stopped early")
    assert untouched(sentinel)


def test_a_run_with_a_case_in_error_is_refused(sentinel: Project) -> None:
    write(sentinel, case("b-ok"), case("a-ok", fixtures=["missing"]))
    refused(sentinel.run(*BLESS), "the run is incomplete")
    assert untouched(sentinel)


def test_a_run_with_a_dead_worker_is_refused(sentinel: Project) -> None:
    write(sentinel, case("b-ok"), case("a-ok", "crash"))
    refused(sentinel.run("-n2", *BLESS), "the run is incomplete")
    assert untouched(sentinel)


def test_a_run_with_cases_set_aside_is_refused(sentinel: Project) -> None:
    skipped = failing("b-skipped", marks={"skipif_env": {"name": "SKIP_IT", "reason": "not here"}})
    write(sentinel, case("a-ok"), skipped, failing("c-known", marks={"xfail": "known"}))
    cases = "cases of datasets/suite.yaml (b-skipped, c-known) were skipped or xfailed"
    run = sentinel.run(*BLESS, SKIP_IT="1")
    refused(run, f"{cases}: remove the marks or the cases")
    assert untouched(sentinel)


def test_nothing_to_bless_is_a_failure(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("plain.yaml", case("a"))
    run = project.run(*BLESS)
    assert run.status == 1
    assert message(run).startswith("nothing to bless: no suite of this run names a baseline.")
    assert run.line_with("FAILED mcpeval::gates::bless - nothing to bless")


def bless_message(project: Project, *names: str, state: SessionState | None = None) -> str:
    """The message of the last gate when suites are blessed in which everything has passed."""
    runtime = runtime_at(project.path)
    runs, results = [], []
    for name in names:
        suite = runtime.suite(project.path / "datasets" / name)
        assert suite is not None
        selection = selection_of(suite, {(suite.key, found.id) for found in suite.cases})
        samples = [Sample(suite.key, suite.kind, found.id, "passed") for found in suite.cases]
        complete = Completeness(len(samples), len(samples))
        runs.append(SuiteRun(selection, samples, runtime.kinds[suite.kind], suite))
        results.append(SuiteResult(selection, complete, samples, {}, {}, []))
    done = write_baselines(runs, results, state or SessionState(), project.path)
    gates = [gate for result in done.suites for gate in result.gates]
    assert (gates[-1].verdict, done.notes) == ("failed", ())
    return gates[-1].message


def test_a_part_that_something_else_failed_is_refused(sentinel: Project) -> None:
    found = bless_message(sentinel, "suite.yaml", state=SessionState(exit_status=3))
    assert found.endswith("the run is red: a part of it has the exit status 3")
    assert untouched(sentinel)


def test_a_refusal_names_files_with_braces(sentinel: Project) -> None:
    for name in ("{a}", "{b}"):
        write(sentinel, case("o-ok"), name=name, baseline="suite.baseline.json")
    found = bless_message(sentinel, "{a}.yaml", "{b}.yaml")
    assert "datasets/{a}.yaml and datasets/{b}.yaml name the same file" in found


def test_two_suites_that_name_one_file_are_refused(sentinel: Project) -> None:
    write(sentinel, case("o-ok"), name="other", baseline="suite.baseline.json")
    found = bless_message(sentinel, "other.yaml", "suite.yaml")
    assert found.startswith("refused to write suite.baseline.json: ")
    assert "name the same file datasets/suite.baseline.json" in found
    assert untouched(sentinel)


OTHER_FILES = {
    "is not a baseline": ("tools.json", '{"version": "v1", "tools": []}'),
    "cannot be read as a baseline": ("notes.json", "<<<<<<< ours\n"),
    "is a baseline of a security suite": ("other.json", '{"kind": "baseline", "of": "security"}'),
}


@pytest.mark.parametrize("reason", OTHER_FILES)
def test_a_file_that_is_no_such_baseline_is_never_overwritten(sentinel: Project, reason: str) -> None:
    name, text = OTHER_FILES[reason]
    path = sentinel.write(f"datasets/{name}", text)
    write(sentinel, case("a-ok"), gates={}, baseline=name)
    assert f"datasets/{name} exists and {reason}, so it would be lost" in bless_message(
        sentinel, "suite.yaml"
    )
    assert path.read_text() == text


def test_what_is_blessed_can_be_read_whatever_is_in_it_and_however_the_file_is_called(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    write(project, case("a"))
    suite = runtime_at(tmp_path).suite(project.path / "datasets/suite.yaml")
    assert suite is not None
    content = {"digest": "d", "cases": {}, "findings": ["\x01 \x7f \x85 \x9f \u2028 \ufffe \ufeff é 😀"]}
    for name in ("made.json", "made.yaml", "made.YML"):
        write_baseline(tmp_path / name, suite, content)
        found = load(tmp_path / name).data
        assert {**found, **content} == found


SETTINGS = (ScenarioSettings, RetrievalSettings, SecuritySettings, SessionSettings)
UNREADABLE = {"a.txt": "the suffix .txt", "base": "no suffix", "b.jsonl": "the suffix .jsonl"}


@pytest.mark.parametrize("model", SETTINGS)
def test_a_baseline_that_could_not_be_read_is_a_mistake_of_the_settings(model: type[BaseModel]) -> None:
    for name, found in UNREADABLE.items():
        with pytest.raises(ValidationError, match=f'"{name}" has {found}: a baseline is read from ".json"'):
            model.model_validate({"baseline": name})
    for good in ("b/a.Yaml", "a.yml", "a.json", None):
        assert model.model_validate({"baseline": good}).model_dump()["baseline"] == good


def test_a_run_without_any_suite_says_so(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("test_plain.py", "def test_plain():\n    pass\n")
    run = project.run("--mcpeval-bless", *REPORTS)
    assert run.status == 1
    assert message(run).startswith("nothing to bless: no suite was run.")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "baseline.json"
    write_atomically(path, "{}\n")
    assert path.read_text() == "{}\n"
    assert path.stat().st_mode & 0o777 == 0o644
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")
    directory = tmp_path / "directory"
    directory.mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(directory, "{}")
    assert path.read_text() == "{}\n"
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["baseline.json", "directory", "not", "there"]
