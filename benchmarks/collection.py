"""The cost of collecting cases from a data file, beside ``@pytest.mark.parametrize`` with as many values.

``python benchmarks/collection.py [--quick]``: whole processes of ``pytest --collect-only -q`` on 10,000
cases, cold (no cache) and cached; then up to 100,000 cases, with the slope and the peak memory.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from measuring import PLUGIN, Process, in_turns, processor_seconds, pytest, seconds, verdict

CASES = 10_000
SIZES = (10_000, 30_000, 100_000)

HEAD = """\
name: "Questions of a benchmark"
project: mina
version: "1.0.0"
tests:
"""

CASE = """\
  - id: question-{number:06}
    name: "Question {number}: how state of an account is read in a contract"
    description: Someone who writes the first contract asks how on-chain state is read and proven.
    tool: {tool}
    difficulty: {difficulty}
    input:
      question: "How do I read state variable number {number} of a zkApp account, and prove what I read?"
    expected:
      validations:
        - {{type: min_length, chars: {length}}}
        - {{type: contains_any, values: ["state {number}", on-chain state, getAndRequireEquals]}}
        - {{type: confidence_above, threshold: {confidence}}}
      expectedKeywords: [zkapp, state, "variable {number}"]
    tags: [state, {tag}]

"""

PARAMETRIZED = """\
import pytest


@pytest.mark.parametrize("value", range({count}))
def test_value(value):
    assert value >= 0
"""

SERVER = "servers: {docs: {command: python, args: [-m, docs_server]}}\n"


def main() -> int:
    """Print all figures; the exit status says whether the targets hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no more than 30,000 cases")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        ratios_hold = compare(Path(directory), rounds=3 if options.quick else 7)
    with tempfile.TemporaryDirectory() as directory:
        scale(Path(directory), SIZES[:2] if options.quick else SIZES)
    return 0 if ratios_hold else 1


def compare(directory: Path, rounds: int) -> bool:
    """10,000 cases against 10,000 parametrized values, in turns."""
    suite, reference = directory / "suite", directory / "reference"
    size = write_suite(suite, CASES)
    reference.mkdir()
    (reference / "test_values.py").write_text(PARAMETRIZED.format(count=CASES), "utf-8")
    print(f"{CASES:,} cases ({size / 1e6:.1f} MB of YAML, 3 checks each), least of {rounds} rounds")
    measured = in_turns(
        {
            "parametrize": lambda: pytest(reference, "--collect-only", "-q"),
            "cached": lambda: collect(suite),
            "cold": lambda: collect(suite, cold=True),
        },
        rounds,
    )
    for name, processes in measured.items():
        print(
            f"  {name:<12} {seconds(processes):6.2f} s wall, {processor_seconds(processes):6.2f} s processor"
        )
    base = seconds(measured["parametrize"])
    cached = verdict("cached / parametrize", seconds(measured["cached"]) / base, 1.5)
    cold = verdict("cold / parametrize", seconds(measured["cold"]) / base, 4)
    return cached and cold


def scale(directory: Path, sizes: tuple[int, ...]) -> None:
    """Seconds per further 1,000 cases, cached and cold, and the peak memory."""
    print("growth with the number of cases (one run each)")
    before: tuple[int, Process, Process] | None = None
    for size in sizes:
        suite = directory / str(size)
        write_suite(suite, size)
        cold, cached = collect(suite, cold=True), collect(suite)
        print(
            f"  {size:>7,} cases: cold {cold.seconds:6.2f} s, {cold.peak_mib:5.0f} MiB;"
            f" cached {cached.seconds:6.2f} s, {cached.peak_mib:5.0f} MiB{_slope(before, size, cold, cached)}"
        )
        before = size, cold, cached
        shutil.rmtree(suite)


def _slope(before: tuple[int, Process, Process] | None, size: int, cold: Process, cached: Process) -> str:
    if before is None:
        return ""
    thousands = (size - before[0]) / 1000
    cold_slope = (cold.seconds - before[1].seconds) / thousands
    cached_slope = (cached.seconds - before[2].seconds) / thousands
    return f"; per further 1,000: cold {cold_slope:.3f} s, cached {cached_slope:.3f} s"


def collect(suite: Path, *, cold: bool = False) -> Process:
    """List the cases of a suite in a process of its own."""
    if cold:
        shutil.rmtree(suite / ".pytest_cache", ignore_errors=True)
    return pytest(suite, *PLUGIN, "--mcpeval", "--collect-only", "-q")


def write_suite(directory: Path, count: int) -> int:
    """A project with one suite of so many cases; returns the size of its file in bytes."""
    datasets = directory / "datasets"
    datasets.mkdir(parents=True)
    (datasets / "mcpeval.yaml").write_text(SERVER, "utf-8")
    (directory / "pytest.ini").write_text("[pytest]\n", "utf-8")
    file = datasets / "questions.yaml"
    file.write_text(HEAD + "".join(map(case_text, range(count))), "utf-8")
    return file.stat().st_size


def case_text(number: int) -> str:
    """One case; what varies between real cases varies here."""
    return CASE.format(
        number=number,
        tool=("ask_docs", "search_docs", "explain_error")[number % 3],
        difficulty=("basic", "intermediate", "advanced")[number % 3],
        length=100 + number % 7 * 50,
        confidence=30 + number % 5 * 10,
        tag=f"topic-{number % 12}",
    )


if __name__ == "__main__":
    sys.exit(main())
