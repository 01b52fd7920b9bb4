"""What one kind or target cannot do takes no report of the others with it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.agent.captured_runs import manifest
from tests.collection.test_hooks import KIND
from tests.session.evaluations import ECHO, scenario
from tests.support import Project, Run, case, failing

METHODS = [
    *("measure", "measure_run", "gates", "cases_of_gate", "finalize", "tables", "charts", "attachments"),
    *("compare", "comparison_tables", "session_header", "decides", "asked_of"),
]

RAISING = """
import pytest
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.tables import Row, Table

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
    messages = {
        gate["suite"]: gate["message"] for gate in done.report()["gates"] if gate["name"] == "judging"
    }
    assert messages["datasets/no_json.yaml"].startswith(
        "TypeError: Object of type object is not JSON serializable"
    )
    assert messages["no_text"].startswith(
        "ValueError: table 't': a row has 2 texts, as its header, found Row("
    )
    sample = done.report()["suites"]["datasets/no_sample.yaml"]["cases"][0]
    assert (sample["outcome"], done.line_with("ERROR", "no_sample.yaml::failed") != "") == ("error", True)
    assert done.line_with("what the kind measured is not JSON: Object of type object is not JSON")


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


ENTRIES = [
    {**entry, "server": "s", "tool": "t", "provenance": {"source": "self-authored", "license": "MIT"}}
    for entry in CORPUS
]

DETECTORS = {
    "command": "{command: [no-such-program]}",
    "ends": "{command: [python, -c, import no_such_other]}",
    "fixture": "{fixture: no_such_fixture}",
    "http": "{http: {url: 'http://127.0.0.1:9/detect'}}",
    "mcp": "{mcp: {server: dead, tool: t, arguments: {e: '{entry}'}}}",
    "python": "{python: 'no_such_module:detect'}",
    "raises": "{fixture: broken}",
}
"""Ways in which a detector cannot be asked; each file of `CORPUS` has one on a line of its own."""

CAUSES = {
    "command": ["there is no program 'no-such-program': install it", "defined: datasets/mcpeval.yaml:2"],
    "ends": ["ModuleNotFoundError: No module named 'no_such_other'"],
    "fixture": ["datasets/mcpeval.yaml:4: fixture 'no_such_fixture' not found; pytest --fixtures"],
    "http": ["connection refused: nothing listens there (http://127.0.0.1:9/detect)"],
    "mcp": ["server 'dead' did not start: no-such-server: command not found", ".mcp.json:6"],
    "python": ["detector python:no_such_module:detect cannot be used", "defined: datasets/mcpeval.yaml:7"],
    "raises": ["conftest.py:5: RuntimeError"],
}

NOT_THERE = """
import pytest
@pytest.fixture
def broken():
    raise RuntimeError("no licence")
"""


@pytest.fixture(scope="module", params=["-n0", "-n2"])
def not_there(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Detectors, a retriever, servers, an agent and an evaluation that are not there to be asked."""
    project = Project.at(tmp_path_factory.mktemp("not_there"))
    project.write("conftest.py", NOT_THERE)
    servers = {"tiny": {"module": "server:server"}, "dead": {"command": "no-such-server"}}
    project.write_json(".mcp.json", {"mcpServers": servers})
    project.suite("ours.yaml", case("one"), failing("two"), server="tiny")
    for way in DETECTORS:
        project.write_json(f"datasets/{way}.json", {"version": "v1", "entries": ENTRIES})
    lines = [f"- {{files: {way}.json, detectors: {{d: {value}}}}}" for way, value in DETECTORS.items()]
    retrieval = "- {files: golden.json, corpus: tools.json, retriever: {python: 'no_such_search:search'}}"
    settings = ["security:", *lines, "retrieval:", retrieval]
    project.write("datasets/mcpeval.yaml", "\n".join(settings) + "\n")
    tools = [{"tool_id": "s:t", "server": "s", "tool": "t", "description": "Adds numbers."}]
    project.write_json("datasets/tools.json", {"version": "v1", "tools": tools})
    queries = [
        {"id": f"q{number}", "query": f"sum up {number}", "labels": [{"tool_id": "s:t", "relevance": 1}]}
        for number in range(3)
    ]
    project.write_json("datasets/golden.json", {"version": "v1", "corpus_version": "v1", "queries": queries})
    access = {"url": "http://localhost:1/chat", "auth": {"type": "bearer", "token_env": "NO_SUCH_TOKEN"}}
    asked = [
        {"id": f"a{number}", "input": "hi", "assertions": {"final_response_contains": "hi"}}
        for number in range(2)
    ]
    project.write_json("datasets/secret.agent.yaml", manifest(*asked, name="secret", access=access))
    return project.run(
        request.param,
        *("--mcpeval-report=report", "--html=report.html", "--junitxml=junit.xml"),
        columns=200,
        NO_SUCH_TOKEN="",
    )


def test_a_target_that_is_not_there_is_one_error_that_names_it(not_there: Run) -> None:
    assert "INTERNALERROR" not in not_there.out + not_there.err
    assert not_there.status == 1
    blocks = not_there.out.partition(" FAILURES ")[0].split(" ERROR at ")[1:]
    assert len(blocks) == len(DETECTORS) + 2, not_there.out
    for way, words in CAUSES.items():
        (block,) = (one for one in blocks if words[0] in one)
        assert all(word in block for word in words), block
        assert "3 more cases were not asked because of this error" in block, way
    (search,) = (one for one in blocks if "retriever python:no_such_search:search cannot be used" in one)
    assert "defined: datasets/mcpeval.yaml:10" in search
    assert "2 more cases were not asked" in search
    (agent,) = (one for one in blocks if "takes credentials from NO_SUCH_TOKEN, which is not set" in one)
    assert "1 more case was not asked" in agent
    counts = f"{len(DETECTORS) + 2} errors, {3 * len(DETECTORS) + 2 + 1} not asked"
    assert counts in not_there.last_line
    assert sum(line.startswith("ERROR ") for line in not_there.lines) == len(blocks)


def test_every_case_that_was_not_asked_stays_an_error(not_there: Run) -> None:
    suites = not_there.report()["suites"]
    assert suites["datasets/ours.yaml"]["metrics"]["summary"]["passed"] == 1
    count = 4 * len(DETECTORS) + 3 + 2
    junit = [found for found in not_there.junit_cases() if found.find("error") is not None]
    # A program that ends before it answers, and a URL, are found out by asking.
    entries = {f"d-{entry['id']}" for entry in CORPUS}
    asked = [found for found in not_there.junit_cases() if found.find("failure") is not None]
    late = [found for found in asked if found.attrib["name"] in entries]
    assert (len(junit), len(late)) == (count - 8, 8)
    for name, suite in suites.items():
        if name != "datasets/ours.yaml":
            assert {one["outcome"] for one in suite["cases"]} == {"error"}, name
            assert len({one["message"].partition("; ")[2] or one["message"] for one in suite["cases"]}) == 1
    rows = [row for _, row in not_there.html_rows() if row["result"] in ("Error", "Failed")]
    assert len([row for row in rows if "::gates::" not in row["testId"]]) >= count


@pytest.mark.parametrize("options", [["-x"], ["--maxfail=2"], ["-p", "no:terminal"], ["-p", "no:html"]])
def test_cases_that_were_not_asked_stop_a_run_and_fail_it(tmp_path: Path, options: list[str]) -> None:
    project = Project.at(tmp_path)
    project.write_json(".mcp.json", {"mcpServers": {"dead": {"command": "no-such-server"}}})
    project.suite("a.yaml", *(case(f"c{number}") for number in range(5)), server="dead")
    done = project.run(*options, "--mcpeval-report=report")
    assert done.status == 1
    assert "INTERNALERROR" not in done.out + done.err
    counts = {"-x": "1 error in", "--maxfail=2": "1 error, 1 not asked in", "-p": "1 error, 4 not asked in"}
    if "no:terminal" in options:
        assert "not asked" not in done.out
    else:
        assert counts[options[0]] in done.last_line


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


KEPT = {
    "dispositions": {"tiny": {"disposition": "sandboxed", "test_resources": ["hello"]}},
    "approval": "approve",
    "scenarios": [scenario(ECHO)],
}
"""An evaluation, which is kept on disk."""


def test_a_read_only_checkout(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "checkout")
    project.suite("a.yaml", case("one"), server="tiny", gates={"pass_rate": 1})
    project.write_json("evals/kept.scenarios.yaml", KEPT)
    for path in [tmp_path / "checkout", *(tmp_path / "checkout").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    command = project.command("--mcpeval-report", str(tmp_path / "report"), "datasets")
    if os.getuid() == 0:
        # Root writes where it likes, unless it gives that up.
        dropped = "-dac_override,-dac_read_search"
        command = ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}", *command]

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=tmp_path / "checkout",
            env=project.environ(300, PYTHONDONTWRITEBYTECODE="1"),
            capture_output=True,
            text=True,
            check=False,
        )

    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert json.loads((tmp_path / "report/report.json").read_text())["verdict"] == "passed"
    # What has to write says where, and what to set.
    kept = run(*command[:-1], "evals/kept.scenarios.yaml")
    assert kept.returncode == 1
    assert "the evaluation cannot be kept in " in kept.stdout, kept.stdout + kept.stderr
    assert "Permission denied: name a root directory that you can write with --rootdir=DIR" in kept.stdout
    assert re.search("1 error, 1 not asked", kept.stdout)
