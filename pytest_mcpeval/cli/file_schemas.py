"""JSON Schemas of data files, ``mcpeval.yaml`` and ``.mcp.json``, made from the models that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.kind import Kind

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema() -> Schema:
    """The schema of a scenario file: a whole suite, or a list of its cases."""
    from pytest_mcpeval.kinds.scenario.checks import BUILTIN
    from pytest_mcpeval.kinds.scenario.schema import SuiteModel

    suite = SuiteModel.model_json_schema()
    definitions = suite.pop("$defs")
    # What validators of the models demand beyond their fields.
    definitions["ExpectedModel"]["properties"]["validations"]["items"] = {"$ref": "#/$defs/check"}
    definitions["ExpectedModel"]["anyOf"] = _one_of(
        "validations",
        "expected_keywords",
        "expectedKeywords",
        "forbidden_keywords",
        "forbiddenKeywords",
        "expected_imports",
        "expectedImports",
    )
    definitions["StepModel"]["oneOf"] = _one_of("tool", "resource", "prompt")
    expects = _one_of("expected", "expect_rejection", "expectRejection", "expect_empty", "expectEmpty")
    call = {"required": ["tool", "input"], "anyOf": expects}
    definitions["CaseModel"]["oneOf"] = [{"required": ["steps"]}, call]
    cases = {"type": "array", "items": {"$ref": "#/$defs/CaseModel"}, "minItems": 1}
    return {
        "$schema": DIALECT,
        "title": "pytest-mcpeval: scenario suite",
        "anyOf": [suite, cases],
        "$defs": definitions | BUILTIN.json_schema()["$defs"],
    }


def _one_of(*keys: str) -> list[Schema]:
    return [{"required": [key]} for key in keys]


def model_schema(name: str, model: type[BaseModel]) -> Schema:
    """The schema of a data file that a kind describes by a model."""
    schema = _closed(model.model_json_schema())
    return {"$schema": DIALECT, **schema, "title": f"pytest-mcpeval: {name}"}


def _closed(schema: Schema) -> Schema:
    """The schema; models that say nothing of unknown keys refuse them."""
    for found in (schema, *schema.get("$defs", {}).values()):
        if "properties" in found:
            found.setdefault("additionalProperties", False)
    return schema


def project_schema(kinds: Mapping[str, Kind[Any]]) -> Schema:
    """The schema of ``mcpeval.yaml`` with the sections of all kinds."""
    from pydantic.json_schema import models_json_schema

    from pytest_mcpeval.config.project_rules import entry_model
    from pytest_mcpeval.servers.schema import ServerEntry

    models = {name: entry_model(kind.settings_model, name) for name, kind in kinds.items()}
    wanted: list[type[BaseModel]] = [ServerEntry, *models.values()]
    found, schema = models_json_schema([(model, "validation") for model in wanted])
    properties: Schema = {
        "servers": {
            "type": "object",
            "description": "servers by name; they override those of .mcp.json",
            "additionalProperties": found[ServerEntry, "validation"],
        }
    }
    for name, model in models.items():
        entry = found[model, "validation"]
        entries: Schema = {"type": "array", "items": entry}
        if kinds[name].settings_key is not None:
            entries = {"anyOf": [entries, entry]}
        properties[name] = {**entries, "description": f"settings of {name} suites"}
    return {
        "$schema": DIALECT,
        "title": "pytest-mcpeval: mcpeval.yaml",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **_closed(schema),
    }


def mcp_json_schema() -> Schema:
    """The schema of ``.mcp.json``; keys that only other hosts read are allowed."""
    from pytest_mcpeval.servers.schema import ServerEntry

    server = {**ServerEntry.model_json_schema(), "additionalProperties": True}
    # Other hosts spell it in ways of their own.
    server["properties"]["type"] = {"type": "string"}
    return {
        "$schema": DIALECT,
        "title": "pytest-mcpeval: .mcp.json",
        "type": "object",
        "properties": {
            "mcpServers": {"type": "object", "additionalProperties": {"$ref": "#/$defs/server"}},
        },
        "required": ["mcpServers"],
        "$defs": {"server": server},
    }
