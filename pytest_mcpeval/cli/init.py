"""``pytest-mcpeval init``: suites for the servers that are here, or a small example; both pass at once."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import root_directory, runtime_at
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.text.visible import from_here

if TYPE_CHECKING:
    from pytest_mcpeval.servers import Connection, ServerDefinition, Tool

DESCRIPTION = """\
Write suites for MCP servers, and mcpeval.yaml. The servers are those of the .mcp.json or mcpeval.yaml in DIR
or above, or the one that --server or --url names. Each tool that only reads is called twice, with arguments
made from its input schema, and its answers become checks. Tools that change something, and tools whose
arguments cannot be guessed, are written as comments to complete. No file is overwritten; a second init adds
tools that are new.

Without a server, init writes a small working example: a server and a suite.
"""
MADE = "# Made by pytest-mcpeval init"

SERVER = '''\
"""A small MCP server, here to be replaced by yours."""

from mcp.server import MCPServer

server = MCPServer("example")

PAGES = {
    "install": "Install the package with pip: pip install pytest-mcpeval. It needs Python 3.11 or newer.",
    "run": "Run all evals of a repository with the command: pytest --mcpeval",
}


@server.tool(structured_output=False)
def search(query: str) -> str:
    """Return the pages that contain a word of the query."""
    words = query.lower().split()
    found = [text for text in PAGES.values() if any(word in text.lower() for word in words)]
    return "\\n".join(found) or "No page matches."


@server.tool()
def count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())
'''

PROJECT = """\
# What the data files below this directory are run against. An in-process server needs no other program;
# for others write `command:` and `args:`, or `url:`. A .mcp.json at the root directory is read as well.
servers:
  example: {module: "example_server:server"}
scenario:
  - files: datasets/**
    server: example
    # gates: {pass_rate: 0.9}     # tolerate failing cases down to this rate
"""

SUITE = """\
# Each test calls a tool and checks its answer. All checks: pytest-mcpeval schema scenario
name: Example
tests:
  - id: search-finds-the-command
    name: How to run the evals
    tool: search
    difficulty: basic
    tags: [search]
    input: {query: evals}
    expected:
      validations:
        - {type: contains, value: pytest --mcpeval}
        - {type: min_length, chars: 20}
        - not: {type: contains, value: No page matches}

  - id: search-finds-nothing
    name: A word on no page
    tool: search
    difficulty: basic
    tags: [search]
    input: {query: zebra}
    expected:
      validations:
        - {type: equals, value: No page matches.}

  - id: count-words
    name: Structured answers
    tool: count
    difficulty: basic
    input: {text: three short words}
    expected:
      validations:
        - {type: json_path, path: $.result, equals: 3}
"""

FILES = {
    "example_server.py": SERVER,
    "mcpeval.yaml": PROJECT,
    "datasets/example.eval.yaml": SUITE,
}


WORKFLOWS = {
    "github": ".github/workflows/evals.yml",
    "gitlab": ".gitlab-ci.yml",
}
GITHUB = """\
name: evals
on: [push, pull_request]
permissions:
  contents: read
jobs:
  evals:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - uses: actions/setup-node@v4
        with: {node-version: "22"}
      - run: pip install pytest-mcpeval
      - run: pytest --mcpeval --mcpeval-report=reports
      - uses: actions/upload-artifact@v4
        if: always()
        with: {name: evals, path: reports}
"""
GITLAB = """\
evals:
  image: nikolaik/python-nodejs:python3.12-nodejs22
  script:
    - pip install pytest-mcpeval
    - pytest --mcpeval --mcpeval-report=reports --junitxml=reports/junit.xml
  artifacts:
    when: always
    paths: [reports]
    reports: {junit: reports/junit.xml}
"""
CALL_SECONDS = 30.0
_TOOL_NAMED = re.compile(r"^[ #]*(?:- )?tool: (.+)$", re.MULTILINE)
_ID_NAMED = re.compile(r"^[ #]*- id: (\S+)$", re.MULTILINE)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class InitError(Exception):
    """Nothing can be written; the text says why, and what to do."""


@dataclass
class Draft:
    """What is to be written: new files, and additions to existing ones. ``notes`` are printed at the end."""

    directory: Path
    files: dict[str, str] = field(default_factory=dict)
    additions: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "init",
        help="write suites for the servers that are here, or a small working example",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "directory", nargs="?", default=".", metavar="DIR", help="where (default: here; made if missing)"
    )
    server = parser.add_mutually_exclusive_group()
    server.add_argument("--server", metavar="COMMAND", help="a stdio server: its command line in quotes")
    server.add_argument("--url", metavar="URL", help="a streamable HTTP server")
    parser.add_argument("--ci", choices=sorted(WORKFLOWS), help="write a CI job that runs the evals as well")
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the files; existing ones are never overwritten."""
    from pytest_mcpeval.text.visible import visible

    directory = Path(options.directory).absolute()
    draft = Draft(directory)
    failed = False
    try:
        if servers := _servers(options, directory):
            failed = _draft_suites(draft, servers, is_new=bool(options.server or options.url))
        else:
            _draft_example(draft)
        _draft_workflow(draft, options.ci)
        for name, text in draft.files.items():
            _write(directory / name, text)
        for name, text in draft.additions.items():
            with (directory / name).open("a", encoding="utf-8", newline="\n") as file:
                file.write(text)
            print(f"added to {from_here(directory / name)}")
    except InitError as error:
        print(visible(f"{options.prog}: {error}"), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{options.prog}: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    for note in draft.notes:
        print(visible(note))
    where = from_here(directory)
    command = "pytest --mcpeval" if where == "." else f"cd {where} && pytest --mcpeval"
    print(f"\nNow run:  {command}")
    return int(failed)


def _draft_example(draft: Draft) -> None:
    present = [name for name in FILES if (draft.directory / name).exists()]
    if present:
        listed = ", ".join(from_here(draft.directory / name) for name in present)
        raise InitError(f"nothing was written, since these exist already: {listed}")
    draft.files |= FILES


def _draft_workflow(draft: Draft, provider: str | None) -> None:
    if provider is None:
        return
    name = WORKFLOWS[provider]
    if (draft.directory / name).exists():
        draft.notes.append(f"{name} exists already and was not changed; the job would be:")
        draft.notes.append(GITHUB if provider == "github" else GITLAB)
    else:
        draft.files[name] = GITHUB if provider == "github" else GITLAB


def _servers(options: argparse.Namespace, directory: Path) -> Mapping[str, ServerDefinition]:
    """The servers to write suites for, by name; empty for none. That of the command line has no name yet."""
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.servers import ServerConfigError, ServerDefinition

    if options.url:
        return {"": ServerDefinition(options.url, "http", url=options.url)}
    if options.server:
        try:
            command, *arguments = shlex.split(options.server)
        except ValueError as error:
            raise InitError(f"--server {options.server!r} is not a command line: {error}") from None
        name = Path(command).name
        return {"": ServerDefinition(name, "stdio", command, tuple(arguments), directory=directory)}
    project = directory / "mcpeval.yaml"
    if project.exists() and project.read_text("utf-8", "replace") == PROJECT:
        return {}
    try:
        return runtime_at(root_directory(directory)).project_files.servers_at(project)
    except (DataFileError, ServerConfigError) as error:
        if (root_directory(directory) / ".mcp.json").exists():
            raise InitError(str(error)) from None
        return {}


def _draft_suites(draft: Draft, servers: Mapping[str, ServerDefinition], *, is_new: bool) -> bool:
    """A suite for each server; returns whether one of them could not be asked."""
    from pytest_mcpeval.servers import CallError, Connections, ServerConfigError, ServerStartError

    failed = False
    project = draft.directory / "mcpeval.yaml"
    named: dict[str, ServerDefinition] = {}
    with Connections() as connections:
        for given, definition in servers.items():
            try:
                connection = connections.get(definition)
                name = given or _name_of(connection, definition)
                has_suite = _draft_suite(draft, name, connection)
            except (CallError, ServerConfigError, ServerStartError) as error:
                failed = True
                draft.notes.append(f"no suite for server {given or definition.display()!r}: {error}")
                continue
            if has_suite:
                named[name] = definition
    if not named:
        raise InitError("\n".join([*draft.notes, "nothing was written"]))
    if is_new and project.exists():
        (name, definition) = next(iter(named.items()))
        known = runtime_at(root_directory(draft.directory)).project_files.servers_at(project)
        if name not in known:
            raise InitError(
                f"{from_here(project)} exists and defines no server {name!r}: nothing was written; add\n"
                f"{_project_text({name: definition}, is_new=True)}"
            )
    elif not project.exists():
        draft.files["mcpeval.yaml"] = _project_text(named, is_new=is_new)
    return failed


def _name_of(connection: Connection, definition: ServerDefinition) -> str:
    said = connection.server_name or Path(definition.command).name or "server"
    return _NOT_IN_NAMES.sub("-", said.lower()).strip("-") or "server"


def _project_text(servers: Mapping[str, ServerDefinition], *, is_new: bool) -> str:
    from pytest_mcpeval.kinds.scenario.scaffold import in_yaml

    lines = [MADE, "# Servers of a .mcp.json in the root directory are known as well."]
    if is_new:
        lines.append("servers:")
        for name, one in servers.items():
            entry = {"url": one.url} if one.url else {"command": one.command, "args": list(one.args)}
            lines.append(f"  {in_yaml(name)}: {in_yaml(entry)}")
    lines += ["scenario:", "  # Which suite is run against which server."]
    for name in servers:
        lines += [f"  - files: {_suite_file(name)}", f"    server: {in_yaml(name)}"]
        lines.append("    # gates: {pass_rate: 0.9}  # tolerate failing cases down to this rate")
    return "\n".join(lines) + "\n"


def _suite_file(server: str) -> str:
    return f"datasets/{_NOT_IN_NAMES.sub('-', server.lower()).strip('-') or 'server'}.eval.yaml"


def _draft_suite(draft: Draft, server: str, connection: Connection) -> bool:
    """The suite of one server, or what an existing one lacks; returns whether there is one."""
    from pytest_mcpeval.kinds.scenario.scaffold import in_yaml

    name = _suite_file(server)
    path = draft.directory / name
    present = path.read_text("utf-8") if path.exists() else ""
    known = {found.strip("'\"") for found in _TOOL_NAMED.findall(present)}
    tools = [tool for tool in connection.list_tools(timeout=CALL_SECONDS) if tool.name not in known]
    taken = set(_ID_NAMED.findall(present))
    found = [(tool, *_case(tool, connection, taken)) for tool in tools]
    cases = "".join(f"\n{text}" for _, text, _ in found)
    calls = sum(not reason for _, _, reason in found)
    if present and not present.startswith(MADE) and tools:
        listed = ", ".join(tool.name for tool in tools)
        draft.notes.append(f"{name} is yours and was not changed; it has no case of {listed}")
    elif present:
        if tools:
            draft.additions[name] = cases
        draft.notes.append(f"{name}: {counted(len(tools), 'new tool')}")
    elif not calls:
        listed = "\n".join(f"  {tool.name}: {reason}" for tool, _, reason in found)
        draft.notes.append(
            f"no suite for server {server!r}: init cannot call its tools. A case is what "
            f"`pytest-mcpeval call {server} TOOL NAME=VALUE` prints.\n{listed}"
        )
        return False
    else:
        head = f"{MADE}; it is yours now. All checks: pytest-mcpeval schema scenario\n"
        draft.files[name] = f"{head}name: {in_yaml(server)}\ntests:{cases}"
        draft.notes.append(f"{name}: {counted(calls, 'case')}, {len(tools) - calls} to complete")
    return True


def _case(tool: Tool, connection: Connection, taken: set[str]) -> tuple[str, str]:
    """A case of a tool, and why it is only a comment to complete; empty for a case that passes."""
    from pytest_mcpeval.kinds.scenario.scaffold import (
        NoArgumentsError,
        case_text,
        checks_of,
        id_for,
        open_case_text,
        sample_arguments,
    )
    from pytest_mcpeval.kinds.session.safety_rules import classify
    from pytest_mcpeval.servers import CallError

    case_id = id_for(tool.name, taken)
    taken.add(case_id)
    try:
        if (found := classify(tool.name, tool)).effect != "read":
            words = "may change something" if found.effect == "undecided" else "changes something"
            raise NoArgumentsError(f"it {words}: {found.reason}")
        arguments = sample_arguments(tool)
        answers = [connection.call_tool(tool.name, arguments, timeout=CALL_SECONDS) for _ in range(2)]
        if wrong := next((one for one in answers if one.is_error), None):
            raise NoArgumentsError(f"called with {arguments}, it answers with an error: {wrong.text[:200]}")
    except (NoArgumentsError, CallError) as error:
        reason = " ".join(str(error).split())
        return open_case_text(tool, reason, case_id), reason
    return case_text(tool.name, arguments, checks_of(answers), case_id, tool.description.strip()), ""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    print(f"wrote {from_here(path)}")
