"""A tool as words, for the embedded retrievers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from pytest_mcpeval.kinds.retrieval.corpus import CorpusTool
from pytest_mcpeval.kinds.retrieval.words import words
from pytest_mcpeval.loading.messages import choice, shown, suggestion

_TEXTS = ("title", "description")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_NESTED = ("items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "else")
_VALUES = ("enum", "const")


FIELDS = ("server", "tool", "description", "schema")
LARGEST_WEIGHT = 100


def weight_of(weight: float) -> Fraction:
    """The weight of a field, exact to hundredths.

    Raises:
        ValueError: It is negative, too large, or too small to count.
    """
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"expected a weight from 0 to {LARGEST_WEIGHT}, found {shown(weight)}")
    found = Fraction(round(weight * 100), 100)
    if weight and not found:
        raise ValueError(f"expected 0 or a weight of 0.01 at least, found {weight!r}")
    return found


def whole_weights(weights: Mapping[str, float]) -> tuple[dict[str, int], int]:
    """Weights as whole numbers, and what they were multiplied with; fields that weigh nothing are left out.

    Raises:
        ValueError: No field is read, one is unknown, or its weight is none.
    """
    unknown = next((name for name in weights if name not in FIELDS), None)
    if unknown is not None:
        hint = suggestion(unknown, FIELDS) if isinstance(unknown, str) else ""
        raise ValueError(f"{shown(unknown)} is no field of a tool{hint}: expected {choice(FIELDS)}")
    found = {name: weight_of(weight) for name, weight in weights.items()}
    if not any(found.values()):
        raise ValueError("no field of a tool is read: give one a weight above 0")
    scale = math.lcm(*(weight.denominator for weight in found.values()))
    return {name: int(weight * scale) for name, weight in found.items() if weight}, scale


def words_of(tool: CorpusTool, weights: Mapping[str, int]) -> list[str]:
    """The words of a tool's fields (``server``, ``tool``, ``description``, ``schema``).

    The words of a field stand there as many times as its weight says.
    """
    found: list[str] = []
    for name, weight in weights.items():
        found += words(_text(tool, name)) * weight
    return found


def _text(tool: CorpusTool, name: str) -> str:
    if name == "schema":
        return "\n".join(schema_texts(tool.schema))
    return str(getattr(tool, name))


def schema_texts(schema: Any) -> Iterator[str]:
    """What a JSON Schema says in words: names of properties, titles, descriptions, and listed values."""
    if isinstance(schema, list):
        for inner in schema:
            yield from schema_texts(inner)
    if not isinstance(schema, Mapping):
        return
    yield from (schema[key] for key in _TEXTS if isinstance(schema.get(key), str))
    for key in _VALUES:
        values = schema.get(key)
        yield from (
            value for value in (values if isinstance(values, list) else [values]) if isinstance(value, str)
        )
    for key in _NAMED:
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            yield from (name for name in inner if key == "properties")
            yield from schema_texts(list(inner.values()))
    for key in _NESTED:
        yield from schema_texts(schema.get(key))
