"""Suites whose cases build on each other: one process, in order, repeated as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import Case, Project, case

# Without a library it starts at once: these runs start it many times.
COUNTER = """
import json
import os
import sys

counted = 0
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        version, server = asked["params"]["protocolVersion"], {"name": "counter", "version": "1"}
        answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}}
    elif asked["method"] == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("count", "end")]
        answer = {"result": {"tools": tools}}
    elif asked["method"] == "tools/call":
        if asked["params"]["name"] == "end":
            os._exit(3)
        counted += 1
        answer = {"result": {"content": [{"type": "text", "text": str(counted)}]}}
    else:
        answer = {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
LENGTH = 6
REVERSED = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.reverse()
"""
KILLED = """
import os
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    if item.name == "n3" and "PYTEST_XDIST_WORKER" in os.environ:
        os._exit(9)
"""


def counting(number: int, **fields: Any) -> Case:
    check = {"type": "equals", "value": str(number)}
    return case(f"n{number}", "count", check, **fields)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two stateful suites on one server that counts, and one whose cases may run anywhere."""
    made = Project.at(tmp_path, transport="stdio")
    made.write("server.py", COUNTER)
    made.suite("a.json", *(counting(number) for number in range(1, LENGTH + 1)), stateful=True)
    # One case that says so is enough.
    last = counting(LENGTH, stateful=True)
    made.suite("b.json", *(counting(number) for number in range(1, LENGTH)), last, concurrency=4)
    free = [case(f"f{number}", "count", {"type": "min_length", "chars": 1}) for number in range(8)]
    made.suite("free.json", *free)
    return made


ALL_PASS = f"{2 * LENGTH + 8} passed in"


@pytest.mark.parametrize("distribution", ["load", "worksteal", "loadgroup", "loadfile"])
def test_a_stateful_suite_stays_together_however_tests_are_distributed(
    project: Project, distribution: str
) -> None:
    project.write("conftest.py", REVERSED)
    run = project.run("-n2", "--dist", distribution, "-v", "--mcpeval-report", "report")
    assert run.last_line.startswith(ALL_PASS), run.out
    workers: dict[str, list[tuple[str, str]]] = {}
    for line in run.lines:
        if "PASSED" in line and "::n" in line:
            file, _, name = line.split()[-1].partition("::")
            workers.setdefault(file, []).append((line.split("]")[0], name))
    names = [f"n{number}" for number in range(1, LENGTH + 1)]
    for found in workers.values():
        assert [name for _, name in found] == names
        assert len({worker for worker, _ in found}) == 1
    assert set(workers) == {"datasets/a.json", "datasets/b.json"}
    assert run.report()["verdict"] == "passed"


def test_each_runs_every_suite_in_every_worker(project: Project) -> None:
    run = project.run("--dist", "each", "--tx", "2*popen")
    assert run.last_line.startswith(f"{2 * (2 * LENGTH + 8)} passed in"), run.out


def test_without_workers_the_order_is_that_of_the_file(project: Project) -> None:
    project.write("conftest.py", REVERSED)
    one_line = [{**counting(number), "id": f"x{number}"} for number in range(1, LENGTH + 1)]
    project.write(
        "datasets/c.json",
        str({"stateful": True, "tests": one_line}).replace("'", '"').replace("True", "true"),
    )
    run = project.run("-p", "no:xdist")
    assert run.last_line.startswith(f"{3 * LENGTH + 8} passed in"), run.out


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_stateful_suite_is_repeated_as_a_whole(project: Project, arguments: tuple[str, ...]) -> None:
    run = project.run(*arguments, "--mcpeval-runs", "3", "--mcpeval-report", "report")
    assert run.last_line.startswith(ALL_PASS), run.out
    cases = run.report()["suites"]["datasets/a.json"]["cases"]
    assert [len(found["runs"]) for found in cases] == [3] * LENGTH


def test_cases_with_fixtures_are_not_repeated_as_a_whole(project: Project) -> None:
    project.suite("c.json", counting(1), counting(2, fixtures=["tmp_path"]), stateful=True)
    assert project.run("datasets/c.json").last_line.startswith("2 passed in")
    run = project.run("datasets/c.json", "--mcpeval-runs", "2")
    assert run.last_line.startswith("2 errors in") or "2 error" in run.last_line, run.out
    assert (
        "datasets/c.json is stateful and repeated as a whole, 2 times: its cases cannot have fixtures"
        in run.out
    )


def test_after_a_killed_worker_the_rest_of_a_stateful_suite_is_in_error(project: Project) -> None:
    project.write("conftest.py", KILLED)
    run = project.run("-n2", "datasets/a.json", "datasets/free.json", "--mcpeval-report", "report")
    outcomes = {found["id"]: found["outcome"] for found in run.report()["suites"]["datasets/a.json"]["cases"]}
    assert outcomes["n1"] == outcomes["n2"] == "passed"
    assert [outcomes[f"n{number}"] for number in range(4, LENGTH + 1)] == ["error"] * (LENGTH - 3)
    assert outcomes.get("n3") != "passed"
    assert "datasets/a.json is stateful, and its case n1 did not run before this one" in run.out
    assert run.status == 1


def test_after_the_server_ended_the_rest_of_a_stateful_suite_is_in_error(project: Project) -> None:
    dies = case("dies", "end", {"type": "min_length", "chars": 1})
    project.suite("c.json", counting(1), dies, counting(3), counting(4), stateful=True)
    run = project.run("datasets/c.json", "--mcpeval-report", "report")
    (suite,) = run.report()["suites"].values()
    assert [found["outcome"] for found in suite["cases"]] == ["passed", "failed", "error", "error"]
    assert "connection to server 'tiny' ended in an earlier case" in run.out
