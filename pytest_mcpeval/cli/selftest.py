"""``pytest-mcpeval selftest``: proof that the measurement can fail, on golden sets of yours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import root_directory, runtime_at, shown

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.retrieval.selftest import Proof, Search, Subject, Tool
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite

DESCRIPTION = """\
Spoil the search of a golden set on purpose, and see whether the metrics and the gates notice: labelled tools
removed, rankings shuffled, descriptions or schemas dropped. An unchanged search must reproduce its numbers.

Only the embedded searches (bm25, tfidf) can be rebuilt over a spoilt corpus: bm25 stands in for others.
"""

MARKS = {True: "✓", False: "✗", None: "?"}


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "selftest",
        help="show that the gates of golden sets can fail",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="golden files")
    parser.add_argument("--rootdir", metavar="DIR", help="root directory (default: as pytest finds it)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Spoil the searches; prints one line for each proof."""
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
        if suite is None or suite.kind != "retrieval":
            print(f"{options.prog}: {visible(path)} is no golden set", file=sys.stderr)
            return 2
        failed += _proven(suite)  # type: ignore[arg-type]
    return 1 if failed else 0


def _proven(suite: RetrievalSuite) -> int:
    """Print the proofs of a golden set; the number of those that do not hold."""
    from pytest_mcpeval.kinds.retrieval.selftest import selftest
    from pytest_mcpeval.text import visible

    subject, name = _subject(suite)
    print(visible(f"{shown(suite.path)} ({len(subject.queries)} queries, {name})"))
    proofs: Sequence[Proof] = selftest(subject)
    for proof in proofs:
        print(visible(f"  {MARKS[proof.holds]} {proof.name}: {proof.message}"))
    return sum(proof.holds is False for proof in proofs)


def _subject(suite: RetrievalSuite) -> tuple[Subject, str]:
    from pytest_mcpeval.kinds.retrieval.kind import gate_settings
    from pytest_mcpeval.kinds.retrieval.retrievers.settings import EMBEDDED_DEFAULT
    from pytest_mcpeval.kinds.retrieval.selftest import Subject

    chosen = suite.settings.retriever
    model = chosen if chosen.way in ("bm25", "tfidf") else EMBEDDED_DEFAULT
    tools = suite.golden.corpus.rows
    subject = Subject(
        suite.golden.queries, tools, _builder(model), suite.settings.depth, gate_settings(suite)
    )
    return subject, model.way


def _builder(model: Any) -> Callable[[Sequence[Tool]], Search]:
    from pytest_mcpeval.kinds.retrieval.corpus import Corpus
    from pytest_mcpeval.kinds.retrieval.retrievers.making import make_retriever

    def build(tools: Sequence[Tool]) -> Search:
        retriever = make_retriever(model, Corpus.of(tools))
        return lambda query, k: [hit.tool_id for hit in retriever.search(query, k)]

    return build
