"""``pytest-mcpeval scope``: gather scenarios, derive edge cases, and have the list approved."""

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
    from pytest_mcpeval.kinds.session.edge_cases import Manifest, Proposal
    from pytest_mcpeval.kinds.session.folder import Folder
    from pytest_mcpeval.kinds.session.state import StateFile

DESCRIPTION = """\
Read scenarios from a file or ask for them, derive edge cases from the tools of the attached servers, and
show the list until you approve it with the word `approve` or `user-only`. Then write the scenario file that
`pytest --mcpeval` runs.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "scope", help="collect the scenarios of an evaluation and ask for approval", description=DESCRIPTION
    )
    evaluations.add_arguments(parser)
    parser.add_argument(
        "--scenarios",
        metavar="FILE",
        help="file with scenarios: a list in .json or .yaml, otherwise one per line",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Gather scenarios, and write the file."""
    return evaluations.guarded(options, lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from pytest_mcpeval.core.errors import TargetError
    from pytest_mcpeval.kinds.session.folder import Claim, Folder
    from pytest_mcpeval.kinds.session.options import evaluation_name, only_unfinished

    with options.project(Path.cwd()) as context:
        root = context.rootdir
        name = evaluation_name(options.name or only_unfinished(root, "--name"))
        folder = Folder(root, name)
        out = evaluations.out_file(options, root, name)
        # Before anything is locked, which makes the folder.
        if not folder.state.is_file():
            begin = f"begin it with pytest-mcpeval interview --name {name}"
            raise TargetError(f"there is no evaluation {name!r}: {begin}")
        with closing(Claim(folder, uuid4().hex, os.getpid())):
            if not _approved(options, context, _state(folder), out):
                return evaluations.failed(f"{options.prog}: no scenario, so there is nothing to evaluate")
        print(
            f"\nwrote {out}. Say in it who carries the scenarios out (`agent:` or `steps:`), then run\n"
            f"  pytest --mcpeval {context.key(out)} --mcpeval-name {name}"
        )
    return 0


def _state(folder: Folder) -> StateFile:
    from pytest_mcpeval.core.errors import TargetError
    from pytest_mcpeval.kinds.session.state import StateFile

    file = StateFile.read(folder.state)
    if file.state.status != "scoping":
        raise TargetError(
            f"the evaluation {folder.name!r} has the status {file.state.status!r}, expected 'scoping': hold "
            "its interview first, or begin another one with pytest-mcpeval interview --name"
        )
    return file


def _approved(options: argparse.Namespace, context: RunContext, file: StateFile, out: Path) -> bool:
    """Whether scenarios were approved and written."""
    from pytest_mcpeval.core.baseline import write_atomically
    from pytest_mcpeval.kinds.session.scope import approve, scenarios_file, with_derived

    # One that is there was approved and written by a process that died before it could say so.
    key = context.key(out)
    if not (file.state.scenarios and file.state.config.scenarios_file == key and out.exists()):
        # Before anybody is asked: no answer must be lost at the end.
        _require_new(out)
        proposals = _own_scenarios(options, file)
        if not proposals:
            return False
        approval, scenarios = approve(with_derived(proposals, _manifests(context, file, out), file))
        _require_new(out)
        # Recorded first, so that a file that exists is known to belong to this evaluation.
        config = file.state.config.model_copy(update={"scenarios_file": key})
        file.update(config=config, scenarios=scenarios)
        write_atomically(out, scenarios_file(file.state, approval))
    file.update(status="scoped")
    return True


def _require_new(out: Path) -> None:
    if out.exists():
        raise ValueError(f"{out} exists already and will not be overwritten: name another file with --out")


def _own_scenarios(options: argparse.Namespace, file: StateFile) -> list[Proposal]:
    from pytest_mcpeval.kinds.session.intake import read_scenarios
    from pytest_mcpeval.kinds.session.schema import MOST_SCENARIOS
    from pytest_mcpeval.kinds.session.scope import ask_scenarios, checked

    if options.scenarios is None:
        return ask_scenarios()
    rows = read_scenarios(Path(options.scenarios))
    if len(rows) > MOST_SCENARIOS:
        raise ValueError(f"{options.scenarios}: expected 1 to {MOST_SCENARIOS} scenarios, found {len(rows)}")
    return checked(rows, file)


def _manifests(context: RunContext, file: StateFile, out: Path) -> dict[str, list[Manifest]]:
    """The tools of the servers that may be called; one that does not answer has none."""
    from pytest_mcpeval.kinds.session.edge_cases import Manifest
    from pytest_mcpeval.kinds.session.safety_rules import classify
    from pytest_mcpeval.servers import CallError, ServerConfigError, ServerStartError
    from pytest_mcpeval.text.visible import visible

    attached = evaluations.discovered(context, out).attached
    found: dict[str, list[Manifest]] = {}
    for scope in file.state.safety_dispositions:
        if scope.disposition == "skip" or scope.mcp_name not in attached:
            continue
        try:
            tools = context.connection(attached[scope.mcp_name].definition).list_tools()
        except (CallError, ServerConfigError, ServerStartError) as error:
            print(visible(f"no edge cases of {scope.mcp_name}: {error}"))
            continue
        found[scope.mcp_name] = [
            Manifest(
                tool.name,
                tuple(tool.input_schema.get("properties", {})),
                reads=classify(tool.name, tool).effect == "read",
            )
            for tool in tools
        ]
    return found
