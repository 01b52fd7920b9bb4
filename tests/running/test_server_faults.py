"""Servers that misbehave, seen through pytest: the case says so, the next works, nothing is left running."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from pytest_mcpeval.config.settings import Settings
from pytest_mcpeval.plugin.prefetch import Prefetch
from tests.support import Case, Project, Run

FAULTY = Path(__file__).parents[1] / "servers" / "fault_servers" / "faulty.py"

WORKS = {"tool": "ok", "input": {"value": "1"}}
FAULTS: dict[str, dict[str, Any]] = {
    "exits": {"tool": "exit_3", "input": {}},
    "segfaults": {"tool": "segfault", "input": {}},
    "hangs": {"tool": "hang", "input": {}, "timeout": 0.5},
    "half-a-line": {"tool": "half", "input": {}},
    "empty": {"tool": "empty", "input": {}, "expected": {"validations": [{"type": "is_error"}]}},
}
SURVIVED: dict[str, dict[str, Any]] = {
    "garbage": {"tool": "garbage", "input": {}},
    "huge": {"tool": "huge", "input": {"size": 5_000_000}},
    "flood": {"tool": "flood", "input": {"megabytes": 5}},
    "rejected": {
        "tool": "rejects",
        "input": {"code": -32000},
        "expected": {"validations": [{"type": "is_error", "contains": "Rate limit"}]},
    },
}
UNUSABLE = {"tool": "unusable", "input": {"a": 1}}
UNASKABLE: dict[str, dict[str, Any]] = {
    "unknown-tool": {"tool": "okk", "input": {}},
    "unusable": UNUSABLE,
    "unusable-rejection": {**UNUSABLE, "expect_rejection": True},
}
MODES: dict[str, tuple[str, ...]] = {"serial": (), "n0": ("-n0",), "n2": ("-n2",)}


def case(case_id: str, fields: Mapping[str, Any]) -> Case:
    expected = {"validations": [{"type": "min_length", "chars": 1}]}
    return {"id": case_id, "expected": expected, **fields}


def project_at(path: Path) -> Project:
    """A project with the faulty server's script; its processes are found by its path."""
    project = Project(path)
    project.write("faulty.py", FAULTY.read_text(encoding="utf-8"))
    project.write("pytest.ini", "[pytest]\n")
    return project


def define(project: Project, **commands: list[str]) -> None:
    """Define servers, each by its command."""
    servers = {name: {"command": words[0], "args": words[1:]} for name, words in commands.items()}
    project.write_json(".mcp.json", {"mcpServers": servers})


def faulty(project: Project, *start: str) -> list[str]:
    """The command of the faulty server."""
    return [sys.executable, str(project.path / "faulty.py"), *start]


def processes_of(project: Project) -> list[str]:
    """The command lines that mention the project and still run."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(project.path) in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def outcomes(run: Run, suite: str) -> dict[str, str]:
    """Case → outcome."""
    found = run.report()["suites"][f"datasets/{suite}"]
    return {entry["id"]: entry["outcome"] for entry in found["cases"]}


RunIn = Callable[[str], Run]


@pytest.fixture(scope="module")
def faults_in(tmp_path_factory: pytest.TempPathFactory) -> RunIn:
    """Every fault, each followed by a case that must work; and a server that is asked for its process id."""

    @cache
    def run(mode: str) -> Run:
        project = project_at(tmp_path_factory.mktemp("faults"))
        endless = faulty(project, "endless-list")
        define(project, faulty=faulty(project), steady=faulty(project), endless=endless)
        project.suite("endless.json", case("e", WORKS), server="endless")
        announcing = {"tool": "announce", "fresh": False}
        words = [("one", False), ("two", True), ("three", True)]
        cases = [
            case(said, {**announcing, "input": {"words": f"about {said}", "fails": fails}})
            for said, fails in words
        ]
        unmet = {"expected": {"validations": [{"type": "contains", "value": "no such words"}]}}
        said = {"input": {"words": "about four", "fails": False}}
        cases.append({**announcing, **said, "id": "four", **unmet})
        steps = [{**case("", {"tool": "announce", **said}), **more} for more in ({}, unmet)]
        cases.append({"id": "five", "steps": [{k: v for k, v in s.items() if k != "id"} for s in steps]})
        project.suite("chatty.json", *cases, server="steady")
        cases = []
        for name, fields in {**FAULTS, **SURVIVED, **UNASKABLE}.items():
            cases += [case(name, fields), case(f"after-{name}", WORKS)]
        concurrency = 1 if mode == "serial" else 8
        project.suite("faults.json", *cases, server="faulty", concurrency=concurrency)
        asked = {"steps": [{"tool": "pid", "expected": case("", {})["expected"]}]}
        cases = [{"id": f"c{number}", **asked} for number in range(4)]
        for name, fresh in (("shared", False), ("private", True)):
            project.suite(f"{name}.json", *cases, server="steady", fresh=fresh)
        done = project.run(*MODES[mode], "--mcpeval-report", "report")
        assert not processes_of(project)
        return done

    return run


@pytest.fixture(scope="module", params=MODES)
def faults(request: pytest.FixtureRequest, faults_in: RunIn) -> Run:
    """The run with the faults: one call at a time when serial, else eight."""
    return faults_in(request.param)


def test_after_each_fault_the_next_case_works(faults: Run) -> None:
    assert faults.status == 1
    found = outcomes(faults, "faults.json")
    assert {name for name, outcome in found.items() if outcome == "failed"} == set(FAULTS)
    assert {name for name, outcome in found.items() if outcome == "error"} == set(UNASKABLE)
    assert {name for name, outcome in found.items() if outcome == "passed"} == {
        *SURVIVED,
        *(f"after-{name}" for name in {**FAULTS, **SURVIVED, **UNASKABLE}),
    }
    # And the thirteen cases of the three other suites, four of which fail.
    passed = len(found) - len(FAULTS) - len(UNASKABLE) + 9
    assert faults.last_line.startswith(
        f"{len(FAULTS) + 4} failed, {passed} passed, {len(UNASKABLE) + 1} errors in"
    )


def test_a_case_that_another_one_harmed_is_asked_again_alone() -> None:
    other_began, asked_again = threading.Event(), threading.Event()
    in_flight: list[str] = []
    seen: list[list[str]] = []

    def ask(_: object, asked: SimpleNamespace, __: object) -> str:
        if asked.id == "other":
            in_flight.append(asked.id)
            other_began.set()
            # Nobody asks again meanwhile: this wait ends by itself.
            asked_again.wait(0.3)
            in_flight.clear()
        elif seen or not other_began.is_set():
            other_began.wait()
            return "harmed"
        else:
            seen.append([*in_flight])
            asked_again.set()
        return "fine"

    kind: Any = SimpleNamespace(ask=ask, must_ask_again=lambda answers: answers == "harmed", asks_once=True)
    suite: Any = SimpleNamespace(key="s", kind="k", stateful=False)
    cases: list[Any] = [SimpleNamespace(id=name, may_prefetch=True) for name in ("harmed", "other")]
    context: Any = None
    prefetch = Prefetch(context, {"k": kind}, Settings(Path(), concurrency=2))
    prefetch.upcoming = lambda *_: cases
    assert list(prefetch.answers(suite, cases[0])) == ["fine"]
    assert seen == [[]]
    prefetch.close()


def test_a_case_shows_what_the_server_wrote_during_it(faults: Run) -> None:
    cases = faults.report()["run"]["suites"]["datasets/chatty.json"]["cases"]
    assert {name: found["answers"][0].get("stderr") for name, found in cases.items()} == {
        "one": None,
        "two": "about two",
        "three": "about three",
        "four": "about four",
        "five": None,
    }
    assert cases["five"]["answers"][1]["stderr"] == "about four\nabout four"
    shown = [line.strip() for line in faults.lines]
    assert [shown.count(f"about {name}") for name in ("one", "two", "three", "four")] == [0, 1, 1, 3]


def test_a_server_whose_list_has_no_end_cannot_be_asked(faults: Run) -> None:
    (found,) = faults.report()["suites"]["datasets/endless.json"]["cases"]
    assert found["outcome"] == "error"
    words = (
        "the server cannot list its tools: the server's list of tools has no end: the cursor '1' came twice"
    )
    assert words in found["message"]


def test_what_a_person_reads_about_each_fault(faults_in: RunIn) -> None:
    faults = faults_in("serial")
    for words in (
        "answered: the server exited with code 3 during the call of 'exit_3'",
        "answered: the server was killed by SIGSEGV during the call of 'segfault'",
        "answered: the call of 'hang' was not answered within 0.5 s",
        "server 'faulty' has no tool 'okk': did you mean ok?",
    ):
        assert faults.line_with(words)
    assert "    the disk is full" in faults.lines
    assert "Traceback" not in faults.out + faults.err


def test_a_fresh_case_has_a_server_of_its_own(faults: Run, request: pytest.FixtureRequest) -> None:
    suites = faults.report()["run"]["suites"]

    def servers(suite: str) -> set[str]:
        return {found["answers"][0]["text"] for found in suites[suite]["cases"].values()}

    # A server is shared within a process.
    processes = 2 if "n2" in request.node.callspec.id else 1
    assert 1 <= len(servers("datasets/shared.json")) <= processes
    assert len(servers("datasets/private.json")) == 4
    assert set(outcomes(faults, "private.json").values()) == {"passed"}


@pytest.fixture(scope="module", params=["serial", "n2"])
def not_started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Servers that do not start, each in its way."""
    project = project_at(tmp_path_factory.mktemp("not_started"))
    steering = "import sys; sys.stderr.write('\\x1b[31mred\\x07\\n'); sys.exit(7)"
    define(
        project,
        faulty=faulty(project, "exit-at-once"),
        steering=[sys.executable, "-c", steering],
        missing=["no-such-command-here"],
        private=[sys.executable, "-c", "raise SystemExit(9)"],
        expected=[sys.executable, "-c", "import sys; sys.exit('the licence has expired')"],
        prefetched=[sys.executable, "-c", "import sys; sys.exit('the disk is full')"],
        variable=["${NO_SUCH_COMMAND}"],
        works=faulty(project),
    )
    # The first in the order of names, so that each of two workers has cases of it.
    project.suite("a.json", *(case(f"c{number}", WORKS) for number in range(6)), server="faulty")
    project.suite("missing.json", case("m", WORKS), server="missing")
    cases = [case(f"p{number}", WORKS) for number in range(2)]
    project.suite("private.json", *cases, server="private", fresh=True)
    project.suite("steering.json", case("s", WORKS), server="steering")
    # A mark that expects a failure expects a wrong answer, and no server that is not there.
    marks = [{"xfail": {"reason": "renew it", "strict": False}}, {"xfail": "renew it"}, {}]
    cases = [{**case(f"x{number}", WORKS), "marks": one} for number, one in enumerate(marks)]
    project.suite("expected.json", *cases, server="expected")
    # The first is asked together with those after it, whose servers are so tried before their turn.
    servers = ["works", "prefetched", "prefetched", "variable", "variable"]
    cases = [{**case(f"w{number}", WORKS), "server": server} for number, server in enumerate(servers)]
    project.suite("prefetched.json", *cases, concurrency=8)
    run = project.run(*MODES[request.param], "--mcpeval-report", "report")
    assert run.last_line.startswith("1 passed, 7 errors, 10 not asked in"), run.out
    assert "Traceback" not in run.out
    assert not processes_of(project)
    return run


def test_a_server_that_does_not_start_is_told_once(not_started: Run) -> None:
    """In full by the first report that is shown, whoever tried it: another worker, a case marked xfail."""
    for server, words, others in (
        ("faulty", "    no database at ", 5),
        ("expected", "    the licence has expired", 2),
        ("prefetched", "    the disk is full", 1),
    ):
        lines = [line.strip() for line in not_started.lines]
        start = f"server '{server}' did not start: it exited with code 1 before it answered"
        assert lines.count(start) == 1, not_started.out
        rest = "\n".join(lines[lines.index(start) :])
        count = "1 more case was" if others == 1 else f"{others} more cases were"
        assert rest.partition(" more case")[0][-1:] == count[0], rest
        assert f"{count} not asked because of this error" in rest
        assert not_started.out.count(words) == 1
    # The short summary names the problem, not the worker.
    assert not [line for line in not_started.lines if line.startswith("ERROR ") and " - [gw" in line]
    needed = "server 'variable' needs the environment variable NO_SUCH_COMMAND (in command), which is not set"
    causes = [line for line in not_started.lines if needed in line and not line.startswith("ERROR ")]
    assert [line.partition(needed)[2] for line in causes] == [
        ": set it, or write ${NO_SUCH_COMMAND:-default}"
    ]


def test_what_a_report_says_of_a_server_is_the_same_in_all_its_cases(not_started: Run) -> None:
    found = not_started.report()["suites"]["datasets/a.json"]["cases"]
    start = "server 'faulty' did not start: it exited with code 1 before it answered"
    assert {case["message"] for case in found} == {start}


def test_what_a_server_says_cannot_steer_the_terminal(not_started: Run) -> None:
    assert r"    \x1b[31mred\x07" in not_started.lines
    assert "\x1b" not in not_started.out
    assert "\x07" not in not_started.out


def test_a_missing_command_is_named(not_started: Run) -> None:
    words = "server 'missing' did not start: no-such-command-here: command not found"
    assert words in not_started.lines


def test_a_private_server_that_does_not_start_is_an_error(not_started: Run) -> None:
    words = "server 'private' did not start: it exited with code 9 before it answered"
    assert words in not_started.lines
    assert set(outcomes(not_started, "private.json").values()) == {"error"}


def test_killing_pytest_leaves_no_server(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    define(project, faulty=faulty(project))
    # The grandchild shows that the server was called; a hanging server ignores that its input has ended.
    steps = [{"tool": "leave_grandchild"}, {"tool": "hang", "expected": case("", {})["expected"]}]
    project.suite("s.json", {"id": "c", "steps": steps})
    with subprocess.Popen(
        project.command(), cwd=project.path, env=project.environ(), stdout=subprocess.DEVNULL
    ) as process:
        victim = psutil.Process(process.pid)
        while not any(child.name() == "sleep" for child in victim.children(recursive=True)):
            assert process.poll() is None, "pytest ended before it was killed"
            time.sleep(0.05)
        servers = victim.children(recursive=True)
        process.kill()
    _, alive = psutil.wait_procs(servers, timeout=15)
    assert not alive
