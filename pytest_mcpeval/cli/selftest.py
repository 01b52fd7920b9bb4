"""``pytest-mcpeval selftest``: proof that the measurement can fail, on golden sets and corpora of yours."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import root_directory, runtime_at
from pytest_mcpeval.text.visible import from_here

if TYPE_CHECKING:
    from pytest_mcpeval.core.proof import AskTwice
    from pytest_mcpeval.core.suite import Suite
    from pytest_mcpeval.plugin.runtime import Runtime

DESCRIPTION = """\
Damage searches and detectors on purpose, and see whether metrics and gates notice. An unchanged search or
detector must reproduce its numbers.

Golden sets: labelled tools are removed, rankings shuffled, descriptions or schemas dropped. The embedded
searches (bm25, tfidf) are built again from a damaged corpus. The index of any other search cannot be changed:
a run of pytest asks it twice, and its answers are damaged.

Labelled corpora: your detector is replaced by ones that flag everything or nothing, and noise is added to its
verdicts. A run of pytest asks it twice.
"""

MARKS = {True: "✓", False: "✗", None: "?"}


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "selftest",
        help="show that the gates of golden sets and corpora can fail",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="golden sets and labelled corpora, or directories of them (default: datasets/)",
    )
    parser.add_argument("--rootdir", metavar="DIR", help="root directory (default: as pytest finds it)")
    return parser


class NotAsked(Exception):  # noqa: N818 (an outcome of asking)
    """A target did not answer every case; the text is for people."""


def run(options: argparse.Namespace) -> int:
    """Spoil searches and detectors; prints one line for each proof."""
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.text.visible import visible

    def refused(message: str, code: int) -> int:
        print(visible(f"{options.prog}: {message}"), file=sys.stderr)
        return code

    root = Path(options.rootdir).absolute() if options.rootdir else root_directory(Path.cwd())
    runtime = runtime_at(root)
    paths = options.paths or [str(directory) for directory in runtime.settings.datasets]
    if missing := [path for path in paths if not Path(path).exists()]:
        return refused(f"no such file: {', '.join(missing)}", 2)
    files = [file for path in paths for file in _files(Path(path), runtime)]
    if not files:
        return refused(f"no golden set or labelled corpus in {', '.join(paths)}", 2)
    failed = 0
    for path in files:
        try:
            suite = runtime.suite(path.absolute())
            found = suite and runtime.kinds[suite.kind].selftest(suite, _asker(suite, root))
            if not suite or not found:
                return refused(f"{path} is neither a golden set nor a labelled corpus", 2)
        except DataFileError as error:
            print(runtime.described(error), file=sys.stderr)
            return 1
        except NotAsked as error:
            return refused(str(error), 1)
        for headline, proofs in found.items():
            print(visible(f"{from_here(suite.path)} ({headline})"))
            for proof in proofs:
                print(visible(f"  {MARKS[proof.holds]} {proof.name}: {proof.message}"))
            failed += sum(proof.holds is False for proof in proofs)
    return 1 if failed else 0


def _files(path: Path, runtime: Runtime) -> Iterator[Path]:
    """The file itself, or the golden sets and corpora below a directory, and files that cannot be read."""
    from pytest_mcpeval.cli.validate import data_files
    from pytest_mcpeval.config.project_file import PROJECT_FILE_NAME
    from pytest_mcpeval.core.baseline import is_baseline
    from pytest_mcpeval.core.detect import detect_kind
    from pytest_mcpeval.loading import DataFileError, load

    if path.is_file():
        yield path
        return
    for file in data_files(path, runtime):
        if file.name == PROJECT_FILE_NAME:
            continue
        try:
            document = load(file)
        except DataFileError:
            # Its problems are printed when its turn comes.
            yield file
            continue
        try:
            kind, shape = detect_kind(document, runtime.kinds.declarations)
        except DataFileError:
            continue
        has_selftest = runtime.kinds.declarations[kind].has_selftest
        if shape == "suite" and has_selftest and not is_baseline(document.data):
            yield file


def _asker(suite: Suite[Any], root: Path) -> AskTwice:
    """Asks cases of a suite several times, by a run of pytest: only there are fixtures.

    Raises:
        NotAsked: Cases are without an answer.
    """

    def ask_twice(wanted: Sequence[str], noun: str, runs: int) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        with tempfile.TemporaryDirectory() as directory:
            options = ["--mcpeval", f"--mcpeval-report={directory}", f"--rootdir={root}"]
            options += ["--mcpeval-runs", str(runs), "-p", "no:cacheprovider", "-q", str(suite.path)]
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
            report = Path(directory, "report.json")
            found = json.loads(report.read_text("utf-8")) if report.is_file() else {"suites": {}}
        cases = found["suites"].get(suite.key, {}).get("cases", [])
        asked = {
            case["id"]: [run["measured"] for run in case["runs"]]
            for case in cases
            if case["outcome"] != "error" and "runs" in case
        }
        if not asked.keys() >= set(wanted):
            raise NotAsked(f"{len(asked)} of {len(wanted)} {noun} were answered:\n{done.stdout}")
        return asked

    return ask_twice
