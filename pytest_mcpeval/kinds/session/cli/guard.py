"""``pytest-mcpeval guard``: the servers of a session file behind the guard, as one MCP server over stdio."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.session.command_line import call_budget, minutes

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.session.guard import Guard
    from pytest_mcpeval.kinds.session.spec import SessionSuite

DESCRIPTION = """\
Serve the servers of a session file as one MCP server over standard input and output, for your own agent or
client. Its tools are named mcp__<server>__<tool>; the file's dispositions and the budgets are enforced,
and every call is written to the transcript. The command ends when the client ends.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "guard", help="serve a session's servers behind the guard, over stdio", description=DESCRIPTION
    )
    parser.add_argument("file", metavar="FILE", help="the session file")
    parser.add_argument(
        "--scenario", metavar="ID", help="the scenario whose budget applies (default: the first)"
    )
    parser.add_argument(
        "--transcript", metavar="FILE", default="transcript.jsonl", help="default: transcript.jsonl, here"
    )
    parser.add_argument("--call-budget", metavar="N", type=call_budget, help="default: that of the file")
    parser.add_argument("--wallclock-budget", metavar="MINUTES", type=minutes, help="default: as above")
    parser.add_argument("--rootdir", metavar="DIR", help="root directory (default: as pytest finds it)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Serve until the client is gone."""
    path = Path(options.file).absolute()
    with options.project(path.parent, options.rootdir) as context:
        return _run(path, options, context)


def _run(path: Path, options: argparse.Namespace, context: RunContext) -> int:
    from pytest_mcpeval.kinds.session.spec import SessionSuite
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.loading.messages import shown
    from pytest_mcpeval.servers.errors import ServerConfigError

    try:
        suite = context.suite(path)
    except (DataFileError, ServerConfigError) as error:
        print(context.described(error) if isinstance(error, DataFileError) else error, file=sys.stderr)
        return 1
    if not isinstance(suite, SessionSuite):
        print(f"{options.prog}: {options.file} is not a session file", file=sys.stderr)
        return 2
    known = [one.id for one in suite.scenarios]
    scenario = options.scenario or known[0]
    if scenario not in known:
        problem = f"--scenario {shown(scenario)}: {options.file} has {', '.join(known)}"
        print(f"{options.prog}: {problem}", file=sys.stderr)
        return 2
    return _serve(_guard(suite, options, context), scenario)


def _guard(suite: SessionSuite, options: argparse.Namespace, context: RunContext) -> Guard:
    from pytest_mcpeval.kinds.session.guard import Guard, utc_now
    from pytest_mcpeval.kinds.session.records import Budget
    from pytest_mcpeval.kinds.session.transcript import Transcript

    settings = suite.settings
    return Guard(
        servers={name: found.definition for name, found in suite.attached.items()},
        scopes=suite.scopes.values(),
        transcript=Transcript(Path(options.transcript).absolute()),
        budget=Budget(
            session_started=utc_now(),
            calls_per_scenario=options.call_budget or settings.call_budget,
            wallclock_minutes=options.wallclock_budget or settings.wallclock_budget,
        ),
        connect=context.connection,
    )


def _serve(guard: Guard, scenario: str) -> int:
    from pytest_mcpeval.kinds.session.guard_server import serve_stdio
    from pytest_mcpeval.kinds.session.toolbox import Toolbox
    from pytest_mcpeval.loading import DataFileError

    toolbox = Toolbox(guard, scenario)
    try:
        ended = toolbox.abort_reason
    except DataFileError as error:
        print(error, file=sys.stderr)
        return 1
    if ended is not None:
        remedy = "name another file with --transcript, or another scenario with --scenario"
        print(
            f"{guard.transcript.path}: the scenario {scenario} is over ({ended}): {remedy}", file=sys.stderr
        )
        return 1
    try:
        serve_stdio(toolbox)
    finally:
        toolbox.close()
    return 0
