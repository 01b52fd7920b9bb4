"""``pytest-mcpeval selftest``: proof that the measurement can fail, on golden sets and corpora of yours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.asking import NotAsked
from pytest_mcpeval.cli.project import root_directory, runtime_at, shown

if TYPE_CHECKING:
    from pytest_mcpeval.core.proof import Proof
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite
    from pytest_mcpeval.kinds.security.spec import SecuritySuite
    from pytest_mcpeval.plugin.runtime import Runtime

DESCRIPTION = """\
Spoil what is evaluated on purpose, and see whether the metrics and the gates notice. An unchanged search or
detector must reproduce its numbers.

Golden sets: labelled tools are removed, rankings shuffled, descriptions or schemas dropped. The embedded
searches (bm25, tfidf) are built anew over a spoilt corpus. The index of any other search is out of reach: it
is asked twice, by a run of pytest as in every eval, and its answers are spoilt.

Labelled corpora: detectors that flag everything or nothing take the place of yours, and noise is added to
its verdicts. It is asked twice, by a run of pytest.
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


def run(options: argparse.Namespace) -> int:
    """Spoil the searches; prints one line for each proof."""
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite
    from pytest_mcpeval.kinds.security.spec import SecuritySuite
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.text.visible import visible

    root = Path(options.rootdir).absolute() if options.rootdir else root_directory(Path.cwd())
    runtime = runtime_at(root)
    paths = options.paths or [str(directory) for directory in runtime.settings.datasets]
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        print(f"{options.prog}: no such file: {visible(', '.join(missing))}", file=sys.stderr)
        return 2
    files = [file for path in paths for file in _files(Path(path), runtime)]
    if not files:
        message = f"{options.prog}: no golden set and no labelled corpus in {', '.join(paths)}"
        print(visible(message), file=sys.stderr)
        return 2
    failed = 0
    for path in files:
        try:
            suite = runtime.suite(path.absolute())
        except DataFileError as error:
            print(runtime.described(error), file=sys.stderr)
            return 1
        if not isinstance(suite, RetrievalSuite | SecuritySuite):
            message = f"{options.prog}: {path} is no golden set and no labelled corpus"
            print(visible(message), file=sys.stderr)
            return 2
        try:
            failed += _proven(suite, root)
        except NotAsked as error:
            print(f"{options.prog}: {visible(str(error))}", file=sys.stderr)
            return 1
    return 1 if failed else 0


def _files(path: Path, runtime: Runtime) -> list[Path]:
    """The file itself, or the golden sets and corpora below a directory, and files that cannot be read."""
    from pytest_mcpeval.cli.validate import data_files
    from pytest_mcpeval.config.project_file import PROJECT_FILE_NAME

    if path.is_file():
        return [path]
    found = (file for file in data_files(path, runtime) if file.name != PROJECT_FILE_NAME)
    return [file for file in found if _may_be_spoilt(file, runtime)]


def _may_be_spoilt(file: Path, runtime: Runtime) -> bool:
    from pytest_mcpeval.core.baseline import is_baseline
    from pytest_mcpeval.core.detect import detect_kind
    from pytest_mcpeval.loading import DataFileError, load

    try:
        document = load(file)
    except DataFileError:
        # Told when its turn comes.
        return True
    if is_baseline(document.data):
        return False
    try:
        kind, shape = detect_kind(document, runtime.kinds.declarations)
    except DataFileError:
        return False
    return shape == "suite" and kind in ("retrieval", "security")


def _proven(suite: RetrievalSuite | SecuritySuite, root: Path) -> int:
    """Print the proofs of a file; the number of those that do not hold."""
    from pytest_mcpeval.text.visible import visible

    failed = 0
    for headline, proofs in _proofs(suite, root).items():
        print(visible(f"{shown(suite.path)} ({headline})"))
        for proof in proofs:
            print(visible(f"  {MARKS[proof.holds]} {proof.name}: {proof.message}"))
        failed += sum(proof.holds is False for proof in proofs)
    return failed


def _proofs(suite: RetrievalSuite | SecuritySuite, root: Path) -> Mapping[str, Sequence[Proof]]:
    from pytest_mcpeval.cli import selftest_retrieval, selftest_security
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite

    if isinstance(suite, RetrievalSuite):
        return selftest_retrieval.proofs_of(suite, root)
    return selftest_security.proofs_of(suite, root)
