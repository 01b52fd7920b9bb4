"""``pytest-mcpeval validate``: all problems with file and line, or a summary."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval.cli import main
from tests.retrieval.golden import GoldenProject, query
from tests.security.attacks import AttackProject
from tests.support import Project, case

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project.at(tmp_path)


def test_a_summary_of_files_and_cases(project: Project, capsys: Captured) -> None:
    project.suite("one.yaml", case("a"), case("b"))
    project.write_json("elsewhere/two.eval.json", {"tests": [case("c")]})
    project.write("mcpeval.yaml", "scenario:\n  - server: tiny\n")
    project.write("elsewhere/other.yaml", "not: ours\n")
    assert main(["validate"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "mcpeval.yaml: settings",
        "datasets/one.yaml: 2 cases (scenario)",
        "elsewhere/two.eval.json: 1 case (scenario)",
        "3 files, 3 cases: no problems",
    ]


def test_every_problem_of_every_file(project: Project, capsys: Captured) -> None:
    project.write(
        "datasets/wrong.yaml",
        "tests:\n"
        "  - id: a\n"
        "    toool: echo\n"
        "    tool: echo\n"
        "    input: {text: x}\n"
        "    expected:\n"
        "      validations:\n"
        "        - {type: min_length, chars: 1}\n",
    )
    project.write(
        "datasets/wrong_check.yaml",
        "tests:\n"
        "  - id: a\n"
        "    tool: echo\n"
        "    input: {text: x}\n"
        "    expected:\n"
        "      validations:\n"
        "        - {type: contians, value: x}\n",
    )
    assert main(["validate"]) == 1
    wrong, wrong_check, totals = capsys.readouterr().out.splitlines()
    assert wrong.startswith("datasets/wrong.yaml:3: ")
    assert '"toool"' in wrong
    assert wrong_check.startswith("datasets/wrong_check.yaml:7: tests[0].expected.validations[0].type: ")
    assert totals == "2 files, 0 cases: 2 problems"


def test_a_problem_of_the_settings_is_told_once(project: Project, capsys: Captured) -> None:
    project.suite("one.yaml", case("a"))
    project.suite("two.yaml", case("b"))
    project.write("mcpeval.yaml", "sevrers: {}\n")
    for paths in ([], ["datasets"]):
        assert main(["validate", *paths]) == 1
        problem, *waiting, totals = capsys.readouterr().out.splitlines()
        assert problem.startswith("mcpeval.yaml:1: unknown key ")
        assert '(did you mean "servers"?)' in problem
        assert waiting == [
            f"datasets/{name}.yaml: not checked as long as mcpeval.yaml has problems"
            for name in ("one", "two")
        ]
        assert totals.endswith("files, 0 cases: 1 problem")


def test_a_file_is_checked_whatever_its_name(project: Project, capsys: Captured) -> None:
    project.write("any.yaml", "not: ours\n")
    assert main(["validate", "any.yaml"]) == 1
    assert "any.yaml:1: no known shape" in capsys.readouterr().out


def test_no_data_files_is_an_error(project: Project, capsys: Captured) -> None:
    assert main(["validate"]) == 1
    assert "no data files found in ." in capsys.readouterr().err


def test_a_path_that_does_not_exist(project: Project, capsys: Captured) -> None:
    assert main(["validate", "datasets", "nowhere"]) == 2
    assert "no such file or directory: datasets, nowhere" in capsys.readouterr().err


def test_environments_and_hidden_directories_are_not_searched(project: Project, capsys: Captured) -> None:
    project.suite("one.yaml", case("a"))
    for directory in (".hidden", "node_modules", "env"):
        project.write(f"{directory}/bad.eval.yaml", "nonsense")
    project.write("env/pyvenv.cfg", "")
    assert main(["validate"]) == 0
    assert "1 file, 1 case: no problems" in capsys.readouterr().out


def test_the_root_directory_is_found_from_below(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    project.suite("deep/one.yaml", case("a"))
    monkeypatch.chdir(project.path / "datasets" / "deep")
    assert main(["validate"]) == 0
    assert "one.yaml: 1 case (scenario)" in capsys.readouterr().out


def test_another_root_directory(project: Project, tmp_path: Path, capsys: Captured) -> None:
    project.suite("one.yaml", case("a"))
    (tmp_path / "other").mkdir()
    assert main(["validate", "--rootdir", "other", "datasets/one.yaml"]) == 1
    assert "no server is named" in capsys.readouterr().out


def test_control_characters_do_not_reach_the_terminal(project: Project, capsys: Captured) -> None:
    project.write("bad.eval.yaml", '"te\\e[31msts": []\n')
    assert main(["validate"]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_scans_and_baselines_are_read(project: Project, capsys: Captured) -> None:
    golden = GoldenProject.within(project, "golden")
    golden.bless()
    golden.golden([query(number) for number in range(11)])
    corpus = AttackProject.within(project, "corpus", baseline="baseline_v1.json")
    project.run("--mcpeval-bless", "datasets/corpus", "-q")
    corpus.baseline.write_text(corpus.baseline.read_text().replace('"tp": 8', '"tp": 7'))
    project.write("scans/mcpeval.yaml", "servers: {a: {command: x}}\nsecurity:\n  - scan: [a, b]\n")
    project.write("empty/mcpeval.yaml", "security:\n  - scan: []\n  - detectors: {}\n")
    outcomes = {"gates": {"no_new_failures": True}, "baseline": "one.baseline.json"}
    project.suite("one.yaml", case("a"), **outcomes)
    project.write("datasets/one.baseline.json", '{"kind": "baseline", "of": "session"}')
    project.write("datasets/tools/tools.json", '{"version": "v1", "tools": []}')
    row = {"id": "q", "query": "x", "labels": [{"tool_id": "a:b", "relevance": 1}]}
    project.write_json(
        "datasets/tools/golden.json", {"corpus_version": "v1", "corpus": "tools.json", "queries": [row]}
    )
    assert main(["validate"]) == 1
    lines = capsys.readouterr().out.splitlines()
    for wanted in (
        'scans/mcpeval.yaml:3: scan: unknown server "b"',
        "empty/mcpeval.yaml:2: security[0].scan: expected at least 1 entry",
        "empty/mcpeval.yaml:3: security[1].detectors: expected at least 1 entry",
        "datasets/golden/baseline_v1.json: was made from another golden set",
        "datasets/corpus/baseline_v1.json:",
        "datasets/one.baseline.json:",
        "datasets/tools/tools.json:1: tools: expected at least 1 entry",
    ):
        assert [line for line in lines if line.startswith(wanted)], (wanted, lines)
    assert lines[-1].endswith("problems"), lines


def test_a_scan_is_a_part_of_the_summary(project: Project, capsys: Captured) -> None:
    project.write("mcpeval.yaml", "servers: {a: {command: x}}\nsecurity: {scan: [a]}\n")
    assert main(["validate"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "mcpeval.yaml: 1 case (security)"


def test_the_bundled_suites_are_valid(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(["validate", "datasets"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("no problems")
