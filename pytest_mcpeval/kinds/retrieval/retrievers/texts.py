"""A tool as words, for the embedded retrievers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mcpeval.kinds.retrieval.corpus import CorpusTool
from pytest_mcpeval.kinds.retrieval.words import words

_TEXTS = ("title", "description")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_NESTED = ("items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "else")
_VALUES = ("enum", "const")


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
