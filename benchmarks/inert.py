"""The cost of having the plugin installed without asking for it.

``python benchmarks/inert.py [--quick]``: whole processes of ``pytest`` on a suite of one test, with the
plugin and with ``-p no:mcpeval``, in turns, beside all plugins that are installed; and with no other plugin,
beside an empty one in its place: to load a plugin named by ``-p`` takes pytest some time by itself.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from measuring import PLUGIN, Process, in_turns, processor_seconds, pytest, seconds, verdict

TARGET = 1.03
EMPTY_PLUGIN = ("-p", "empty_plugin")

TEST = """\
def test_one():
    assert True
"""


def main() -> int:
    """Print both ratios; the exit status says whether the target holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 10 if parser.parse_args().quick else 40
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "pytest.ini").write_text("[pytest]\n", "utf-8")
        (directory / "test_one.py").write_text(TEST, "utf-8")
        print(f"pytest on one test, least of {rounds} rounds")
        (directory / "empty_plugin.py").write_text("", "utf-8")
        installed = compare("as installed", directory, ((), ("-p", "no:mcpeval")), rounds, alone=False)
        alone = compare("no other plugin", directory, (PLUGIN, EMPTY_PLUGIN), rounds, alone=True)
    return 0 if installed and alone else 1


def compare(
    label: str,
    directory: Path,
    arguments: tuple[tuple[str, ...], tuple[str, ...]],
    rounds: int,
    *,
    alone: bool,
) -> bool:
    """The ratio of the least times of whole runs, with the plugin to without."""
    measured = in_turns(
        {
            "with": lambda: pytest(directory, "-q", *arguments[0], alone=alone),
            "without": lambda: pytest(directory, "-q", *arguments[1], alone=alone),
        },
        rounds,
        warm_up=2,
    )
    for name, processes in measured.items():
        wall, processor = seconds(processes), processor_seconds(processes)
        print(f"  {label}, {name:<8} {wall:6.3f} s wall, {processor:6.3f} s processor")
    print(f"  {label}, median of the paired ratios {paired(measured['with'], measured['without']):.3f}")
    return verdict(
        f"with / without, {label}", seconds(measured["with"]) / seconds(measured["without"]), TARGET
    )


def paired(first: list[Process], second: list[Process]) -> float:
    """The median over rounds of one run's time to the other's: noise of several rounds drops out."""
    return median(one.seconds / other.seconds for one, other in zip(first, second, strict=True))


if __name__ == "__main__":
    sys.exit(main())
