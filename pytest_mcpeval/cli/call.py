"""``pytest-mcpeval call``: one call of a tool, its answer, and a case that is ready to be kept."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import DefinitionError, defined_servers

if TYPE_CHECKING:
    from pytest_mcpeval.servers import Response, Tool

DESCRIPTION = """\
Call a tool of a server that is defined for this directory, and print its answer and a case for a suite that
checks it. An argument is NAME=VALUE: a text where the tool's input schema wants one, JSON otherwise.
The tool is called whatever it does: `pytest-mcpeval tools` says which ones change something.
"""
SHOWN_CHARACTERS = 4000


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "call", help="call a tool, and print its answer and a case", description=DESCRIPTION
    )
    parser.add_argument("server", metavar="SERVER", help="name of the server")
    parser.add_argument("tool", metavar="TOOL", help="name of the tool")
    parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help="arguments of the tool")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="default: 30")
    parser.add_argument("--rootdir", metavar="DIR", help="root directory (default: as pytest finds it)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Make the call; returns 1 when the answer is an error, or when there is none."""
    from pytest_mcpeval.servers import CallError, Connections, ServerConfigError, ServerStartError
    from pytest_mcpeval.servers.tools import unlisted
    from pytest_mcpeval.text.visible import visible

    def wrong(message: object, status: int) -> int:
        print(visible(f"{options.prog}: {message}"), file=sys.stderr)
        return status

    try:
        definitions, _ = defined_servers(options.rootdir, [options.server])
        with Connections(definitions) as connections:
            connection = connections.get(options.server)
            tools = {tool.name: tool for tool in connection.list_tools(timeout=options.timeout)}
            if options.tool not in tools:
                return wrong(unlisted(options.server, "tool", options.tool, tools), 2)
            arguments = parsed_arguments(options.arguments, tools[options.tool].input_schema)
            answer = connection.call_tool(options.tool, arguments, timeout=options.timeout)
    except DefinitionError as error:
        return wrong(error, error.status)
    except ValueError as error:
        return wrong(error, 2)
    except (CallError, ServerConfigError, ServerStartError) as error:
        return wrong(error, 1)
    print(visible(_answer(answer)))
    if not answer.is_error:
        print(
            visible(
                f"\nA case for a suite (below `tests:`):\n\n{_case(tools[options.tool], arguments, answer)}"
            )
        )
    return int(answer.is_error)


def parsed_arguments(given: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were typed as ``NAME=VALUE``, with the types that an input schema wants.

    Raises:
        ValueError: One has no ``=``, or is neither the text nor the JSON that the schema wants.
    """
    found: dict[str, Any] = {}
    properties = schema.get("properties", {})
    for one in given:
        name, separator, value = one.partition("=")
        if not separator or not name:
            raise ValueError(f"{one!r} is not an argument: write NAME=VALUE")
        wanted = properties.get(name, {}).get("type") if isinstance(properties.get(name), Mapping) else None
        if wanted == "string":
            found[name] = value
            continue
        try:
            found[name] = json.loads(value)
        except ValueError:
            if wanted in ("integer", "number", "boolean", "array", "object"):
                raise ValueError(f"{name} is of type {wanted}, and {value!r} is not JSON") from None
            found[name] = value
    return found


def _answer(answer: Response) -> str:
    text = answer.text
    if answer.structured is not None:
        text = json.dumps(answer.structured, indent=1, ensure_ascii=False)
    cut = f"… ({len(text) - SHOWN_CHARACTERS:,} more characters)" if len(text) > SHOWN_CHARACTERS else ""
    others = [f"{block.type}, {block.size:,} bytes" for block in answer.blocks if block.type != "text"]
    status = "error" if answer.is_error else "answer"
    head = f"{status} after {answer.latency_ms:.0f} ms{''.join(f'; {one}' for one in others)}:"
    return f"{head}\n{text[:SHOWN_CHARACTERS]}{cut}"


def _case(tool: Tool, arguments: Mapping[str, Any], answer: Response) -> str:
    from pytest_mcpeval.kinds.scenario.scaffold import case_text, checks_of, id_for

    return case_text(tool.name, arguments, checks_of([answer]), id_for(tool.name, ()))
