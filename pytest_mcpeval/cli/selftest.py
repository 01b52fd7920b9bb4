"""``pytest-mcpeval selftest``: proof that the measurement can fail, on golden sets of yours."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import root_directory, runtime_at, shown

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.retrieval.retrievers.settings import RetrieverModel
    from pytest_mcpeval.kinds.retrieval.selftest import Proof, Search, Tool
    from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite

DESCRIPTION = """\
Spoil the search of a golden set on purpose, and see whether the metrics and the gates notice: labelled tools
removed, rankings shuffled, descriptions or schemas dropped. An unchanged search must reproduce its numbers.

The embedded searches (bm25, tfidf) are built anew over a spoilt corpus. The index of any other search is
out of reach: it is asked twice, by a run of pytest as in every eval, and its answers are spoilt.
"""

EMBEDDED = ("bm25", "tfidf")
MARKS = {True: "✓", False: "✗", None: "?"}


class NotAsked(Exception):  # noqa: N818 (an outcome of asking)
    """A search did not answer every query; the text is for people."""


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
        try:
            failed += _proven(suite, root)  # type: ignore[arg-type]
        except NotAsked as error:
            print(f"{options.prog}: {visible(str(error))}", file=sys.stderr)
            return 1
    return 1 if failed else 0


def _proven(suite: RetrievalSuite, root: Path) -> int:
    """Print the proofs of a golden set; the number of those that do not hold."""
    from pytest_mcpeval.text import visible

    way = suite.settings.retriever.way
    print(visible(f"{shown(suite.path)} ({len(suite.golden.queries)} queries, {way})"))
    proofs = _proofs_of_embedded(suite) if way in EMBEDDED else _proofs_of_answers(suite, root)
    for proof in proofs:
        print(visible(f"  {MARKS[proof.holds]} {proof.name}: {proof.message}"))
    return sum(proof.holds is False for proof in proofs)


def _proofs_of_embedded(suite: RetrievalSuite) -> Sequence[Proof]:
    from pytest_mcpeval.kinds.retrieval.kind import gate_settings
    from pytest_mcpeval.kinds.retrieval.selftest import Subject, selftest

    build = _builder(suite.settings.retriever)
    tools, settings = suite.golden.corpus.rows, gate_settings(suite)
    return selftest(Subject(suite.golden.queries, tools, build, suite.settings.depth, settings))


def _builder(model: RetrieverModel) -> Callable[[Sequence[Tool]], Search]:
    from pytest_mcpeval.kinds.retrieval.corpus import Corpus
    from pytest_mcpeval.kinds.retrieval.retrievers.making import make_retriever

    def build(tools: Sequence[Tool]) -> Search:
        retriever = make_retriever(model, Corpus.of(tools))
        return lambda query, k: [hit.tool_id for hit in retriever.search(query, k)]

    return build


def _proofs_of_answers(suite: RetrievalSuite, root: Path) -> Sequence[Proof]:
    from pytest_mcpeval.kinds.retrieval.kind import gate_settings
    from pytest_mcpeval.kinds.retrieval.rankings import Ranking
    from pytest_mcpeval.kinds.retrieval.selftest import Answers, selftest_of_answers

    asked = _asked_twice(suite, root)
    first, second = (
        [Ranking(query.id, asked[query.id][turn], query.labels) for query in suite.golden.queries]
        for turn in (0, 1)
    )
    return selftest_of_answers(Answers(first, second, suite.settings.depth, gate_settings(suite)))


def _asked_twice(suite: RetrievalSuite, root: Path) -> dict[str, list[list[str]]]:
    """Query id → its two ranked lists, from a run of pytest: only there fixtures and conftest files exist.

    Raises:
        NotAsked: Queries are without an answer.
    """
    with tempfile.TemporaryDirectory() as directory:
        options = ["--mcpeval", "--mcpeval-runs", "2", "--mcpeval-report", directory, "--rootdir", str(root)]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", "-q", str(suite.path)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        report = Path(directory, "report.json")
        found = json.loads(report.read_text("utf-8")) if report.is_file() else {"suites": {}}
    cases = found["suites"].get(suite.key, {}).get("cases", [])
    asked = {
        case["id"]: [run["measured"]["ranked"] for run in case["runs"]]
        for case in cases
        if case["outcome"] != "error" and "runs" in case
    }
    if len(asked) < len(suite.golden.queries):
        raise NotAsked(f"{len(asked)} of {len(suite.golden.queries)} queries were answered:\n{done.stdout}")
    return asked
