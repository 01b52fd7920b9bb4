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
    from pytest_mcpeval.kinds.proofs import Proof
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite
    from pytest_mcpeval.kinds.security.spec import SecuritySuite

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
    parser.add_argument("paths", nargs="+", metavar="PATH", help="golden sets and labelled corpora")
    parser.add_argument("--rootdir", metavar="DIR", help="root directory (default: as pytest finds it)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Spoil the searches; prints one line for each proof."""
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite
    from pytest_mcpeval.kinds.security.spec import SecuritySuite
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.text import visible

    missing = [path for path in options.paths if not Path(path).is_file()]
    if missing:
        print(f"{options.prog}: no such file: {visible(', '.join(missing))}", file=sys.stderr)
        return 2
    root = Path(options.rootdir).absolute() if options.rootdir else root_directory(Path.cwd())
    runtime = runtime_at(root)
    failed = 0
    for path in options.paths:
        try:
            suite = runtime.suite(Path(path).absolute())
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


def _proven(suite: RetrievalSuite | SecuritySuite, root: Path) -> int:
    """Print the proofs of a file; the number of those that do not hold."""
    from pytest_mcpeval.text import visible

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
