"""The JSON Schema of one check, for editors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from .parameters import spellings
from .registry import CheckGroup, CheckType

NESTED = {"$ref": "#/$defs/check"}
CAPTURED = {"type": "string", "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$"}
"""``${name}`` of a captured value, which may replace a value of any type."""


def schema_of_checks(types: Iterable[CheckType | CheckGroup]) -> dict[str, Any]:
    """Return a schema of one check of any of these types, in every spelling that `parse` accepts."""
    alternatives: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    for found in types:
        if isinstance(found, CheckGroup):
            alternatives += _group_forms(found)
        else:
            alternatives.append(_type_form(found, definitions))
    definitions["captured"] = CAPTURED
    definitions["check"] = {"anyOf": alternatives}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions, **NESTED}


def _type_form(found: CheckType, definitions: dict[str, Any]) -> dict[str, Any]:
    written = found.parameters.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions.update(written.get("$defs", {}))
    properties = written.get("properties", {})
    names = spellings(found.parameters)
    return {
        "type": "object",
        "description": found.description,
        "properties": {
            "type": {"const": found.name},
            **{spelling: _or_captured(properties[canonical]) for spelling, canonical in names.items()},
        },
        "additionalProperties": False,
        "required": ["type"],
        **_required_keys(found.parameters, written.get("required", [])),
    }


def _or_captured(written: dict[str, Any]) -> dict[str, Any]:
    is_text = written.get("type") == "string" and "enum" not in written
    return written if is_text else {"anyOf": [written, {"$ref": "#/$defs/captured"}]}


def _required_keys(model: type[BaseModel], required: list[str]) -> dict[str, Any]:
    names = spellings(model)
    either = [[key for key, canonical in names.items() if canonical == needed] for needed in required]
    return {"allOf": [{"anyOf": [{"required": [key]} for key in keys]} for keys in either]} if either else {}


def _group_forms(group: CheckGroup) -> list[dict[str, Any]]:
    nested = NESTED if group.key == "check" else {"type": "array", "items": NESTED, "minItems": 1}
    short = {group.name: nested}
    long = {"type": {"const": group.name}, group.key: nested}
    return [
        {
            "type": "object",
            "description": group.description,
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        for properties in (short, long)
    ]
