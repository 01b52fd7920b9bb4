"""JSON Schemas of data files, ``mcpeval.yaml`` and ``.mcp.json``, made from the models that read them.

Most models read every key in snake_case and in camelCase, so the schemas list both spellings. What a model's
validators demand beyond its fields is added here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic.alias_generators import to_camel

from pytest_mcpeval.core.fields import PROVENANCE
from pytest_mcpeval.core.kind import Kind

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
CHECK = {"$ref": "#/$defs/check"}
TEXT_OR_NUMBER: Schema = {"type": ["string", "number"]}

_EXPECTATIONS = ("validations", "expected_keywords", "forbidden_keywords", "expected_imports")


def scenario_schema() -> Schema:
    """The schema of a scenario file: a whole suite, or a list of its cases."""
    from pytest_mcpeval.kinds.scenario.checks import BUILTIN
    from pytest_mcpeval.kinds.scenario.schema import SuiteModel

    suite = _schema_of(SuiteModel)
    definitions = suite.pop("$defs")
    definitions["ExpectedModel"]["properties"]["validations"]["items"] = CHECK
    definitions["ExpectedModel"]["anyOf"] = [{"required": [key]} for key in _spelled(_EXPECTATIONS)]
    definitions["StepModel"]["oneOf"] = [{"required": [way]} for way in ("tool", "resource", "prompt")]
    expects = [{"required": [key]} for key in _spelled(("expected", "expect_rejection", "expect_empty"))]
    call = {"required": ["tool", "input"], "anyOf": expects}
    definitions["CaseModel"]["oneOf"] = [{"required": ["steps"]}, call]
    cases = {"type": "array", "items": {"$ref": "#/$defs/CaseModel"}, "minItems": 1}
    return {
        "$schema": DIALECT,
        "title": "pytest-mcpeval: scenario suite",
        "anyOf": [suite, cases],
        "$defs": definitions | BUILTIN.json_schema()["$defs"],
    }


def model_schema(name: str, model: type[BaseModel]) -> Schema:
    """The schema of a data file that a kind describes by a model."""
    schema = _schema_of(model)
    schema["patternProperties"] = {f"^{PROVENANCE}": {}}
    return {"$schema": DIALECT, **schema, "title": f"pytest-mcpeval: {name}"}


def agent_schema() -> Schema:
    """The schema of a manifest, whose keys have one spelling; catalogues and the like are not in it."""
    from pytest_mcpeval.kinds.agent.schema import Manifest

    schema = Manifest.model_json_schema()
    return {"$schema": DIALECT, **schema, "title": "pytest-mcpeval: manifest of an agent"}


def project_schema(kinds: Mapping[str, Kind[Any]]) -> Schema:
    """The schema of ``mcpeval.yaml`` with the sections of all kinds."""
    definitions: Schema = {"server": _server()}
    properties: Schema = {
        "servers": {
            "type": "object",
            "description": "servers by name; they win over those of .mcp.json",
            "additionalProperties": {"$ref": "#/$defs/server"},
        }
    }
    for name, kind in kinds.items():
        # Models of several kinds have the same names.
        entry = _schema_of(kind.settings_model, f"{name}.")
        definitions |= entry.pop("$defs", {})
        entry["properties"]["files"] = _files()
        entries: Schema = {"type": "array", "items": entry}
        if kind.settings_key is not None:
            definitions[f"{name}.Entry"] = entry
            reference = {"$ref": f"#/$defs/{name}.Entry"}
            entries = {"anyOf": [{"type": "array", "items": reference}, reference]}
        properties[name] = {**entries, "description": f"settings of {name} suites"}
    return {
        "$schema": DIALECT,
        "title": "pytest-mcpeval: mcpeval.yaml",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": definitions,
    }


def mcp_json_schema() -> Schema:
    """The schema of ``.mcp.json``; keys that only other hosts read are allowed."""
    server = {**_server(), "additionalProperties": True}
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


def _server() -> Schema:
    from pytest_mcpeval.servers.schema import ServerEntry

    schema = _schema_of(ServerEntry)
    properties = schema["properties"]
    properties["args"]["items"] = TEXT_OR_NUMBER
    properties["env"]["additionalProperties"] = TEXT_OR_NUMBER
    properties["headers"]["additionalProperties"] = TEXT_OR_NUMBER
    schema["oneOf"] = [{"required": [way]} for way in ("command", "url", "module")]
    return schema


def _files() -> Schema:
    pattern = {"type": "string", "minLength": 1}
    return {
        "description": "globs relative to this file; without it, all files below",
        "anyOf": [pattern, {"type": "array", "items": pattern, "minItems": 1}],
    }


def _schema_of(model: type[BaseModel], prefix: str = "") -> Schema:
    """The schema of a model; ``prefix`` is put before the names in ``$defs``.

    The models of our files read each key in both spellings. Models that say nothing refuse unknown keys.
    """
    schema = model.model_json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
    if "$defs" in schema:
        schema["$defs"] = {f"{prefix}{name}": inner for name, inner in schema["$defs"].items()}
    aliases = (field.validation_alias for field in model.model_fields.values())
    has_two_spellings = any(isinstance(alias, AliasChoices) for alias in aliases)
    for found in (schema, *schema.get("$defs", {}).values()):
        if has_two_spellings:
            _spell_both_ways(found)
        if "properties" in found:
            found.setdefault("additionalProperties", False)
    return schema


def _spell_both_ways(schema: Schema) -> None:
    properties: Schema = schema.get("properties", {})
    for name in list(properties):
        properties[to_camel(name)] = properties[name]
    wanted = schema.pop("required", [])
    simple = [name for name in wanted if to_camel(name) == name]
    if simple:
        schema["required"] = simple
    either = [name for name in wanted if name not in simple]
    if either:
        schema["allOf"] = [{"anyOf": [{"required": [key]} for key in _spelled((name,))]} for name in either]


def _spelled(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        yield from dict.fromkeys((name, to_camel(name)))
