"""``pytest-mcpeval interview``: find the attached servers, and ask what may be done to each."""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pytest_mcpeval.kinds.session.cli import evaluations

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.session.folder import Folder
    from pytest_mcpeval.kinds.session.state import StateFile

DESCRIPTION = """\
Find every server that a session started here would have (~/.claude.json, .mcp.json, mcpeval.yaml), list their
tools, and ask what may be done with each: read_only, sandboxed or skip. The answers are saved in
mcp-evals/mcp-eval-NAME/state.json; `pytest-mcpeval scope` is the next step.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "interview", help="ask what may be done with each attached server", description=DESCRIPTION
    )
    evaluations.add_arguments(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Hold the interview."""
    return evaluations.guarded(options, lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from pytest_mcpeval.kinds.session.folder import Claim, Folder
    from pytest_mcpeval.kinds.session.interview import interview
    from pytest_mcpeval.kinds.session.options import evaluation_name, name_by_time
    from pytest_mcpeval.kinds.session.report import NOTHING_TO_EVALUATE

    name = evaluation_name(options.name or name_by_time())
    with options.project(Path.cwd()) as context:
        folder = Folder(context.rootdir, name)
        with closing(Claim(folder, uuid4().hex, os.getpid())):
            file = _state(context, folder, evaluations.out_file(options, context.rootdir, name))
            if not file.state.attached_mcps:
                print(f"{NOTHING_TO_EVALUATE}\nReport: {folder.report}")
                return 0
            interview(file)
    print(f"\nKept in {folder.relative(folder.path)}. Next: pytest-mcpeval scope --name {name}")
    return 0


def _state(context: RunContext, folder: Folder, out: Path) -> StateFile:
    """The state to go on with: that of an interview that was left, or a new one."""
    from pytest_mcpeval.core.errors import TargetError
    from pytest_mcpeval.kinds.session.state import Config, State, StateFile, now

    if not folder.state.is_file():
        started, config = now(), Config(scenarios_file=context.key(out))
        state = State(eval_name=folder.name, started=started, last_updated=started, config=config)
        return _begun(context, StateFile.create(folder.state, state), out, folder)
    file = StateFile.read(folder.state)
    if file.state.status == "discovering":
        return _begun(context, file, out, folder)
    if file.state.status != "interviewing":
        raise TargetError(
            f"the evaluation {folder.name!r} is past its interview, its status is {file.state.status!r}: "
            "begin another one with --name"
        )
    return file


def _begun(context: RunContext, file: StateFile, out: Path, folder: Folder) -> StateFile:
    from pytest_mcpeval.kinds.session.finalize import write_report
    from pytest_mcpeval.kinds.session.scoping import listed_server
    from pytest_mcpeval.kinds.session.state import FilteredServer

    found = evaluations.discovered(context, out)
    attached = tuple(listed_server(server, context.connection) for server in found.attached.values())
    filtered = tuple(FilteredServer(name=name, reason=why) for name, why in found.filtered.items())
    status = "interviewing" if attached else "reporting"
    file.update(status=status, attached_mcps=attached, filtered_mcps=filtered)
    if not attached:
        write_report(folder, file, ())
    return file
