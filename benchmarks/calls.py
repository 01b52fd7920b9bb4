"""The cost of a call as a pytest item, beside a bare ``mcp.Client`` loop over the same calls.

``python benchmarks/calls.py [--quick]`` prints the overhead per item on a stdio server, the gain of
``concurrency: 16`` on a server that takes its time, and the cost per item of pytest-mcp-assert on the same
calls to ``@modelcontextprotocol/server-everything`` (it and Node's servers are installed when missing).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import mcp_assert_suite
from measuring import PLUGIN, Process, in_turns, pytest, run, seconds, verdict

HERE = Path(__file__).resolve().parent
SERVER = [sys.executable, str(HERE / "benchmark_server.py")]
CALLS = 500
WAIT_SECONDS = 0.2
WIDTH = 16
SHARED_CALLS = 20
MANY_SHARED_CALLS = 400

NO_OPERATION = """\
import pytest


@pytest.mark.parametrize("value", range({count}))
def test_value(value):
    assert value >= 0
"""


def main() -> int:
    """Print all figures; the exit status says whether the targets hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and fewer calls that take long")
    options = parser.parse_args()
    rounds = 5 if options.quick else 7
    with tempfile.TemporaryDirectory() as directory:
        overhead_holds = overhead(Path(directory), rounds)
    with tempfile.TemporaryDirectory() as directory:
        gain_holds = gain(Path(directory), 160 if options.quick else 320, 3 if options.quick else 5)
    with tempfile.TemporaryDirectory() as directory:
        beside_mcp_assert(Path(directory), 1 if options.quick else 3)
    return 0 if overhead_holds and gain_holds else 1


def overhead(directory: Path, rounds: int) -> bool:
    """What an item costs above the bare call."""
    one = suite(directory / "one", SERVER, echo_cases(1))
    all_ = suite(directory / "all", SERVER, echo_cases(CALLS))
    measured = in_turns(
        {
            "bare": lambda: bare(CALLS, "text", SERVER),
            "one": lambda: evaluate(one),
            "all": lambda: evaluate(all_),
            "empty one": no_operations(directory / "empty-one", 1),
            "empty all": no_operations(directory / "empty-all", CALLS),
        },
        rounds,
    )
    call = min(map(milliseconds, measured["bare"]))
    item = per_item(measured["one"], measured["all"], CALLS - 1)
    empty = per_item(measured["empty one"], measured["empty all"], CALLS - 1)
    print(f"{CALLS} calls to a stdio server, least of {rounds} rounds, start-up left out")
    print(f"  bare mcp.Client loop    {call:6.2f} ms per call")
    print(f"  pytest --mcpeval        {item:6.2f} ms per item")
    print(f"  pytest, empty test      {empty:6.2f} ms per item")
    return verdict("item above the bare call", item - call, 1.5, "ms")


def gain(directory: Path, count: int, rounds: int) -> bool:
    """How much sooner waiting calls are done when 16 of them are in flight."""
    serial = [suite(directory / f"serial-{n}", SERVER, waiting_cases(n)) for n in (1, 1 + WIDTH)]
    ahead = [suite(directory / f"ahead-{n}", SERVER, waiting_cases(n), WIDTH) for n in (WIDTH, WIDTH + count)]
    measured = in_turns(
        {
            "serial few": lambda: evaluate(serial[0]),
            "serial many": lambda: evaluate(serial[1]),
            "ahead few": lambda: evaluate(ahead[0]),
            "ahead many": lambda: evaluate(ahead[1]),
        },
        rounds,
    )
    one = per_item(measured["serial few"], measured["serial many"], WIDTH)
    many = per_item(measured["ahead few"], measured["ahead many"], count)
    print(f"calls that take {WAIT_SECONDS * 1000:.0f} ms each, least of {rounds} rounds, start-up left out")
    print(f"  concurrency: 1          {one:6.1f} ms per item")
    print(f"  concurrency: {WIDTH:<10} {many:6.1f} ms per item")
    return verdict(f"gain of concurrency: {WIDTH}", one / many, 12, at_least=True)


def beside_mcp_assert(directory: Path, rounds: int) -> None:
    """The same calls to server-everything by both plugins, and bare."""
    print(f"{SHARED_CALLS} calls of the tool echo of @modelcontextprotocol/server-everything")
    try:
        server = mcp_assert_suite.everything()
        python = mcp_assert_suite.environment(directory / "environment")
    except mcp_assert_suite.InstallError as error:
        print(f"  NOT MEASURED: {error}")
        return
    subjects: dict[str, Callable[[], Process]] = {
        "bare": lambda: bare(SHARED_CALLS, "message", server),
    }
    # A further item of ours costs less than starting the server varies: it takes more of them to see it.
    counts = {"ours": (1, SHARED_CALLS, MANY_SHARED_CALLS), "theirs": (1, SHARED_CALLS)}
    for count in counts["ours"]:
        ours = suite(directory / f"ours-{count}", server, echo_cases(count, "message", "Echo: "))
        subjects[f"ours {count}"] = lambda ours=ours: evaluate(ours)  # type: ignore[misc]
    for count in counts["theirs"]:
        theirs = mcp_assert_suite.suite(directory / f"theirs-{count}", server, count)
        subjects[f"theirs {count}"] = lambda theirs=theirs: mcp_assert_suite.evaluate(python, theirs)  # type: ignore[misc]
    measured = in_turns(subjects, rounds)
    call = min(map(milliseconds, measured["bare"]))
    print(f"  bare mcp.Client loop    {call:8.2f} ms per call")
    for name, label in (("ours", "pytest --mcpeval"), ("theirs", "pytest-mcp-assert")):
        few, many = counts[name][0], counts[name][-1]
        item = per_item(measured[f"{name} {few}"], measured[f"{name} {many}"], many - few)
        whole = seconds(measured[f"{name} {SHARED_CALLS}"])
        print(f"  {label:<23} {item:8.2f} ms per further item, {whole:6.2f} s for the whole run")


def per_item(few: Sequence[Process], many: Sequence[Process], further: int) -> float:
    """Milliseconds per item, from runs of a few items and of so many more."""
    return (seconds(many) - seconds(few)) * 1000 / further


def bare(count: int, argument: str, server: Sequence[str]) -> Process:
    """The bare loop in a process of its own; the last line it prints is its figure."""
    return run([sys.executable, str(HERE / "bare_client.py"), str(count), argument, *server], HERE)


def milliseconds(process: Process) -> float:
    """What the bare loop printed last; before it stands what the server says on its standard error."""
    return float(process.output.splitlines()[-1])


def evaluate(directory: Path) -> Process:
    """Run a suite in a process of its own."""
    return pytest(directory, *PLUGIN, "--mcpeval", "-q")


def no_operations(directory: Path, count: int) -> Callable[[], Process]:
    """A run of tests that do nothing: what pytest alone costs."""
    directory.mkdir()
    (directory / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (directory / "test_values.py").write_text(NO_OPERATION.format(count=count), "utf-8")
    return lambda: pytest(directory, "-q")


def suite(
    directory: Path, server: Sequence[str], cases: list[dict[str, object]], concurrency: int = 1
) -> Path:
    """A project with one suite; returns its directory."""
    datasets = directory / "datasets"
    datasets.mkdir(parents=True)
    (directory / "pytest.ini").write_text("[pytest]\n", "utf-8")
    settings = {"servers": {"benchmark": {"command": server[0], "args": list(server[1:])}}}
    (datasets / "mcpeval.yaml").write_text(json.dumps(settings), "utf-8")
    content = {"tests": cases, "concurrency": concurrency}
    (datasets / "calls.json").write_text(json.dumps(content, indent=1), "utf-8")
    return directory


def echo_cases(count: int, argument: str = "text", prefix: str = "") -> list[dict[str, object]]:
    """Cases that are answered at once."""
    return [
        case(number, "echo", {argument: f"text {number}"}, f"{prefix}text {number}")
        for number in range(count)
    ]


def waiting_cases(count: int) -> list[dict[str, object]]:
    """Cases whose answer takes its time."""
    return [
        case(number, "wait", {"seconds": WAIT_SECONDS, "text": f"text {number}"}, f"text {number}")
        for number in range(count)
    ]


def case(number: int, tool: str, arguments: dict[str, object], answer: str) -> dict[str, object]:
    """One case with two checks."""
    validations = [{"type": "contains", "value": answer}, {"type": "min_length", "chars": 3}]
    return {
        "id": f"call-{number:04}",
        "tool": tool,
        "difficulty": "basic",
        "input": arguments,
        "expected": {"validations": validations},
    }


if __name__ == "__main__":
    sys.exit(main())
