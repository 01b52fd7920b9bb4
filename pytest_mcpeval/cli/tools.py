"""``pytest-mcpeval tools``: what the servers offer, with the arguments of each tool."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import DefinitionError, defined_servers

if TYPE_CHECKING:
    from pytest_mcpeval.servers import Tool

DESCRIPTION = """\
List the tools of the servers that are defined for this directory: what each does, whether it changes anything
as far as its server says, and its arguments with types, defaults and whether they are required.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "tools", help="list the tools of servers, with their arguments", description=DESCRIPTION
    )
    parser.add_argument("server", nargs="?", metavar="SERVER", help="only this server")
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="only this tool")
    parser.add_argument("--json", action="store_true", help="print JSON: all that the servers say")
    parser.add_argument("--rootdir", metavar="DIR", help="root directory (default: as pytest finds it)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Start the servers and list their tools."""
    from pytest_mcpeval.servers import CallError, Connections, ServerConfigError, ServerStartError
    from pytest_mcpeval.servers.tools import unlisted
    from pytest_mcpeval.text.visible import visible

    try:
        definitions, _ = defined_servers(options.rootdir, [options.server] if options.server else [])
    except DefinitionError as error:
        print(visible(f"{options.prog}: {error}"), file=sys.stderr)
        return error.status
    found: dict[str, list[Tool]] = {}
    status = 0
    with Connections(definitions) as connections:
        for name in definitions:
            try:
                listed = connections.get(name).list_tools()
            except (CallError, ServerConfigError, ServerStartError) as error:
                print(visible(f"{options.prog}: {name}: {error}"), file=sys.stderr)
                status = 1
                continue
            found[name] = [tool for tool in listed if options.tool in (None, tool.name)]
            if options.tool and not found[name]:
                words = unlisted(name, "tool", options.tool, [tool.name for tool in listed])
                print(visible(f"{options.prog}: {words}"), file=sys.stderr)
                return 2
    if options.json:
        data = {name: [_as_json(tool) for tool in tools] for name, tools in found.items()}
        print(json.dumps(data, indent=1, ensure_ascii=False))
    else:
        lines = [line for name, tools in found.items() for line in _lines(name, tools)]
        print(visible("\n".join(lines)))
    return status


def _as_json(tool: Tool) -> dict[str, Any]:
    from pytest_mcpeval.kinds.session.safety_rules import classify

    return {**vars(tool), "effect": classify(tool.name, tool).effect}


def _lines(server: str, tools: list[Tool]) -> Iterator[str]:
    from pytest_mcpeval.kinds.session.safety_rules import classify

    yield f"{server}: {len(tools)} {'tool' if len(tools) == 1 else 'tools'}"
    words = {"read": "reads", "mutating": "changes something", "undecided": "may change something"}
    for tool in tools:
        effect = classify(tool.name, tool)
        yield f"  {tool.name}  ({words[effect.effect]}: {effect.reason})"
        if description := tool.description.strip():
            yield f"    {description.partition(chr(10))[0]}"
        required = tool.input_schema.get("required", ())
        for name, schema in tool.input_schema.get("properties", {}).items():
            yield f"    - {name}: {_argument(schema)}{', required' if name in required else ''}"


def _argument(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "anything"
    alternatives = [one for key in ("anyOf", "oneOf") for one in schema.get(key, ())]
    kinds = schema.get("type") or [one.get("type", "?") for one in alternatives if isinstance(one, Mapping)]
    words = " or ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds)
    if isinstance(schema.get("enum"), list):
        words = f"one of {', '.join(json.dumps(one, ensure_ascii=False) for one in schema['enum'])}"
    if schema.get("default") is not None:
        words += f", default {json.dumps(schema['default'], ensure_ascii=False)}"
    description = " ".join(str(schema.get("description", "")).split())
    return f"{words or 'anything'}{f' – {description}' if description else ''}"
