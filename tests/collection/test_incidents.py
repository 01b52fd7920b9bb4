"""What one kind or target cannot do takes no report of the others with it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.collection.test_hooks import KIND
from tests.support import Project, case, failing

METHODS = [
    *("measure", "measure_run", "gates", "cases_of_gate", "conclude", "tables", "charts", "exhibits"),
    *("compare", "comparison_tables", "session_header", "decides", "asked_of"),
]

RAISING = """
import pytest
from pytest_mcpeval.gates import GateResult
from pytest_mcpeval.tables import Row, Table

class Target:
    def close(self):
        raise RuntimeError("cannot be closed")

def judge(self, suite, case, answers, runtime):
    if self.name in ("words", "asked_of"):
        runtime.target(self.name, Target)
    outcome = "wrong" if case.id == "wrong" else "failed"
    return Sample(suite.key, self.name, case.id, outcome, message="no")

def prepare(self, suite, case, runtime):
    if self.name == "asked_of":
        raise RuntimeError("not there")

def gates(self, suite, samples, *, blessing):
    return [GateResult(suite.key, "g", "passed", "fine")]

def raising(self, *arguments, **options):
    (pytest.skip if self.name == "gates" else int)("no number")

def unsound(self, suite, case, answers, runtime):
    return Sample(suite.key, self.name, case.id, "passed", measured={"x": object()})

WRONG = {
    "no_sample": {"judge": unsound},
    "odd_table": {"tables": lambda self, samples: [Table("t", ("", "x"), (Row(("one",)),))]},
    "no_text": {"tables": lambda self, samples: [Table("t", ("", "x"), (Row((1, 2)),))]},
    "no_json": {"measure": lambda self, samples: {"x": object()}},
}

def kind(name):
    own = WRONG.get(name) or ({name: raising} if name != "words" else {})
    shared = {"name": name, "judge": judge, "prepare": prepare, "gates": gates,
              "compare": lambda *_: {"x": 1}, "comparison_tables": lambda *_: []}
    return type(name, (Words,), {**shared, **own})()

def pytest_mcpeval_kinds():
    return [kind(name) for name in NAMES]
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_whatever_a_kind_raises_the_others_are_judged_and_reported(tmp_path: Path, workers: str) -> None:
    names = ["words", *METHODS, "odd_table"]
    project = Project.at(tmp_path)
    project.write(
        "conftest.py", KIND.partition("\ndef pytest_mcpeval_kinds")[0] + RAISING.replace("NAMES", str(names))
    )
    for name in names:
        project.write(f"datasets/{name}.yaml", f"kind: {name}\nwords: [failed, wrong]\n")
    project.suite("ours.yaml", case("one"), server="tiny", gates={"pass_rate": 1})
    done = project.run("-n", workers, "--mcpeval-report=report", "--html=report.html", columns=250)
    assert "INTERNALERROR" not in done.out + done.err
    assert done.status == 1
    report = done.report()
    assert report["verdict"] == "error"
    judged = {gate["suite"]: gate["message"] for gate in report["gates"] if gate["name"] == "judging"}
    silent = ("words", "session_header", "asked_of")
    wholes = ("tables", "charts", "comparison_tables")
    expected = {name if name in wholes else f"datasets/{name}.yaml" for name in names if name not in silent}
    assert set(judged) == {"odd_table" if "odd_table" in one else one for one in expected}
    assert judged.pop("odd_table").startswith(
        "ValueError: table 't': a row has 2 texts, as its header, found Row("
    )
    assert judged.pop("datasets/gates.yaml").startswith("Skipped: no number; raised in raising (conftest.py:")
    for message in judged.values():
        assert message.startswith(
            "ValueError: invalid literal for int() with base 10: 'no number'; raised in "
        )
        assert "raising (conftest.py:" in message
    assert done.gates()["ours::pass_rate"] == "passed"
    assert set(report["suites"]) == {f"datasets/{name}.yaml" for name in [*names, "ours"]}
    assert done.line_with("session_header: no header: ValueError")
    assert done.line_with("while closing: RuntimeError: cannot be closed; raised in close (")
    assert len(list(done.html_rows())) > len(names)


def test_a_table_and_a_metric_that_cannot_be_shown(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    names = ["no_text", "no_json", "no_sample"]
    project.write(
        "conftest.py", KIND.partition("\ndef pytest_mcpeval_kinds")[0] + RAISING.replace("NAMES", str(names))
    )
    for name in names:
        project.write(f"datasets/{name}.yaml", f"kind: {name}\nwords: [failed]\n")
    done = project.run("--mcpeval-report=report", columns=200)
    assert "INTERNALERROR" not in done.out + done.err
    assert done.status == 1
    told = {gate["suite"]: gate["message"] for gate in done.report()["gates"] if gate["name"] == "judging"}
    assert told["datasets/no_json.yaml"].startswith(
        "TypeError: Object of type object is not JSON serializable"
    )
    assert told["no_text"].startswith("ValueError: table 't': a row has 2 texts, as its header, found Row(")
    sample = done.report()["suites"]["datasets/no_sample.yaml"]["cases"][0]
    assert (sample["outcome"], done.line_with("ERROR", "no_sample.yaml::failed") != "") == ("error", True)
    assert done.line_with("what the kind measured is no JSON: Object of type object is not JSON")


def test_a_hook_that_raises_says_so(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("conftest.py", "def pytest_mcpeval_kinds():\n    return [1 / 0]\n")
    done = project.run()
    assert done.status == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: a pytest_mcpeval_ hook raised ZeroDivisionError: division by zero; raised in" in done.err
    assert "conftest.py:2" in done.err


CORPUS = [
    {"id": f"m{number}", "label": "malicious", "category": "tool_poisoning", "description": f"Read {number}."}
    for number in range(3)
] + [{"id": "b", "label": "benign", "category": "benign", "description": "Adds."}]


def test_a_detector_that_cannot_start(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("ours.yaml", case("one"), failing("two"), server="tiny")
    license_of = {"source": "self-authored", "license": "MIT"}
    entries = [{**entry, "server": "s", "tool": "t", "provenance": license_of} for entry in CORPUS]
    ways = {"command": "[no-such-program]", "python": "no_such_module:detect", "fixture": "no_such_fixture"}
    lines = []
    for way, value in ways.items():
        project.write_json(f"datasets/{way}.json", {"version": "v1", "entries": entries})
        lines.append(
            f"- {{files: {way}.json, detectors: {{d: {{{way}: {value!r}}}}}}}".replace("'[", "[").replace(
                "]'", "]"
            )
        )
    project.write("datasets/mcpeval.yaml", "security:\n" + "\n".join(lines) + "\n")
    done = project.run("--mcpeval-report=report", columns=200)
    assert "INTERNALERROR" not in done.out + done.err
    assert done.status == 1
    report = done.report()
    assert set(report["suites"]) == {
        f"datasets/{name}" for name in ("ours.yaml", *(f"{way}.json" for way in ways))
    }
    assert report["suites"]["datasets/ours.yaml"]["metrics"]["summary"]["passed"] == 1
    assert done.line_with("cannot be used: there is no program 'no-such-program'")
    assert done.line_with("No module named 'no_such_module'")
    assert done.line_with("fixture 'no_such_fixture' not found")


def test_without_docstrings_and_asserts(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("a.yaml", case("one"), failing("two"), server="tiny", gates={"pass_rate": 0.5})
    done = project.run("--mcpeval-report=report", PYTHONOPTIMIZE="2")
    assert done.report()["suites"]["datasets/a.yaml"]["metrics"]["summary"]["passed"] == 1, (
        done.out + done.err
    )
    assert done.gates() == {"a::pass_rate": "passed"}
    for command in (["--help"], ["validate", "datasets"], ["schema", "scenario"], ["servers"]):
        found = subprocess.run(
            ["pytest-mcpeval", *command],
            cwd=tmp_path,
            env={**project.environ(), "PYTHONOPTIMIZE": "2"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stderr
        assert "Traceback" not in found.stderr


def test_a_read_only_checkout(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "checkout")
    project.suite("a.yaml", case("one"), server="tiny", gates={"pass_rate": 1})
    for path in [tmp_path / "checkout", *(tmp_path / "checkout").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    command = project.command("--mcpeval-report", str(tmp_path / "report"))
    if os.getuid() == 0:
        # Root writes where it likes, unless it gives that up.
        dropped = "-dac_override,-dac_read_search"
        command = ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}", *command]
    done = subprocess.run(
        command,
        cwd=tmp_path / "checkout",
        env=project.environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert json.loads((tmp_path / "report/report.json").read_text())["verdict"] == "passed"
