"""``pytest-mcpeval schema``: JSON Schemas of the files people write, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any

NAMES = ("scenario", "retrieval", "corpus", "security", "agent", "session", "mcpeval.yaml", ".mcp.json")

DESCRIPTION = """\
Print a JSON Schema, with which editors complete and check data files. Save it, and begin a file with
  # yaml-language-server: $schema=scenario.schema.json

  scenario      suites of tool calls (the default), with every built-in check
  retrieval     golden sets: queries with the tools they ought to find
  corpus        tool corpora that golden sets are measured on
  security      labelled corpora: tool descriptions that detectors ought to flag, or ought not to
  agent         manifests of web agents
  session       scenarios that an agent carries out with the attached servers
  mcpeval.yaml  servers and settings
  .mcp.json     servers
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "schema",
        help="print the JSON Schema of a kind of file, for editors",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", default="scenario", choices=NAMES, metavar="NAME")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the schema."""
    from pytest_mcpeval.cli import file_schemas

    makers = {
        "scenario": file_schemas.scenario_schema,
        "agent": file_schemas.agent_schema,
        "mcpeval.yaml": file_schemas.project_schema,
        ".mcp.json": file_schemas.mcp_json_schema,
    }
    name: str = options.name
    schema = makers[name]() if name in makers else file_schemas.kind_schema(name)
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0
