"""Follow the location of a validation error through the schema and the data.

pydantic puts the names of union members between the keys of a location. Walking schema and data
together separates the two, and finds the keys that a place accepts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler

from .parsed import Key

Schema = Mapping[str, Any]

EXPECTED = "mcpeval_expected"
_COLLECTIONS = ("list", "tuple", "set", "frozenset", "dict")
_FIELDS = ("model-fields", "typed-dict", "dataclass-args")


@dataclass(frozen=True)
class Expected:
    """What a field expects, in words: ``Annotated[float, Expected("a number of seconds")]``."""

    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        schema = dict(handler(source))
        return {**schema, "metadata": {**schema.get("metadata", {}), EXPECTED: self.words}}


@dataclass(frozen=True)
class Union:
    """A union on the way of a location: where it is, which member was tried, and the words for what
    it expects."""

    path: tuple[Key, ...]
    member: str
    expected: str | None


@dataclass(frozen=True)
class Place:
    """Where an error is: the keys that lead there, the unions on the way, and the schema at the end.

    ``holder`` is the schema of the mapping or list that has the last key.
    """

    path: tuple[Key, ...]
    unions: tuple[Union, ...]
    schema: Schema | None
    holder: Schema | None
    is_key: bool


class Walk:
    """Resolves locations against one root schema (None when it is unknown)."""

    def __init__(self, root: Schema | None) -> None:
        self.root = root
        self.definitions: dict[str, Schema] = {}

    def place(self, location: tuple[Key, ...], data: Any, *, may_be_absent: bool) -> Place:
        """Return the place of a location; if ``may_be_absent``, the last key may be missing in the data."""
        path: list[Key] = []
        unions: list[Union] = []
        holder, schema = None, self.root
        for index, part in enumerate(location):
            inner, last = self.inner(schema), index == len(location) - 1
            if inner is not None and inner["type"] in ("union", "tagged-union"):
                if inner["type"] == "union":
                    unions.append(Union(tuple(path), str(part), self.expected(schema)))
                schema = self.member(inner, str(part))
            elif part == "[key]" and last:
                return Place(tuple(path), tuple(unions), None, inner, is_key=True)
            elif is_container(inner) or has(data, part) or (last and may_be_absent):
                path.append(part)
                data = data[part] if has(data, part) else None
                holder, schema = inner, self.child(inner, part)
        return Place(tuple(path), tuple(unions), schema, holder, is_key=False)

    def inner(self, schema: Schema | None) -> Schema | None:
        """Return the schema below wrappers such as defaults, validators and references."""
        while schema is not None:
            kind = schema["type"]
            if kind == "definitions":
                self.definitions |= {entry["ref"]: entry for entry in schema["definitions"]}
            if kind == "definition-ref":
                schema = self.definitions.get(schema["schema_ref"])
            elif kind == "lax-or-strict":
                schema = schema["lax_schema"]
            elif kind == "json-or-python":
                schema = schema["python_schema"]
            elif kind == "chain":
                schema = schema["steps"][0]
            elif "schema" in schema:
                schema = schema["schema"]
            else:
                return schema
        return None

    def expected(self, schema: Schema | None) -> str | None:
        """Return the words of the outermost `Expected` at a place."""
        while schema is not None:
            words: str | None = schema.get("metadata", {}).get(EXPECTED)
            if words or "schema" not in schema:
                return words
            schema = schema["schema"]
        return None

    def child(self, inner: Schema | None, part: Key) -> Schema | None:
        """Return the schema of one key or index."""
        if inner is None:
            return None
        if inner["type"] in _FIELDS:
            found = [field for name, field in fields(inner) if part in spellings(name, field)]
            return found[0]["schema"] if found else None
        if inner["type"] == "dict":
            values: Schema | None = inner.get("values_schema")
            return values
        items: Schema | list[Schema] | None = inner.get("items_schema")
        if not isinstance(items, list):
            return items
        return items[part] if isinstance(part, int) and part < len(items) else None

    def member(self, union: Schema, name: str) -> Schema | None:
        """Return the member of a union that pydantic calls ``name``."""
        if union["type"] == "tagged-union":
            return {str(tag): schema for tag, schema in union["choices"].items()}.get(name)
        for choice in union["choices"]:
            schema, label = choice if isinstance(choice, tuple) else (choice, None)
            if name in (label, *self.names(schema)) or name.startswith(f"{schema['type']}["):
                member: Schema = schema
                return member
        return None

    def names(self, schema: Schema) -> tuple[str, ...]:
        """Return the names that pydantic may use for a member without parameters."""
        if schema["type"] == "definition-ref":
            schema = self.definitions.get(schema["schema_ref"], schema)
        return (schema["type"], schema["cls"].__name__) if "cls" in schema else (schema["type"],)


def is_container(schema: Schema | None) -> bool:
    """Return whether a schema is known to have keys or indexes."""
    return schema is not None and schema["type"] in (*_FIELDS, *_COLLECTIONS)


def has(data: Any, part: Key) -> bool:
    """Return whether data has a key or index."""
    if isinstance(data, list):
        return isinstance(part, int) and part < len(data)
    return isinstance(data, dict) and part in data


def fields(schema: Schema | None) -> list[tuple[str, Schema]]:
    """Return the fields of a mapping's schema, by their names in Python."""
    if schema is None or schema["type"] not in _FIELDS:
        return []
    entries = schema["fields"]
    return (
        [(entry["name"], entry) for entry in entries] if isinstance(entries, list) else list(entries.items())
    )


def spellings(name: str, field: Schema) -> tuple[str, ...]:
    """Return the keys that a field is read from: its aliases and its name."""
    alias = field.get("validation_alias", ())
    if isinstance(alias, str):
        return (alias, name)
    aliases = [path[0] if isinstance(path, list) else path for path in alias]
    return (*(str(key) for key in aliases), name)
