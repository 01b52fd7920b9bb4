"""``pytest-mcpeval merge``: shards of a run, judged as the whole run would have been."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.sample import to_json
from tests.session.evaluations import SESSION, SessionProject
from tests.support import Project, Run, case, failing

MAIN = "import sys; from pytest_mcpeval.cli import main; sys.exit(main(sys.argv[1:]))"
GATED, STATEFUL = "datasets/gated.yaml", "datasets/stateful.yaml"
BASELINE = "datasets/gated.baseline.json"

PYTHON_TESTS = """
def test_second_in_the_alphabet(mcpeval_call):
    assert "x" in mcpeval_call("echo", text="x").text

def test_first_in_the_alphabet(mcpeval_call):
    assert "y" in mcpeval_call("echo", text="y").text

def test_plain():
    pass
"""

CRASHING = """
import os

def pytest_runtest_call(item):
    if item.name == "c4":
        os._exit(1)

def pytest_sessionfinish(session):
    if session.config.option.keyword == "not c4":
        session.exitstatus = 3
"""

SHARDS: Mapping[str, tuple[str, ...]] = {
    # Of every way to split a run one: names, workers, and ids with a case that another shard has as well.
    "one": ("-k", "c0 or c1 or known or stateful or test_plain"),
    "a/longer/path/two": ("-k", "c2 or c3 or wrong or first_in", "-n2"),
    "three": ("test_cases.py", f"{GATED}::c4", f"{GATED}::c3"),
}


def write_project(path: Path) -> Project:
    """A suite with gates and a baseline, one whose cases build on each other, and tests in Python."""
    project = Project.at(path)
    cases = [*(case(f"c{n}") for n in range(5)), failing("known"), failing("wrong")]
    gates = {"pass_rate": 0.5, "no_new_failures": True, "p95_latency_ms": 60_000}
    project.suite("gated.yaml", *cases, gates=gates, baseline="gated.baseline.json")
    project.suite("stateful.yaml", case("s1"), case("s2"), stateful=True)
    project.write("test_cases.py", PYTHON_TESTS)
    return project


@dataclass(frozen=True)
class Merged:
    """What a merge printed, and its exit code."""

    status: int
    out: str
    err: str


def merge(project: Project, *arguments: str | Path) -> Merged:
    """Merge in a checkout, in a process of its own."""
    done = subprocess.run(
        # Like the console script: the working directory is not importable of itself.
        [sys.executable, "-P", "-c", MAIN, "merge", *map(str, arguments)],
        cwd=project.path,
        env=project.environ(CI="true"),
        capture_output=True,
        text=True,
        check=False,
    )
    return Merged(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Made:
    """A project that was run as a whole, and its shards by name."""

    project: Project
    whole: Run
    shards: Mapping[str, Run]

    @property
    def directories(self) -> list[Path]:
        """Where the shards are."""
        return [run.path / "shard" for run in self.shards.values()]

    def copy(self, path: Path) -> list[Path]:
        """The shards, to be changed."""
        return [
            Path(shutil.copytree(directory, path / str(number)))
            for number, directory in enumerate(self.directories)
        ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("merge")
    project = write_project(root / "whole")
    assert project.run("--mcpeval-bless", "-q").status == 0
    whole = project.run("--mcpeval-report=report", CI="true")
    shards = {}
    for name, arguments in SHARDS.items():
        part = write_project(root / name)
        part.write(
            "datasets/gated.baseline.json", (project.path / "datasets/gated.baseline.json").read_text()
        )
        shards[name] = part.run("--mcpeval-shard", "--mcpeval-report=shard", *arguments, CI="true")
    return Made(project, whole, shards)


def without_run(path: Path) -> str:
    report = json.loads(path.read_text(encoding="utf-8"))
    del report["run"]
    return json.dumps(report, indent=1)


def test_shards_merge_to_the_report_of_one_run(made: Made, tmp_path: Path) -> None:
    assert made.whole.status == 0
    merged = merge(made.project, *made.directories, "--report", tmp_path, "--sarif", tmp_path / "scans.sarif")
    assert merged.status == 0, merged.err
    assert without_run(tmp_path / "report.json") == without_run(made.project.path / "report" / "report.json")
    texts = [(path / "report.md").read_text("utf-8") for path in (tmp_path, made.project.path / "report")]
    assert texts[0].partition("\n## Run")[0] == texts[1].partition("\n## Run")[0]
    assert json.loads((tmp_path / "scans.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert merged.out.splitlines()[-2:] == [
        "merged 3 shards with 11 cases",
        "mcpeval: passed: 3 gates passed, 9 cases passed, 2 cases tolerated",
    ]


def test_a_shard_decides_on_no_gate_and_says_who_does(made: Made) -> None:
    assert [run.status for run in made.shards.values()] == [0, 0, 0]
    run = made.shards["one"]
    assert set(run.gates("shard").values()) == {"not_evaluated"}
    assert '✗ contains: missing "goodbye"' in run.out
    assert run.lines[-2] == (
        "mcpeval: not evaluated: a shard: `pytest-mcpeval merge` decides, 3 of 7 cases selected, "
        "1 wrong case on which no gate decided"
    )


def test_a_failed_test_fails_its_shard_and_the_merge(made: Made, tmp_path: Path) -> None:
    project = Project(Path(shutil.copytree(made.project.path, tmp_path / "project")))
    project.write("test_cases.py", PYTHON_TESTS.replace("    pass", "    assert False"))
    project.write("conftest.py", CRASHING)
    parts = {
        "one": ("datasets",),
        "two": ("-n1", "--max-worker-restart=0", GATED),
        "three": ("test_cases.py",),
    }
    found = {
        name: project.run("--mcpeval-shard", f"--mcpeval-report={name}", *arguments, "-k", chosen)
        for (name, arguments), chosen in zip(parts.items(), ("not c4", "c4", "test"), strict=True)
    }
    assert [run.status for run in found.values()] == [3, 1, 1]
    merged = merge(project, *parts, "--report", "report")
    assert merged.status == 1
    assert f"LOST in two: {GATED}: c4" in merged.out
    assert "FAILED datasets/gated.yaml::gates::pass_rate\n  1 of 7 cases missing: c4; " in merged.out
    reason = merged.out.splitlines()[-1]
    assert "1 other test failed: test_cases.py::test_plain" in reason
    assert "exit status 3, which a conftest.py, a plugin or pytest itself gave the session" in reason


def test_bless(made: Made, tmp_path: Path) -> None:
    project = Project(Path(shutil.copytree(made.project.path, tmp_path / "project")))
    baseline = project.path / BASELINE
    old = baseline.read_bytes()
    merged = merge(project, *made.directories, "--bless")
    assert merged.status == 0, merged.err
    assert "blessed datasets/gated.baseline.json (7 cases)" in merged.out
    assert baseline.read_bytes() == old
    baseline.unlink()
    merged = merge(project, *made.directories, "--bless")
    assert (merged.status, baseline.exists()) == (2, False)
    assert "one/shard was run on another version of datasets/gated.baseline.json than this" in merged.err


def change(directory: Path, **changes: Any) -> None:
    path = directory / "shard.json"
    data = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    # As a run would have written it, unless the digest is what is changed.
    del data["digest"]
    data = {"digest": digest_of(to_json(data)), **data} | {k: v for k, v in changes.items() if k == "digest"}
    path.write_text(to_json(data), encoding="utf-8")


def test_shards_that_are_not_the_parts_of_this_run(made: Made, tmp_path: Path) -> None:
    one, two, three = made.directories
    left_out = merge(made.project, one, two)
    assert left_out.status == 2
    assert left_out.err.splitlines() == [
        f"pytest-mcpeval merge: no shard ran 1 of 7 cases of {GATED}: c4 (shards: {one}, {two})",
        "pytest-mcpeval merge: no shard ran 1 of 2 cases of test_cases.py: test_second_in_the_alphabet "
        f"(shards: {one}, {two})",
    ]
    of_paths = merge(made.project, three, "--paths", "test_cases.py", f"{GATED}::c3")
    assert of_paths.status == 1, of_paths.err
    assert of_paths.out.splitlines()[-2:] == [
        "merged 1 shard with 4 cases",
        "mcpeval: not evaluated: gates were not evaluated: 1 of 7 cases selected",
    ]
    elsewhere = merge(made.project, three)
    assert elsewhere.err.splitlines()[-1].endswith(
        "where the run was given paths, give them here as well: --paths"
    )
    edited = write_project(tmp_path / "edited")
    edited.write(
        "datasets/gated.baseline.json", (made.project.path / "datasets/gated.baseline.json").read_text()
    )
    edited.write("test_cases.py", PYTHON_TESTS + "\n# edited\n")
    edited.write("mcpeval.yaml", "scenario:\n- {files: datasets/stateful.yaml, gates: {pass_rate: 1}}\n")
    merged = merge(edited, one, two, three)
    assert merged.status == 2
    assert (
        f"{one} was run on another version of the settings of {STATEFUL} than this checkout has" in merged.err
    )
    assert f"{three} was run on another version of test_cases.py than this checkout has" in merged.err
    copies = made.copy(tmp_path)
    samples = json.loads((copies[2] / "shard.json").read_text("utf-8"))["samples"]
    for sample in samples:
        sample["outcome"] = "failed" if sample["id"] == "c3" else sample["outcome"]
    change(copies[2], samples=samples)
    merged = merge(made.project, *copies)
    assert merged.status == 2
    assert merged.err == (
        f"pytest-mcpeval merge: {copies[1]} and {copies[2]} disagree on {GATED}::c3: passed in {copies[1]}, "
        f"failed in {copies[2]}\n"
    )
    for sample in samples:
        if sample["id"] == "c3":
            sample.update(outcome="passed", message="in other words")
    change(copies[2], samples=samples)
    merged = merge(made.project, *copies)
    assert merged.err.endswith(f"disagree on {GATED}::c3: passed in both, with other message\n")


BROKEN = "shard.json is broken, or of another version of pytest-mcpeval: run the shard again"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "0.0.0"}, "was made by pytest-mcpeval 0.0.0, but this is "),
        ({"options": ["--mcpeval-runs=3"]}, "was run with --mcpeval-runs=3, and "),
        ({"digest": "sha256:of what it was before"}, "shard.json was edited or damaged: run the shard again"),
        ({"mcpeval_shard": 99}, BROKEN),
        ({"samples": [{}]}, BROKEN),
        ({"selected": None}, BROKEN),
    ],
    ids=str,
)
def test_a_shard_that_does_not_fit_is_named(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], words: str
) -> None:
    from pytest_mcpeval.cli import main

    copies = made.copy(tmp_path)
    change(copies[1], **changes)
    assert main(["merge", *map(str, copies), "--rootdir", str(made.project.path)]) == 2
    assert f"{copies[1]}{':' if 'shard.json' in words else ''} {words}" in capsys.readouterr().err


def test_directories_without_a_shard(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_mcpeval.cli import main

    one = made.directories[0]
    (tmp_path / "link").symlink_to(one)
    stopped, *_ = made.copy(tmp_path)
    state = json.loads((stopped / "shard.json").read_text("utf-8"))["state"]
    change(stopped, state={**state, "stopped": True})
    for directories, words in {
        (one, tmp_path / "link"): "link is given twice",
        (one, tmp_path / "none"): "none holds no shard: run pytest with --mcpeval-shard --mcpeval-report=DIR",
        (made.project.path / "report",): "report holds the report of a run that was not a shard",
        (stopped,): "was stopped early, by -x, Ctrl-C or an error of collection: run it again",
    }.items():
        assert main(["merge", *map(str, directories), "--rootdir", str(made.project.path)]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_shard_that_tears_what_belongs_together_is_an_error(tmp_path: Path, mode: tuple[str, ...]) -> None:
    project = write_project(tmp_path)
    SessionProject(project).session()
    # Names match whatever their case is: S1 is the scenario of the session, which has a report besides.
    run = project.run("--mcpeval-shard", "--mcpeval-report=shard", "-k", "s1", *mode)
    assert run.status not in (0, 5)
    assert f"{SESSION}: its cases build on each other, and this shard has 1 of 2" in run.out
    assert (
        f"{STATEFUL}: its cases build on each other, and this shard has 1 of 2: select all or none" in run.out
    )


def test_a_session_whose_agent_lies_in_the_root_directory_is_merged(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, {"description": "x", "agent": "python:agents_at_root:run"})
    made.project.write("agents_at_root.py", "async def run(task, toolbox):\n    return task\n")
    run = made.run("--mcpeval-shard", "--mcpeval-report=shard")
    assert "made no call, so nothing was tried" in run.out
    merged = merge(made.project, run.path / "shard")
    assert (merged.status, merged.err) == (1, "")
    assert "merged 1 shard with 2 cases" in merged.out


def test_options_that_do_not_go_with_shards(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    for arguments, words in {
        (): "--mcpeval-shard needs --mcpeval-report DIR",
        ("--mcpeval-report=shard", "--mcpeval-bless"): "bless with `pytest-mcpeval merge --bless DIR…`",
    }.items():
        run = project.run("--mcpeval-shard", *arguments)
        assert run.status == 4
        assert words in run.err


def test_settings_are_the_same_wherever_a_project_lies(tmp_path: Path) -> None:
    from pytest_mcpeval.reports.shard import without_places

    roots = [tmp_path / "a", tmp_path / "b" / "deep" / "er"]
    for root in roots:
        (root / "project").mkdir(parents=True)
        (root / "shared.json").write_text("{}", encoding="utf-8")
    settings = [
        {"in": str(root / "project" / "x.json"), "out": [str(root / "shared.json")], "command": "/bin/sh"}
        for root in roots
    ]
    found = [without_places(one, root / "project") for one, root in zip(settings, roots, strict=True)]
    assert found[0] == found[1]
    assert (found[0]["in"], found[0]["command"]) == ("x.json", "/bin/sh")
    (roots[1] / "shared.json").write_text("[]", encoding="utf-8")
    assert without_places(settings[1], roots[1] / "project") != found[0]


def test_a_run_that_is_no_shard_leaves_none(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    shard, report = tmp_path / "datasets" / "report" / "shard.json", "--mcpeval-report=datasets/report"
    empty = project.run("--mcpeval-shard", report, "-k", "nothing", GATED)
    assert (empty.status, shard.is_file()) == (0, True)
    # A shard is no data file, and listing cases harms none.
    assert project.run("--collect-only", report, "datasets").status == 0
    assert shard.is_file()
    project.run(report, f"{GATED}::c0")
    assert not shard.exists()
