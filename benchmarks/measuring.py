"""What the benchmarks share: whole processes, taken in turns, and ratios beside their target."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

PLUGIN = ("-p", "pytest_mcpeval.plugin")

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Process:
    """One process from start to end: wall clock and processor time in seconds, peak memory in MiB."""

    seconds: float
    processor_seconds: float
    peak_mib: float
    output: str


def run(command: Sequence[str], directory: Path, **environment: str) -> Process:
    """Run a command to its end.

    Raises:
        RuntimeError: It did not end with exit status 0; the text carries its output.
    """
    with tempfile.TemporaryFile() as output:
        started = perf_counter()
        process = subprocess.Popen(
            command, cwd=directory, env=os.environ | environment, stdout=output, stderr=subprocess.STDOUT
        )
        # wait4, because it alone tells the processor time and peak memory of one process.
        _, status, used = os.wait4(process.pid, 0)
        seconds = perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode != 0:
        raise RuntimeError(f"exit status {process.returncode}: {' '.join(command)}\n{text[-4000:]}")
    return Process(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text)


def pytest(directory: Path, *arguments: str, alone: bool = True) -> Process:
    """Run pytest in a directory; ``alone``: without any installed plugin but those named in the arguments."""
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} if alone else {}
    return run([sys.executable, "-m", "pytest", *arguments], directory, **environment)


def in_turns(
    subjects: Mapping[str, Callable[[], Process]], rounds: int, warm_up: int = 1
) -> dict[str, list[Process]]:
    """Run every subject once per round, each round starting with another one; warm-up rounds do not count."""
    names = list(subjects)
    found: dict[str, list[Process]] = {name: [] for name in names}
    for number in range(-warm_up, rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            measured = subjects[name]()
            if number >= 0:
                found[name].append(measured)
    return found


def seconds(processes: Sequence[Process]) -> float:
    """The least wall clock time: what else the machine does makes a run slower, and never faster."""
    return min(process.seconds for process in processes)


def processor_seconds(processes: Sequence[Process]) -> float:
    """The least processor time."""
    return min(process.processor_seconds for process in processes)


def verdict(words: str, value: float, target: float, unit: str = "×", *, at_least: bool = False) -> bool:
    """Print a figure beside its target, and return whether it holds."""
    holds = value >= target if at_least else value <= target
    sign = "≥" if at_least else "≤"
    print(
        f"{words:<46} {value:8.3f} {unit:<3} target {sign} {target:g} {unit:<3} {'OK' if holds else 'OVER'}"
    )
    return holds
