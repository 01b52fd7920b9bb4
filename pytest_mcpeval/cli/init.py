"""``pytest-mcpeval init``: a small example that passes, to begin from."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pytest_mcpeval.cli.project import shown

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


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    summary = "write a small working example: a server and a suite of evals"
    parser: argparse.ArgumentParser = commands.add_parser("init", help=summary, description=summary)
    parser.add_argument(
        "directory", nargs="?", default=".", metavar="DIR", help="where (default: here; made if missing)"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the files, all or none of them; existing ones are never overwritten."""
    directory = Path(options.directory).absolute()
    present = [name for name in FILES if (directory / name).exists()]
    if present:
        listed = ", ".join(shown(directory / name) for name in present)
        print(f"{options.prog}: nothing was written, since these exist already: {listed}", file=sys.stderr)
        return 1
    try:
        for name, text in FILES.items():
            _write(directory / name, text)
    except OSError as error:
        print(f"{options.prog}: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    where = shown(directory)
    command = "pytest --mcpeval" if where == "." else f"cd {where} && pytest --mcpeval"
    print(f"\nNow run:  {command}")
    return 0


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    print(f"wrote {shown(path)}")
