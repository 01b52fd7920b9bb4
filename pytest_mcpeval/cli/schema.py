"""``pytest-mcpeval schema``: JSON Schemas of the files people write, for editors."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

NAMES = ("scenario", "retrieval", "corpus", "security", "agent", "session", "mcpeval.yaml", ".mcp.json")

DESCRIPTION = """\
Print a JSON Schema for editors, which then complete and check data files. Save it, and begin a file with
  # yaml-language-server: $schema=scenario.schema.json

  scenario      suites of tool calls (the default), with every built-in check
  retrieval     golden sets: queries with the tools they should find
  corpus        tool corpora that golden sets are measured on
  security      labelled corpora: tool descriptions that detectors should flag, or should not
  agent         manifests of web agents
  session       scenarios that an agent carries out with the attached servers
  mcpeval.yaml  servers and settings
  .mcp.json     servers

For kinds from conftest files, use the names in their `file_models`.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "schema",
        help="print the JSON Schema of a kind of file, for editors",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", default="scenario", metavar="NAME")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the schema."""
    from pytest_mcpeval.cli import file_schemas
    from pytest_mcpeval.cli.project import root_directory, runtime_of
    from pytest_mcpeval.loading.messages import shown, suggestion
    from pytest_mcpeval.text.visible import visible

    name: str = options.name
    makers = {
        "scenario": file_schemas.scenario_schema,
        ".mcp.json": file_schemas.mcp_json_schema,
    }
    if name in makers:
        schema = makers[name]()
    else:
        try:
            kinds = runtime_of(root_directory(Path.cwd())).kinds
        except ValueError as error:
            print(visible(f"{options.prog}: pytest does not start:\n{error}"), file=sys.stderr)
            return 2
        models = {key: model for kind in kinds.values() for key, model in kind.file_models.items()}
        if name == "mcpeval.yaml":
            schema = file_schemas.project_schema(kinds)
        elif name in models:
            schema = file_schemas.model_schema(name, models[name])
        else:
            known = list(dict.fromkeys((*NAMES, *models)))
            words = f"unknown name {shown(name)}{suggestion(name, known)}: expected {', '.join(known)}"
            print(visible(f"{options.prog}: {words}"), file=sys.stderr)
            return 2
    for one in (schema, *schema.get("anyOf", ())):
        if "properties" in one:
            words = "where this schema is, for editors"
            one["properties"]["$schema"] = {"type": "string", "description": words}
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0
