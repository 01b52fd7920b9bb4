"""Servers that misbehave, seen through pytest: the case says so, the next works, nothing is left running."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

FAULTY = Path(__file__).parents[1] / "servers" / "fault_servers" / "faulty.py"
MODES = {"serial": [], "n0": ["-n0"], "n2": ["-n2"], "no-xdist": ["-p", "no:xdist"]}

WORKS = {"tool": "ok", "input": {"value": "1"}}
FAULTS: dict[str, dict[str, Any]] = {
    "exits": {"tool": "exit_3", "input": {}},
    "segfaults": {"tool": "segfault", "input": {}},
    "hangs": {"tool": "hang", "input": {}, "timeout": 1},
    "half-a-line": {"tool": "half", "input": {}},
    "unknown-tool": {"tool": "okk", "input": {}},
}
SURVIVED: dict[str, dict[str, Any]] = {
    "garbage": {"tool": "garbage", "input": {}},
    "huge": {"tool": "huge", "input": {"size": 20_000_000}},
    "flood": {"tool": "flood", "input": {"megabytes": 30}},
}


def case(case_id: str, fields: dict[str, Any]) -> dict[str, Any]:
    expected = {"validations": [{"type": "min_length", "chars": 1}]}
    return {"id": case_id, "expected": expected, **fields}


def suite(**settings: Any) -> str:
    """Every fault, each followed by a case that must work."""
    cases = []
    for name, fields in {**FAULTS, **SURVIVED}.items():
        cases += [case(name, fields), case(f"after-{name}", WORKS)]
    return json.dumps({"name": "faults", "server": "faulty", "tests": cases, **settings})


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose server is the faulty one; its path makes its processes recognisable."""
    script = pytester.path / "faulty.py"
    script.write_bytes(FAULTY.read_bytes())
    server = {"command": sys.executable, "args": [str(script)]}
    (pytester.path / ".mcp.json").write_text(json.dumps({"mcpServers": {"faulty": server}}))
    (pytester.path / "datasets").mkdir()
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    return pytester


def processes_of(project: pytest.Pytester) -> list[str]:
    """The command lines that mention the project and still run."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(project.path) in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def outcomes(project: pytest.Pytester) -> dict[str, str]:
    report = json.loads((project.path / "out" / "report.json").read_text())
    (found,) = report["suites"].values()
    return {entry["id"]: entry["outcome"] for entry in found["cases"]}


@pytest.mark.parametrize(("mode", "concurrency"), [("serial", 1), ("n0", 8), ("n2", 1), ("n2", 8)])
def test_after_each_fault_the_next_case_works(project: pytest.Pytester, mode: str, concurrency: int) -> None:
    (project.path / "datasets" / "faults.json").write_text(suite(concurrency=concurrency))
    result = project.runpytest_subprocess("--mcpeval", "--mcpeval-report", "out", *MODES[mode])
    assert result.ret == 1
    found = outcomes(project)
    assert {name for name, outcome in found.items() if outcome == "failed"} == set(FAULTS)
    assert {name for name, outcome in found.items() if outcome != "failed"} == {
        *SURVIVED,
        *(f"after-{name}" for name in {**FAULTS, **SURVIVED}),
    }
    result.assert_outcomes(passed=len(found) - len(FAULTS), failed=len(FAULTS))
    assert not processes_of(project)


def test_what_a_person_reads_about_each_fault(project: pytest.Pytester) -> None:
    (project.path / "datasets" / "faults.json").write_text(suite())
    result = project.runpytest_subprocess("--mcpeval")
    result.stdout.fnmatch_lines_random(
        [
            "*answered: the server exited with code 3 during the call of 'exit_3'*",
            "    the disk is full",
            "*answered: the server was killed by SIGSEGV during the call of 'segfault'*",
            "*answered: the call of 'hang' was not answered within 1 s*",
            "*answered: server 'faulty' has no tool 'okk': did you mean ok?*",
        ]
    )
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_does_not_start_is_told_once(project: pytest.Pytester, mode: str) -> None:
    servers = json.loads((project.path / ".mcp.json").read_text())
    servers["mcpServers"]["faulty"]["args"].append("exit-at-once")
    (project.path / ".mcp.json").write_text(json.dumps(servers))
    cases = [case(f"c{number}", WORKS) for number in range(6)]
    (project.path / "datasets" / "s.json").write_text(json.dumps({"name": "s", "tests": cases}))
    result = project.runpytest_subprocess("--mcpeval", *MODES[mode])
    result.assert_outcomes(errors=6)
    text = result.stdout.str()
    workers = 2 if mode == "n2" else 1
    assert text.count("its last words") == workers
    assert text.count("did not start (reported above)") >= 6 - workers
    result.stdout.fnmatch_lines(["server 'faulty' did not start: it exited with code 1 before it answered"])
    result.stdout.fnmatch_lines(["    no database at *"])
    assert "Traceback" not in text
    assert not processes_of(project)


def test_what_a_server_says_cannot_steer_the_terminal(project: pytest.Pytester) -> None:
    words = "import sys; sys.stderr.write('\\x1b[31mred\\x07\\n'); sys.exit(7)"
    server = {"command": sys.executable, "args": ["-c", words]}
    (project.path / ".mcp.json").write_text(json.dumps({"mcpServers": {"faulty": server}}))
    (project.path / "datasets" / "s.json").write_text(json.dumps({"name": "s", "tests": [case("c", WORKS)]}))
    result = project.runpytest_subprocess("--mcpeval")
    assert r"    \x1b[31mred\x07" in result.outlines
    assert "\x1b" not in result.stdout.str()
    assert "\x07" not in result.stdout.str()


def test_a_missing_command_is_named(project: pytest.Pytester) -> None:
    server = {"command": "no-such-command-here"}
    (project.path / ".mcp.json").write_text(json.dumps({"mcpServers": {"faulty": server}}))
    (project.path / "datasets" / "s.json").write_text(json.dumps({"name": "s", "tests": [case("c", WORKS)]}))
    result = project.runpytest_subprocess("--mcpeval")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["server 'faulty' did not start: no-such-command-here: command not found"])


@pytest.mark.parametrize("mode", ["serial", "n2"])
def test_a_fresh_case_has_a_server_of_its_own(project: pytest.Pytester, mode: str) -> None:
    cases = [
        {
            "id": f"c{number}",
            "steps": [{"tool": "pid", "expected": {"validations": [{"type": "min_length", "chars": 1}]}}],
        }
        for number in range(3)
    ]
    for name, fresh in (("shared", False), ("private", True)):
        data = {"name": name, "server": "faulty", "fresh": fresh, "tests": cases}
        (project.path / "datasets" / f"{name}.json").write_text(json.dumps(data))
    distribution = [*MODES[mode], "--dist", "loadfile"] if mode == "n2" else MODES[mode]
    result = project.runpytest_subprocess("--mcpeval", "--mcpeval-report", "out", *distribution)
    result.assert_outcomes(passed=6)
    runs = json.loads((project.path / "out" / "report.json").read_text())["run"]["suites"]
    pids = {key: {case["answers"][0]["text"] for case in run["cases"].values()} for key, run in runs.items()}
    assert len(pids["datasets/shared.json"]) == 1
    assert len(pids["datasets/private.json"]) == 3
    assert not processes_of(project)


def test_killing_pytest_leaves_no_server(project: pytest.Pytester) -> None:
    # The grandchild shows that the server was called; a hanging server ignores that its input has ended.
    steps = [{"tool": "leave_grandchild"}, {"tool": "hang", "expected": case("", {})["expected"]}]
    data = {"name": "s", "tests": [{"id": "c", "steps": steps}]}
    (project.path / "datasets" / "s.json").write_text(json.dumps(data))
    process = project.popen([sys.executable, "-m", "pytest", "--mcpeval"])
    victim = psutil.Process(process.pid)
    while not any(child.name() == "sleep" for child in victim.children(recursive=True)):
        assert process.poll() is None, "pytest ended before it was killed"
    servers = victim.children(recursive=True)
    process.kill()
    # Not communicate(): on Python 3.11.2 it fails, because pytester has closed the standard input.
    with process:
        process.wait()
    _, alive = psutil.wait_procs(servers, timeout=15)
    assert not alive


@pytest.mark.parametrize("mode", ["serial", "n2"])
def test_a_private_server_that_does_not_start_is_an_error(project: pytest.Pytester, mode: str) -> None:
    servers = json.loads((project.path / ".mcp.json").read_text())
    servers["mcpServers"]["faulty"]["args"].append("exit-at-once")
    (project.path / ".mcp.json").write_text(json.dumps(servers))
    cases = [case(f"c{number}", WORKS) for number in range(2)]
    data = {"name": "s", "fresh": True, "tests": cases}
    (project.path / "datasets" / "s.json").write_text(json.dumps(data))
    result = project.runpytest_subprocess("--mcpeval", "--mcpeval-report", "out", *MODES[mode])
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines_random(["*ERROR at setup of c0*", "*ERROR at setup of c1*"])
    result.stdout.fnmatch_lines(["server 'faulty' did not start: it exited with code 1 before it answered"])
    assert set(outcomes(project).values()) == {"error"}
    assert not processes_of(project)
