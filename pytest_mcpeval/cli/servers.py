"""``pytest-mcpeval servers``: which servers are defined here, and whether they start."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import DefinitionError, defined_servers
from pytest_mcpeval.text.visible import visible

if TYPE_CHECKING:
    from pytest_mcpeval.servers import Connections, ServerDefinition

DESCRIPTION = """\
List the servers that are defined for this directory, in mcpeval.yaml files and in the .mcp.json of the root
directory. With --check, start each and list its tools.
"""
SHOWN_DESCRIPTION = 70


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "servers", help="list the servers that are defined here; --check starts them", description=DESCRIPTION
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these servers")
    parser.add_argument("--check", action="store_true", help="start each server and list its tools")
    parser.add_argument("--rootdir", metavar="DIR", help="root directory (default: as pytest finds it)")
    return parser


def run(options: argparse.Namespace) -> int:
    """List the servers; with ``--check``, try them."""
    try:
        chosen, ignored = defined_servers(options.rootdir, options.names)
    except DefinitionError as error:
        print(f"{options.prog}: {visible(str(error))}", file=sys.stderr)
        return error.status
    status = _checked(chosen) if options.check else _listed(chosen)
    for line in ignored:
        print(_relative(visible(line)))
    return status


def _listed(definitions: Mapping[str, ServerDefinition]) -> int:
    width = max(map(len, definitions))
    for name, definition in definitions.items():
        print(visible(f"{name:{width}}  {definition.transport:6}  {definition.display()}"))
        print(visible(f"{'':{width}}  defined: {_relative(definition.origin)}"))
    return 0


def _relative(text: str) -> str:
    return text.replace(f"{Path.cwd()}/", "")


def _checked(definitions: Mapping[str, ServerDefinition]) -> int:
    from pytest_mcpeval.servers import CallError, Connections, ServerConfigError, ServerStartError

    broken = 0
    with Connections(definitions) as connections:
        for name in definitions:
            try:
                lines = list(_tools(connections, name))
            except (CallError, ServerStartError) as error:
                broken += 1
                lines = [f"✗ {error}" if name in str(error) else f"✗ {name}: {error}"]
            except ServerConfigError as error:
                broken += 1
                lines = [f"✗ {name}: {error}"]
            print(visible("\n".join(lines)))
    return 1 if broken else 0


def _tools(connections: Connections, name: str) -> Iterator[str]:
    connection = connections.get(name)
    tools = connection.list_tools()
    said = " ".join(part for part in (connection.server_name, connection.server_version) if part)
    about = f"{said}, protocol {connection.protocol_version}" if said else connection.protocol_version
    yield f"✓ {name} ({about}): {len(tools)} {'tool' if len(tools) == 1 else 'tools'}"
    width = max((len(tool.name) for tool in tools), default=0)
    for tool in tools:
        yield f"    {tool.name:{width}}  {_first_line(tool.description)}".rstrip()


def _first_line(description: str) -> str:
    line = description.strip().partition("\n")[0]
    return line if len(line) <= SHOWN_DESCRIPTION else line[: SHOWN_DESCRIPTION - 1] + "…"
