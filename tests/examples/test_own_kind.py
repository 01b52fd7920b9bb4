"""A kind and a report format that a conftest adds, as the docs describe them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import Project

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_kind"
SUITE = "words.spelling.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__"))
    project = Project(tmp_path / "project")
    project.write("pytest.ini", "[pytest]\n")
    return project


def command(project: Project, *arguments: str) -> tuple[int, str]:
    call = "import sys; from pytest_mcpeval.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", call, *arguments], cwd=project.path, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "xdist"])
def test_its_cases_gate_table_and_report(project: Project, mode: tuple[str, ...]) -> None:
    run = project.run(*mode, SUITE, "--mcpeval-report=report")
    assert run.status == 0, run.out
    assert run.last_line.startswith("5 passed, 1 tolerated"), run.out  # Four words and a gate.
    assert "reports: report/report.json, report.md, report.html and cases.csv" in run.out
    assert run.report("report")["suites"][SUITE]["metrics"] == {"accuracy": 0.8}
    lines = (project.path / "report" / "cases.csv").read_text("utf-8").splitlines()
    assert len(lines) == 6
    assert lines[-1] == f"{SUITE},rhythm,tolerated"


def test_a_gate_that_fails_and_the_text_on_a_case(project: Project) -> None:
    path = project.path / "mcpeval.yaml"
    path.write_text(path.read_text("utf-8").replace("0.8", "0.9"), "utf-8")
    run = project.run(SUITE, "-rA")
    assert run.status == 1
    assert "0.8, wanted at least 0.9" in run.out


def test_validate_and_schema_know_it(project: Project) -> None:
    status, out = command(project, "validate")
    assert (status, out.splitlines()[-2:]) == (
        0,
        [f"{SUITE}: 5 cases (spelling)", "2 files, 5 cases: no problems"],
    ), out
    status, out = command(project, "schema", "spelling")
    schema = json.loads(out)
    assert (status, schema["additionalProperties"]) == (0, False)
    assert schema["$defs"]["Word"]["additionalProperties"] is False
    status, out = command(project, "schema", "mcpeval.yaml")
    schema = json.loads(out)
    entry = schema["properties"]["spelling"]["items"]["$ref"].rpartition("/")[2]
    assert "accuracy" in schema["$defs"][entry]["properties"]
    status, out = command(project, "schema", "speling")
    assert status == 2
    assert '(did you mean "spelling"?)' in out


@pytest.mark.parametrize("base", ["FileModel", "pydantic.BaseModel"])
def test_misspelt_keys_are_refused_by_models_that_say_nothing(project: Project, base: str) -> None:
    conftest = (project.path / "conftest.py").read_text("utf-8").replace("(FileModel)", f"({base})")
    project.write("conftest.py", f"import pydantic\n{conftest}")
    text = (project.path / SUITE).read_text("utf-8")
    project.write(SUITE, text.replace("wrong: rythm", "wrong: rythm, rihgt: x"))
    project.write("datasets/more.yaml", f"{text}wrods: []\n")
    settings = (project.path / "mcpeval.yaml").read_text("utf-8")
    project.write("mcpeval.yaml", f"{settings}  - server: speler\n    files: datasets/**\n")
    status, out = command(project, "validate")
    assert status == 1
    assert f'{SUITE}:6: words[4]: unknown key "rihgt"' in out
    assert 'datasets/more.yaml:7: unknown key "wrods"' in out
    project.write("datasets/more.yaml", text)
    status, out = command(project, "validate")
    assert 'server: unknown server "speler" (did you mean "speller"?)' in out
    project.write("mcpeval.yaml", settings.replace("accuracy", "acuracy"))
    status, out = command(project, "validate")
    assert 'spelling[0]: unknown key "acuracy" (did you mean "accuracy"?)' in out


def test_a_conftest_that_cannot_be_read(project: Project) -> None:
    project.write("conftest.py", "1 / 0\n")
    for arguments in (["validate"], ["schema", "spelling"]):
        status, out = command(project, *arguments)
        assert status == 2
        assert "pytest does not start" in out
        assert "ZeroDivisionError" in out


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("1 / 0", "raised ZeroDivisionError"),
        ('{"report.json": ""}', "two reports are named 'report.json'"),
        ('{"../x": ""}', "'../x' is not the name of a file"),
        ('["x"]', "expected a mapping"),
        ('{"x": 1}', "expected the text of a report"),
    ],
)
def test_a_report_that_cannot_be_made_is_told(project: Project, returned: str, words: str) -> None:
    conftest = (project.path / "conftest.py").read_text("utf-8").partition("def pytest_mcpeval_report")[0]
    project.write("conftest.py", f"{conftest}def pytest_mcpeval_report(evaluation):\n    return {returned}\n")
    run = project.run(SUITE, "--mcpeval-report=report")
    assert run.status == 1
    assert "ERROR: the hook pytest_mcpeval_report" in run.out
    assert words in run.out
    assert run.report("report")["verdict"] == "passed"


def test_nothing_is_written_unasked_and_a_table_may_have_one_column(project: Project) -> None:
    conftest = (project.path / "conftest.py").read_text("utf-8")
    tables = 'return [Table("Seen", ("",), (Row(("all words",)),)), Table("Spelling"'
    project.write("conftest.py", conftest.replace('return [Table("Spelling"', tables))
    run = project.run(SUITE, "-v")
    assert run.status == 0, run.out
    assert "all words" in run.out
    assert not list(project.path.rglob("cases.csv"))


def test_merge_writes_its_report(project: Project) -> None:
    for number in range(2):
        chosen = "receive or rhythm" if number else "not receive and not rhythm"
        run = project.run("--mcpeval-shard", f"--mcpeval-report=shard{number}", SUITE, "-k", chosen)
        assert run.status == 0, run.out
    status, out = command(project, "merge", "shard0", "shard1", "--paths", SUITE, "--report", "whole")
    assert status == 0, out
    assert "reports: whole/report.json, report.md, report.html and cases.csv" in out
    assert len((project.path / "whole" / "cases.csv").read_text("utf-8").splitlines()) == 6


def test_a_command_that_it_brings(project: Project) -> None:
    project.write(
        "counting.py",
        "from pathlib import Path\n\n"
        "def add_parser(commands):\n    return commands.add_parser('count-words')\n\n"
        "def run(options):\n    with options.project(Path.cwd()) as context:\n"
        "        print('many words in', context.key(Path('a.yaml').absolute()))\n    return 0\n",
    )
    conftest = (project.path / "conftest.py").read_text("utf-8")
    brings = 'name = "spelling"\n    commands = {"count-words": "counting"}'
    project.write("conftest.py", conftest.replace('name = "spelling"', brings))
    assert command(project, "count-words") == (0, "many words in a.yaml\n")
    status, out = command(project, "count-wrods")
    assert status == 2
    assert "unknown command 'count-wrods' (did you mean \"count-words\"?)" in out
