"""Files that were meant to be run, and that pytest never came by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_mcpeval.config.path_patterns import files_of
from tests.collection.conftest import RunPytest
from tests.support import Project, case

NORECURSE = "which pytest's norecursedirs leaves out. Move it, or add"


def suite_in(project: Project, name: str) -> None:
    project.write_json(name, {"server": "tiny", "tests": [case("one")]})


def reasons(lines: list[str]) -> dict[str, str]:
    """File → what is said of it, of those that were never collected."""
    found = (re.fullmatch(r"(\S+): \S.*pytest never collected (\S+?)( \(.*\))?: (.*)", one) for one in lines)
    return {match[2]: f"{match[1]}: {match[4]}" for match in found if match}


def test_files_that_a_project_file_names_and_pytest_never_collected(project: Project, run: RunPytest) -> None:
    hidden = ["build/a.json", "node_modules/p/a.json", ".evals/a.json", "venv/a.json", "data/build/a.json"]
    for name in [*hidden, "env/a.json", "data/seen.yaml", "ignored/a.json", "left/alone.json"]:
        suite_in(project, name)
    (project.path / "env/pyvenv.cfg").touch()
    (project.path / "data/gone.yaml").symlink_to("nowhere.yaml")
    project.write("ignored/conftest.py", "collect_ignore = ['a.json']")
    project.write("pytest.ini", "[pytest]\nmcpeval_ignore = left/**\n")
    project.write(
        "mcpeval.yaml",
        "scenario:\n- {server: tiny}\n- files: [build/a.json, 'node_modules/p/*.json', .evals, venv/a.json]\n"
        "- {files: data/**, gates: {pass_rate: 1}}\nretrieval:\n- files: [ignored/*.json, left/*.json]\n"
        "security:\n- files: env/a.json\n",
    )
    in_workers = project.run("-n2", columns=200)
    assert in_workers.status == 1
    for lines in (run().outlines, in_workers.lines):
        assert reasons(lines) == {
            "build/a.json": f"mcpeval.yaml:3: it lies below build/, {NORECURSE} build to the ini key "
            "mcpeval_datasets",
            "node_modules/p/a.json": f"mcpeval.yaml:3: it lies below node_modules/, {NORECURSE} "
            "node_modules/p to the ini key mcpeval_datasets",
            ".evals/a.json": f"mcpeval.yaml:3: it lies below .evals/, {NORECURSE} .evals to the ini key "
            "mcpeval_datasets",
            "venv/a.json": f"mcpeval.yaml:3: it lies below venv/, {NORECURSE} venv to the ini key "
            "mcpeval_datasets",
            "data/build/a.json": f"mcpeval.yaml:4: it lies below data/build/, {NORECURSE} data/build to the "
            "ini key mcpeval_datasets",
            "data/gone.yaml": "mcpeval.yaml:4: it is a link to nowhere.yaml, which does not exist. "
            "Correct the "
            "link, or remove it",
            "ignored/a.json": "mcpeval.yaml:6: a conftest.py or a plugin makes pytest leave out "
            "ignored/a.json. Remove one of the two",
            "env/a.json": "mcpeval.yaml:8: it lies below env/, a virtual environment, which pytest leaves "
            "out. Move it",
        }
        assert "8 errors" in lines[-1]
        assert sum("ERROR collecting" in line for line in lines) == 8
    # The advice holds, and what was not asked for is nobody's business.
    directories = "build node_modules/p .evals venv data/build"
    project.write("pytest.ini", f"[pytest]\nmcpeval_ignore = left/**\nmcpeval_datasets = {directories}\n")
    assert set(reasons(run().outlines)) == {"data/gone.yaml", "ignored/a.json", "env/a.json"}
    run("data/seen.yaml").assert_outcomes(passed=2)  # the case and its gate
    assert set(reasons(run("data").outlines)) == {"data/gone.yaml"}


def test_files_outside_the_directories_of_testpaths(project: Project, run: RunPytest) -> None:
    project.write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    project.write("tests/test_plain.py", "def test_plain(): pass")
    for name in ("evals/named.yaml", "evals/other.json", "top.yaml", "evals/by_name.eval.yaml"):
        suite_in(project, name)
    project.write("mcpeval.yaml", "scenario: [{server: tiny}, {files: top.yaml}]\n")
    project.write("evals/mcpeval.yaml", "scenario:\n- files: named.yaml\nsecurity:\n- scan: [tiny]\n")
    project.write("broken/mcpeval.yaml", "scenario:\n- files: nothing/*.yaml\n")
    # Projects of their own, and what tools have copied, are left alone.
    project.write("another/pytest.ini", "[pytest]\n")
    for directory in ("another", "build", "venv"):
        suite_in(project, f"{directory}/named.yaml")
        project.write(f"{directory}/mcpeval.yaml", "scenario:\n- files: named.yaml\n")
    outside = "it lies outside tests, where pytest's testpaths looks. Add {} to testpaths"
    in_workers = project.run("-n2", columns=200)
    for lines in (run().outlines, in_workers.lines):
        assert reasons(lines) == {
            "top.yaml": f"mcpeval.yaml:1: {outside.format('top.yaml')}",
            "evals/named.yaml": f"evals/mcpeval.yaml:2: {outside.format('evals/named.yaml')}",
            "evals/mcpeval.yaml": f"evals/mcpeval.yaml:4: {outside.format('evals/mcpeval.yaml')}",
        }
        assert (
            'broken/mcpeval.yaml:2: files: "nothing/*.yaml" matches no data file below broken/'
            in "\n".join(lines)
        )
        assert "4 errors" in lines[-1]
    assert in_workers.status == 1
    for arguments in (["tests"], ["tests/test_plain.py::test_plain"], ["evals/named.yaml"]):
        run(*arguments).assert_outcomes(passed=1)
    project.write("pytest.ini", "[pytest]\ntestpaths = tests evals top.yaml\n")
    (project.path / "broken/mcpeval.yaml").unlink()
    assert run("--collect-only").ret == 0


def test_a_pattern_without_a_name_must_pick_something(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one"), server="tiny")
    suite_in(project, "evals/a.yaml")
    project.write("evals/mcpeval.yaml", "scenario:\n- files: '*.yaml'\n  gates: {pass_rate: 1}\n")
    assert reasons(run().outlines) == {
        "evals/a.yaml": "evals/mcpeval.yaml:2: its name is not that of a data file, and no pattern has a "
        "name in it. Write a pattern with a name, such as a.yaml"
    }
    suite_in(project, "evals/b.eval.yaml")
    run().assert_outcomes(passed=3)


def test_a_file_that_a_conftest_keeps_from_pytest(project: Project, run: RunPytest) -> None:
    suite_in(project, "evals/a.yaml")
    project.write("mcpeval.yaml", "scenario:\n- files: evals/a.yaml\n")
    text = "class Empty(pytest.Directory):\n    def collect(self): return []\n"
    text += "def pytest_collect_directory(path, parent):\n"
    text += "    return Empty.from_parent(parent, path=path) if path.name == 'evals' else None\n"
    project.write("conftest.py", f"import pytest\n{text}")
    assert reasons(run().outlines) == {
        "evals/a.yaml": "mcpeval.yaml:2: a conftest.py or a plugin keeps pytest from it"
    }


def test_of_many_files_of_one_entry_the_first_are_told(project: Project, run: RunPytest) -> None:
    for number in range(25):
        suite_in(project, f"build/{number:02}.json")
    project.write("mcpeval.yaml", "scenario:\n- files: build\n")
    lines = run().outlines
    assert len(reasons(lines)) == 20
    assert any("never collected build/19.json (and 5 more files): " in line for line in lines)


@pytest.mark.parametrize("option", ["--ignore=evals/b.yaml", "--ignore-glob=*/b.yaml", "--lf"])
def test_a_file_that_an_option_leaves_out_is_not_evaluated(
    project: Project, run: RunPytest, option: str
) -> None:
    for name in "ab":
        suite_in(project, f"evals/{name}.yaml")
    project.write("evals/mcpeval.yaml", "scenario:\n- {files: b.yaml, gates: {pass_rate: 1}}\n")
    project.write("pytest.ini", "[pytest]\nmcpeval_datasets = evals\n")
    if option == "--lf":
        project.write_json("evals/a.yaml", {"tests": [case("one", "fail", input={"message": "x"})]})
        run()
        suite_in(project, "evals/a.yaml")
    lines = run(option).outlines
    assert "NOT EVALUATED evals/b.yaml: pass_rate (0 of 1 cases selected)" in lines
    assert "mcpeval: not evaluated: gates were not evaluated: 0 of 1 cases selected" in lines


def test_what_looks_like_data_is_told_in_one_line(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one"))
    for name in (
        "b.ymal",
        "c.jsonc",
        "code.js",
        "page.xml",
        "a.yaml~",
        "README.md",
        ".old/x.yaml",
        "build/y.json",
    ):
        project.write(f"datasets/{name}", "tests: []")
    for name in ("Datasets/z.yaml", "data/z.yaml", "datasets/.venv/z.yaml", "datasets/ignored/z.ymal"):
        project.write(name, "tests: []")
    (project.path / "datasets/.venv/pyvenv.cfg").touch()
    (project.path / "datasets/gone.yaml").symlink_to("nowhere.yaml")
    project.write("datasets/.old/deep/z.json", "[]")
    project.write("pytest.ini", "[pytest]\nmcpeval_ignore = datasets/ignored\n")
    suffix = "its suffix is none of .json, .jsonl, .yaml, .yml"
    expected = (
        "left out, though it looks like data: Datasets/ (1 file: the dataset directory is called datasets), "
        f"datasets/.old/ (2 files: pytest's norecursedirs), datasets/b.ymal ({suffix}), "
        f"datasets/build/ (1 file: pytest's norecursedirs), datasets/c.jsonc ({suffix}), "
        "datasets/gone.yaml (a broken link)"
    )
    in_workers = project.run("-n2", columns=160)
    for lines in (run().outlines, in_workers.lines):
        assert expected in lines
        assert "1 passed" in lines[-1]
    assert "left out" not in run("datasets/a.yaml").stdout.str()


def test_data_files_that_a_conftest_ignores_are_told(project: Project, run: RunPytest) -> None:
    names = [
        "named.yaml",
        "globbed.json",
        "folder/a.yaml",
        "hooked.yaml",
        "option.yaml",
        "seen.yaml",
        "lost.yaml",
    ]
    for name in names:
        suite_in(project, f"datasets/{name}")
    project.write("datasets/broken.yaml", "tests: [{")
    project.write_json("datasets/schema.json", {"$schema": "https://json-schema.org/draft/2020-12/schema"})
    project.write("datasets/env/pyvenv.cfg", "")
    suite_in(project, "datasets/env/a.yaml")
    project.write("mcpeval.yaml", "scenario:\n- server: tiny\n")
    project.write(
        "datasets/conftest.py",
        "collect_ignore = ['named.yaml', 'folder', 'schema.json', 'broken.yaml']\n"
        "collect_ignore_glob = ['glob*']\n",
    )
    project.write(
        "conftest.py",
        "def pytest_ignore_collect(collection_path):\n"
        "    return True if collection_path.name == 'hooked.yaml' else None\n",
    )
    why = "a conftest.py or a plugin keeps pytest from it"
    left = ["broken.yaml", "folder/a.yaml", "globbed.json", "hooked.yaml", "named.yaml"]
    line = ", ".join(f"datasets/{name} ({why})" for name in left)
    line = f"left out, though it looks like data: {line}"
    options = ("--ignore=datasets/option.yaml", "--deselect=datasets/lost.yaml")
    in_workers = project.run("-n2", *options, columns=160)
    for lines in (run(*options).outlines, in_workers.lines):
        assert line in [one for one in lines if one.startswith("left out")], "\n".join(lines)
        assert "1 passed" in lines[-1]
    assert "left out" not in run("datasets/seen.yaml").stdout.str()
    assert line in run("-k", "nothing").outlines


@pytest.mark.parametrize("is_ci", [True, False], ids=["ci", "local"])
def test_the_exit_status_is_the_one_that_the_last_line_says(project: Project, is_ci: bool) -> None:
    project.suite("a.yaml", case("one"))
    project.write("conftest.py", "def pytest_collection_modifyitems(items): items.clear()")
    run = project.run(columns=160, CI="true" if is_ci else "")
    words = run.line_with("mcpeval: not evaluated")
    assert (run.status, "exit status 1" in words) == ((1, True) if is_ci else (5, False)), run.out


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_without_cases_says_where_it_looked(project: Project, workers: str) -> None:
    done = project.run("-n", workers, columns=300)
    assert done.status == pytest.ExitCode.NO_TESTS_COLLECTED
    line = done.line_with("no case was found")
    assert line.startswith(
        "no case was found. Data files lie below datasets/ (not there), are called *.eval.yaml, *.eval.yml, "
    )
    assert line.endswith(", *.scenarios.*, or are named by `files` in a mcpeval.yaml")


def test_a_leading_wildcard_leaves_out_what_is_not_the_project_s_own(tmp_path: Path) -> None:
    names = ["a.json", "x/a.json", "build/a.json", ".git/a.json", "env/a.json", "node_modules/y/a.json"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "x/loop").symlink_to(tmp_path)

    def found(pattern: str) -> list[str]:
        files = files_of(tmp_path, pattern, {".json"})
        return [path.relative_to(tmp_path).as_posix() for path in files]

    assert found("**/a.json") == ["a.json", "build/a.json", "x/a.json"]
    assert found("node_modules/**") == ["node_modules/y/a.json"]
    assert found(".git") == [".git/a.json"]
    assert found("./x//a.json") == ["x/a.json"]
    assert found("x" * 300) == found("x\0") == found("no/**") == []
