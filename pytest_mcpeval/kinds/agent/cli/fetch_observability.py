"""``pytest-mcpeval fetch-observability``: the traces of a captured case as its canonical logs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mcpeval.browser.artifacts import CaseFolder
    from pytest_mcpeval.kinds.agent.captures import Capture
    from pytest_mcpeval.kinds.agent.observability.fetching import FetchResult
    from pytest_mcpeval.kinds.agent.schema import Manifest

DESCRIPTION = """\
Ask the trace backend that a manifest declares (langfuse, otel or phoenix) for the traces of a captured
case, and write tool_calls.jsonl, routing_decisions.jsonl, step_count.json and generations.jsonl below
CASE_DIR/trace/observability. pytest --mcpeval does this by itself; the command is for traces that arrived
late. Afterwards: pytest --mcpeval MANIFEST --mcpeval-score-only=RUN_DIR
"""

EXIT_CODES = """\
exit codes: 0 if the backend answered, even without traces; 1 if it could not be asked: no backend or more
than one is declared, credentials are missing, the query failed, or manifest or case are wrong
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "fetch-observability",
        help="fetch the traces of a captured case",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("manifest", metavar="MANIFEST", help="the agent.yaml")
    parser.add_argument("--case", required=True, metavar="ID", help="id of the case")
    parser.add_argument("--case-dir", required=True, metavar="DIR", help="folder of the captured case")
    parser.add_argument(
        "--session-id", metavar="ID", help="default: session_id of the manifest, which is the case's id"
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="only traces that began then or later, such as 2026-01-31T12:00:00Z (default: when the case was "
        "captured)",
    )
    parser.add_argument("--until", metavar="TIME", help="only traces that began then or earlier")
    return parser


def run(options: argparse.Namespace) -> int:
    """Fetch, and print what was written."""
    from pytest_mcpeval.kinds.agent.observability.spans import ObservabilityError
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.loading.messages import counted
    from pytest_mcpeval.text.visible import visible

    try:
        folder, result = _fetched(options)
    except (DataFileError, ObservabilityError, OSError, ValueError) as error:
        print(visible(f"{options.prog}: {error}"), file=sys.stderr)
        return 1
    written = [f"wrote {folder.observability / name}" for name in result.written]
    summary = f"{counted(result.traces, 'trace')}, {counted(len(result.written), 'log')} written"
    for line in (*result.notes, *written, summary):
        print(visible(line))
    return 0


def _fetched(options: argparse.Namespace) -> tuple[CaseFolder, FetchResult]:
    from pytest_mcpeval.browser.artifacts import CaseFolder
    from pytest_mcpeval.kinds.agent.captures import note_fetched, read_capture
    from pytest_mcpeval.kinds.agent.load import load_manifest
    from pytest_mcpeval.kinds.agent.observability.fetching import TraceQuery, fetch
    from pytest_mcpeval.kinds.agent.preparing import learn
    from pytest_mcpeval.kinds.agent.urls import filled
    from pytest_mcpeval.loading.messages import choice, suggestion

    manifest = load_manifest(Path(options.manifest))
    cases = [case.id for case in manifest.cases]
    if options.case not in cases:
        hint = suggestion(options.case, cases)
        raise ValueError(f"{options.manifest}: no case {options.case!r}{hint}: it has {choice(cases)}")
    folder = CaseFolder(Path(options.case_dir).resolve())
    if not folder.path.is_dir():
        raise ValueError(f"--case-dir: no such directory: {options.case_dir}")
    backend = manifest.observability.backend
    if backend is None:
        raise ValueError(
            f"{options.manifest}: no trace backend is declared: add observability.langfuse, .otel or .phoenix"
        )
    capture = read_capture(folder)
    _check_capture(capture, manifest, options)
    run_id = None if capture is None else capture.run_id
    known = {"case_id": options.case, "run_id": run_id or folder.path.parent.name}
    session = options.session_id or filled(backend.session_id, known)
    since = options.since or (capture.started if capture is not None else "") or None
    folder.create()
    learn(manifest)
    result = fetch(backend, TraceQuery(session, since, options.until), folder)
    note_fetched(folder)
    return folder, result


def _check_capture(capture: Capture | None, manifest: Manifest, options: argparse.Namespace) -> None:
    """See that the traces are not written to those of another case."""
    if capture is None:
        return
    agent = capture.agent or manifest.name
    if (agent, capture.case_id) != (manifest.name, options.case):
        raise ValueError(
            f"--case-dir: {options.case_dir} holds the case {capture.case_id!r} of the agent {agent!r}, and "
            f"asked for is {options.case!r} of {manifest.name!r}"
        )
