"""Which files become items."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collection.conftest import RunPytest
from tests.runtimes import problems_of, runtime_at
from tests.support import Project, case

Collected = Callable[..., list[str]]


def ini(project: Project, *lines: str) -> None:
    project.write("pytest.ini", "\n".join(["[pytest]", *lines, ""]))


def suite_text(*ids: str) -> str:
    return json.dumps({"tests": [case(name) for name in ids]})


def test_node_ids_are_path_and_case_id(project: Project, collected: Collected) -> None:
    project.suite("docs/basic.yaml", case("a.b_c-1"), case("2"))
    assert collected() == ["datasets/docs/basic.yaml::a.b_c-1", "datasets/docs/basic.yaml::2"]


@pytest.mark.parametrize("name", ["a.yaml", "a.yml", "a.json", "a.YAML", "a.jsonl"])
def test_every_data_file_of_a_dataset_directory_is_a_suite(
    project: Project, collected: Collected, name: str
) -> None:
    lines = "\n".join(json.dumps(case(found)) for found in ("one", "two"))
    project.write(f"datasets/deep/er/{name}", lines if name == "a.jsonl" else suite_text("one", "two"))
    assert collected() == [f"datasets/deep/er/{name}::one", f"datasets/deep/er/{name}::two"]


def test_a_json_suite_may_be_a_bare_list_of_cases(project: Project, collected: Collected) -> None:
    project.write_json("datasets/a.json", [case("one")])
    assert collected() == ["datasets/a.json::one"]


def test_other_files_of_a_dataset_directory_are_left_alone(project: Project, collected: Collected) -> None:
    project.suite("a.yaml", case("one"))
    project.write("datasets/README.md", "tests:")
    project.write("datasets/notes.txt", "tests:")
    assert collected() == ["datasets/a.yaml::one"]


@pytest.mark.parametrize(
    "name",
    [
        "x.eval.yaml",
        "x.eval.yml",
        "x.eval.json",
        "agent.yaml",
        "my.agent.yaml",
        "g.golden.json",
        "b.attacks.yaml",
        "s.scenarios.yaml",
    ],
)
def test_elsewhere_names_decide(project: Project, collected: Collected, name: str) -> None:
    project.write(f"here/{name}", suite_text("one"))
    project.write("here/plain.yaml", suite_text("other"))
    project.write("here/eval.yaml", suite_text("other"))
    assert collected() == [f"here/{name}::one"]


def test_json_lines_elsewhere(project: Project, collected: Collected) -> None:
    project.write("here/x.eval.jsonl", json.dumps(case("one")))
    assert collected() == ["here/x.eval.jsonl::one"]


def test_names_elsewhere_by_ini(project: Project, collected: Collected) -> None:
    ini(project, "mcpeval_files = *.cases.yaml")
    project.write("x.cases.yaml", suite_text("one"))
    project.write("x.eval.yaml", suite_text("other"))
    assert collected() == ["x.cases.yaml::one"]


def test_a_file_on_the_command_line_is_meant_wherever_it_is(project: Project, collected: Collected) -> None:
    project.write("here/plain.yaml", suite_text("one", "two"))
    assert collected("here/plain.yaml") == ["here/plain.yaml::one", "here/plain.yaml::two"]
    assert collected("here/plain.yaml::two") == ["here/plain.yaml::two"]
    assert collected("here") == []


def test_dataset_directories_by_ini(project: Project, collected: Collected) -> None:
    ini(project, "mcpeval_datasets = evals more/evals")
    for directory in ("evals", "more/evals", "datasets"):
        project.write(f"{directory}/plain.yaml", suite_text("one"))
    assert collected() == ["evals/plain.yaml::one", "more/evals/plain.yaml::one"]


def test_a_dataset_directory_by_ini_that_is_not_there(project: Project, run: RunPytest) -> None:
    ini(project, "mcpeval_datasets = evlas")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*mcpeval_datasets: there is no directory 'evlas' in *"])


def test_without_a_dataset_directory_there_is_nothing_to_complain_about(
    project: Project, run: RunPytest
) -> None:
    project.write("test_plain.py", "def test_plain(): pass")
    run().assert_outcomes(passed=1)


def test_ini_testpaths_and_dataset_directories_are_both_meant(project: Project, collected: Collected) -> None:
    ini(project, "testpaths = unit")
    project.write("unit/test_plain.py", "def test_plain(): pass")
    project.suite("a.yaml", case("one"))
    assert collected() == ["unit/test_plain.py::test_plain", "datasets/a.yaml::one"]
    assert collected("unit") == ["unit/test_plain.py::test_plain"]
    ini(project, "testpaths = datasets unit")
    assert collected() == ["datasets/a.yaml::one", "unit/test_plain.py::test_plain"]


def test_dataset_directories_that_pytest_would_not_reach(
    project: Project, run: RunPytest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "mcpeval.yaml").write_text("scenario: [{server: tiny}]")
    (outside / "a.yaml").write_text(suite_text("outside"))
    ini(project, f"mcpeval_datasets = {outside} .evals build/deep/evals datasets")
    project.suite("a.yaml", case("usual"))
    for name in (".evals/a.yaml", "build/deep/evals/a.yaml"):
        project.write(name, suite_text(name.partition("/")[0].strip(".")))
    for name in (
        "build/x.eval.yaml",
        "build/deep/x.eval.yaml",
        "build/deep/other/x.eval.yaml",
        ".x/x.eval.yaml",
    ):
        project.write(name, suite_text("hidden"))
    in_workers = project.run("-n2", "-v", columns=160)
    assert in_workers.status == 0
    for lines in (run("-v").outlines, in_workers.lines):
        passed = sorted(line for line in lines if "PASSED" in line)
        assert len(passed) == 4, lines
        assert "4 passed" in lines[-1]
        for name in ("outside", "evals", "build", "usual"):
            assert any(f"a.yaml::{name}" in line for line in passed), lines


def test_a_dataset_directory_outside_is_not_meant_from_a_directory_below(
    project: Project,
    collected: Collected,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.yaml").write_text(suite_text("outside"))
    ini(project, f"mcpeval_datasets = {outside} datasets")
    project.suite("docs/a.yaml", case("one"))
    monkeypatch.chdir(project.path / "datasets")
    assert collected() == ["datasets/docs/a.yaml::one"]


@pytest.mark.parametrize("option", ["--ignore=.evals", "--ignore-glob=.ev*"])
def test_a_dataset_directory_may_be_ignored(project: Project, collected: Collected, option: str) -> None:
    ini(project, "mcpeval_datasets = .evals datasets")
    project.write(".evals/a.yaml", suite_text("no"))
    project.suite("a.yaml", case("one"))
    assert collected(option) == ["datasets/a.yaml::one"]


def test_a_data_file_with_another_suffix(project: Project, run: RunPytest, collected: Collected) -> None:
    project.suite("a.yaml", case("one"))
    project.write("x.golden.csv", "a,b")
    assert collected() == ["datasets/a.yaml::one"]
    result = run("x.golden.csv")
    result.assert_outcomes(errors=1)
    expected = "expected one of .json, .jsonl, .yaml, .yml"
    result.stdout.fnmatch_lines([f"x.golden.csv: the suffix .csv is not one of a data file: {expected}"])


@pytest.mark.parametrize(
    "pattern", ["datasets/drafts", "datasets/drafts/", "datasets/drafts/**", "**/drafts/*.yaml", "**/x*.yaml"]
)
def test_ignored_files(project: Project, collected: Collected, pattern: str) -> None:
    ini(project, f"mcpeval_ignore = {pattern}")
    project.suite("drafts/x1.yaml", case("no"))
    project.write("datasets/drafts/x2.yaml", "of: no known shape")
    project.suite("a.yaml", case("one"))
    assert collected() == ["datasets/a.yaml::one"]


def test_ignoring_holds_on_the_command_line_and_says_so(project: Project, run: RunPytest) -> None:
    ini(project, "mcpeval_ignore = datasets/a.yaml")
    project.suite("a.yaml", case("one"))
    result = run("datasets/a.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_star_of_an_ignoring_pattern_stays_within_a_directory(
    project: Project, collected: Collected
) -> None:
    ini(project, "mcpeval_ignore = datasets/*.yaml")
    project.suite("a.yaml", case("no"))
    project.suite("deep/a.yaml", case("one"))
    assert collected() == ["datasets/deep/a.yaml::one"]


def test_from_a_subdirectory(
    project: Project, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, collected: Collected
) -> None:
    project.suite("docs/a.yaml", case("one"))
    project.suite("other/a.yaml", case("two"))
    project.write("datasets/mcpeval.yaml", "scenario: [{server: tiny}]")
    monkeypatch.chdir(project.path / "datasets" / "docs")
    assert collected() == ["datasets/docs/a.yaml::one"]
    assert collected("../other/a.yaml") == ["datasets/other/a.yaml::two"]


def test_errors_name_files_relative_to_the_root_directory(
    project: Project, monkeypatch: pytest.MonkeyPatch, run: RunPytest
) -> None:
    project.suite("docs/a.yaml", case("one", tol="x"))
    monkeypatch.chdir(project.path / "datasets")
    result = run()
    result.stdout.re_match_lines([r"^datasets/docs/a\.yaml:\d+: tests\[0\]: unknown key \"tol\""])
    result.stdout.no_fnmatch_line(f"*{project.path}/datasets/docs*:*")


def test_the_root_directory_may_be_elsewhere(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    collected: Collected,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    project.suite("a.yaml", case("one"))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert collected(str(project.path)) == ["datasets/a.yaml::one"]
    assert collected(str(project.path / "datasets" / "a.yaml")) == ["datasets/a.yaml::one"]


def test_a_file_outside_the_root_directory(
    project: Project, collected: Collected, run: RunPytest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "mcpeval.yaml").write_text("scenario: [{server: tiny, tools: {say: echo}}]")
    (outside / "deep").mkdir()
    (outside / "deep" / "x.eval.yaml").write_text(
        json.dumps({"tests": [case("one", "say", input={"text": "hello"})]})
    )
    found = collected("--rootdir", str(project.path), str(outside))
    assert [name.rpartition("/")[2] for name in found] == ["x.eval.yaml::one"]
    run("--rootdir", str(project.path), str(outside)).assert_outcomes(passed=1)


def test_symbolic_links_lead_to_suites_under_their_own_names(
    project: Project, collected: Collected, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "sub").mkdir()
    (elsewhere / "sub" / "a.yaml").write_text(suite_text("one"))
    (project.path / "datasets").mkdir()
    (project.path / "datasets" / "linked").symlink_to(elsewhere)
    project.write("datasets/mcpeval.yaml", "scenario: [{files: linked/**, server: tiny}]")
    project.write_json(
        ".mcp.json", {"mcpServers": {"tiny": {"module": "server:server"}, "b": {"url": "http://b"}}}
    )
    assert collected() == ["datasets/linked/sub/a.yaml::one"]


def test_a_dataset_directory_may_be_a_link(
    project: Project, collected: Collected, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "a.yaml").write_text(suite_text("one"))
    (project.path / "datasets").symlink_to(elsewhere)
    assert collected() == ["datasets/a.yaml::one"]
    assert collected("datasets/a.yaml::one") == ["datasets/a.yaml::one"]


def test_python_tests_run_beside_suites(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one"))
    project.write("datasets/test_in_there.py", "def test_plain(): pass")
    project.write("test_plain.py", "def test_plain(): pass")
    run().assert_outcomes(passed=3)


def test_a_report_in_a_dataset_directory_is_no_data_file(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one"))
    for _ in range(2):
        run("--mcpeval-report=datasets/reports").assert_outcomes(passed=1)
    assert (project.path / "datasets" / "reports" / "report.json").is_file()


def test_unknown_shapes_in_a_dataset_directory_are_errors(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one"))
    project.write("datasets/list.json", "[1, 2]")
    project.write("datasets/map.yaml", "\nname: x\n")
    project.write("datasets/empty.jsonl", "{}\n")
    result = run()
    result.assert_outcomes(errors=3)
    words = "no known shape of data file. Known: a `tests:` list (scenario)*mcpeval_ignore"
    for name in ("list.json", "map.yaml", "empty.jsonl"):
        result.stdout.fnmatch_lines([f"datasets/{name}:1: {words}"])


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yaml", "\nname: x\ntest:\n- {}\n", 'datasets/a.yaml:3: test: did you mean "tests"? no*'),
        ("a.jsonl", '{"id": "x", "tol": "echo"}\n', 'datasets/a.jsonl:1: tol: did you mean "tool"? no*'),
        (
            "a.yaml",
            "name: x\nkind: scenari\n",
            'datasets/a.yaml:2: kind: expected scenario, retrieval, *found "scenari" (did you*',
        ),
        ("a.yaml", "kind: [1]\n", "datasets/a.yaml:1: kind: expected scenario, retrieval, *found a list*"),
        ("a.json", '{"mcpServers": {}}', "datasets/a.json:1: servers are read from .mcp.json in the root*"),
    ],
)
def test_unknown_shapes_with_a_likely_cause(
    project: Project, run: RunPytest, name: str, text: str, expected: str
) -> None:
    project.write(f"datasets/{name}", text)
    run().stdout.fnmatch_lines([expected])


def test_the_kind_may_be_declared(project: Project, run: RunPytest) -> None:
    project.write("datasets/a.yaml", "kind: scenario\nname: x\n")
    run().stdout.fnmatch_lines(['datasets/a.yaml:1: missing required key "tests"'])


def test_baselines_among_the_suites_are_no_suites(project: Project, run: RunPytest) -> None:
    gates = {"gates": {"no_new_failures": True}, "baseline": "a.baseline.json"}
    project.suite("a.yaml", case("one"), **gates)
    assert run("--mcpeval-bless").ret == 0
    assert (project.path / "datasets" / "a.baseline.json").is_file()
    result = run("-v")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*baseline.json::*")


def test_servers_file_in_a_root_directory_that_is_a_dataset_directory(
    project: Project, collected: Collected
) -> None:
    ini(project, "mcpeval_datasets = .")
    project.write("a.yaml", suite_text("one"))
    assert collected() == ["a.yaml::one"]


@pytest.mark.parametrize("name", ["mcpeval.yml", ".mcpeval.yaml", "mcpeval.json"])
def test_a_project_file_under_a_mistaken_name(project: Project, run: RunPytest, name: str) -> None:
    project.suite("a.yaml", case("one"))
    project.write(name, "scenario: []")
    result = run("datasets/a.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"{name}: is not read under this name: call it mcpeval.yaml"])


def test_the_same_file_named_twice_is_one_suite(project: Project, collected: Collected) -> None:
    path = project.suite("a.yaml", case("one"), case("two"))
    expected = ["datasets/a.yaml::one", "datasets/a.yaml::two"]
    assert collected("datasets", str(path)) == expected
    assert collected("datasets/a.yaml::one", "datasets/a.yaml::two") == expected


def test_collecting_only_lists_and_asks_nothing(project: Project, run: RunPytest, tmp_path: Path) -> None:
    project.write_json(
        ".mcp.json", {"mcpServers": {"tiny": {"command": "touch", "args": [str(tmp_path / "ran")]}}}
    )
    project.suite("a.yaml", case("one"))
    result = run("--collect-only")
    result.stdout.fnmatch_lines(["*<SuiteFile a.yaml>", "*<CaseItem one>", "*1 test collected*"])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("pattern", "is_meant"),
    [
        ("some.yaml", True),
        ("so*.yaml", True),
        ("evals/**", True),
        ("**/*.yaml", False),
        ("**", False),
        ("other", False),
    ],
)
def test_entries_of_a_project_file_say_which_files_are_data(
    project: Project, collected: Collected, pattern: str, is_meant: bool
) -> None:
    name = "checks/evals/some.yaml" if "evals" in pattern else "checks/some.yaml"
    project.write_json(name, {"tests": [case("a")]})
    project.write_json("checks/other/some.eval.yaml", {"tests": [case("b")]})
    project.write_json("checks/mcpeval.yaml", {"scenario": [{"files": pattern}]})
    found = [node for node in collected() if node.startswith("checks/")]
    assert set(found) == {"checks/other/some.eval.yaml::b", *([f"{name}::a"] if is_meant else [])}


def test_a_file_named_to_be_run_that_has_no_cases_is_an_error(project: Project) -> None:
    recorded = {"detectors": ["a"], "entries": [{"id": "x", "verdicts": []}]}
    project.write_json("checks/deep/recorded.json", recorded)
    project.write_json("checks/deep/tools.json", {"tools": [{"tool_id": "a:b", "description": "A."}]})
    project.write_json("checks/deep/base.json", {"kind": "baseline"})
    for name in ("recorded", "tools", "base"):
        path = project.path / f"checks/deep/{name}.json"
        project.write("checks/mcpeval.yaml", f"security:\n- gates: {{}}\n  files: [./deep//{name}.json]\n")
        (problem,) = problems_of(runtime_at(project.path), path)
        assert problem.startswith(f"checks/deep/{name}.json:1: is named in `files`, but has no cases: ")
        assert problem.endswith("take it out of `files` at checks/mcpeval.yaml:3")
        for others in ("deep", "deep/*.json", "**"):
            project.write("checks/mcpeval.yaml", f'security:\n- files: "{others}"\n')
            assert runtime_at(project.path).suite(path) is None


def test_a_broken_project_file_is_told_in_full_though_it_names_files(
    project: Project, run: RunPytest
) -> None:
    project.write_json("checks/some.yaml", {"tests": [case("a")]})
    project.write_json("checks/mcpeval.yaml", {"scenario": [{"files": "some.yaml", "concurency": 3}]})
    done = run("checks")
    assert "unknown key 'concurency'" in done.stdout.str().replace('"', "'")
