"""JSON Schema with the regular expressions of `javascript_regex`: their meaning, and their time limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .javascript_regex import PatternError, compile_pattern, found_in

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

DATA_KEYWORDS = frozenset({"const", "default", "enum", "examples"})
NAMED_SCHEMAS = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

Path = tuple[str | int, ...]


def bad_pattern(schema: Any, at: Path = ()) -> tuple[Path, str] | None:
    """Where a schema has a pattern that is no regular expression, and what is wrong with it."""
    if not isinstance(schema, Mapping):
        return None
    for keyword, pattern in _patterns(schema):
        try:
            compile_pattern(pattern, ignore_case=False)
        except PatternError as error:
            return (*at, keyword), str(error)
    found = (bad_pattern(one, (*at, *path)) for path, one in _subschemas(schema))
    return next((problem for problem in found if problem is not None), None)


def errors_by(schema: Mapping[str, Any]) -> Callable[[Any], Iterator[ValidationError]]:
    """What finds every error of a value, by the rules of the draft the schema names (default: 2020-12).

    Reading the errors raises `SearchTimeoutError` when a pattern takes too long, and
    `referencing.exceptions.Unresolvable` for a reference that leads out of the schema.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry

    validator: Any = _with_our_patterns(validator_for(schema, default=Draft202012Validator))

    def errors(value: Any) -> Iterator[ValidationError]:
        prepared = _prepared(schema, frozenset(_names(value)))
        return iter(validator(prepared, registry=Registry()).iter_errors(value))

    if _mentions(schema, "unevaluatedProperties"):
        return errors
    # An empty registry: the default one would fetch references from the network.
    found: Callable[[Any], Iterator[ValidationError]]
    found = validator(_prepared(schema, None), registry=Registry()).iter_errors
    return found


def _patterns(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(schema.get("pattern"), str):
        yield "pattern", schema["pattern"]
    for pattern in _mapping(schema.get("patternProperties")):
        yield "patternProperties", pattern


def _subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    for keyword, value in schema.items():
        if keyword in NAMED_SCHEMAS:
            yield from (((keyword, name), one) for name, one in _mapping(value).items())
        elif isinstance(value, list) and keyword not in DATA_KEYWORDS:
            yield from (((keyword, index), one) for index, one in enumerate(value))
        elif keyword not in DATA_KEYWORDS:
            yield (keyword,), value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _matches(pattern: str, text: str) -> bool:
    return found_in(compile_pattern(pattern, ignore_case=False), text) is not None


@cache
def _with_our_patterns(kind: type[Validator]) -> type[Validator]:
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    additional: Any = kind.VALIDATORS["additionalProperties"]

    def pattern(validator: Any, expected: str, text: Any, schema: Any) -> Iterator[ValidationError]:
        if validator.is_type(text, "string") and not _matches(expected, text):
            yield ValidationError(f"{text!r} does not match {expected!r}")

    def pattern_properties(validator: Any, patterns: Any, value: Any, schema: Any) -> Iterator[Any]:
        for expected, name in _matching(patterns, value):
            yield from validator.descend(value[name], patterns[expected], path=name, schema_path=expected)

    def additional_properties(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
        matching = {name: True for _, name in _matching(schema.get("patternProperties"), value)}
        known = {"properties": {**_mapping(schema.get("properties")), **matching}}
        return iter(additional(validator, allowed, value, known) or ())

    keywords = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
    }
    extended: type[Validator] = extend(kind, keywords)  # type: ignore[no-untyped-call]
    return extended


def _matching(patterns: Any, value: Any) -> Iterator[tuple[str, str]]:
    """Each pattern with each name of an object that it matches."""
    for pattern in _mapping(patterns):
        yield from ((pattern, name) for name in _mapping(value) if _matches(pattern, name))


def _mentions(value: Any, keyword: str) -> bool:
    if isinstance(value, list):
        return any(_mentions(one, keyword) for one in value)
    return isinstance(value, Mapping) and (
        keyword in value or any(_mentions(one, keyword) for one in value.values())
    )


def _names(value: Any) -> Iterator[str]:
    """The name of every property in JSON data."""
    if isinstance(value, Mapping):
        yield from value
    for one in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _names(one)


def _prepared(schema: Any, names: frozenset[str] | None) -> Any:
    """A copy, no part of which is validated by other rules than ours.

    ``$schema`` goes, since it makes jsonschema take its own class for whatever refers there. With
    ``names`` (of the properties in the data), ``patternProperties`` become lists of the names they match:
    jsonschema searches them itself for ``unevaluatedProperties``, with neither our meaning nor a limit.
    """
    if not isinstance(schema, Mapping):
        return schema
    copy: dict[str, Any] = {key: value for key, value in schema.items() if key != "$schema"}
    for path, one in _subschemas(copy):
        _put(copy, path, _prepared(one, names))
    if names is not None and isinstance(copy.get("patternProperties"), Mapping):
        listed = enumerate(copy["patternProperties"].items())
        copy["patternProperties"] = {
            _one_of(sorted(name for name in names if _matches(pattern, name)), number): one
            for number, (pattern, one) in listed
        }
    return copy


def _put(copy: dict[str, Any], path: Path, value: Any) -> None:
    keyword, *inner = path
    if not inner:
        copy[str(keyword)] = value
        return
    copy[str(keyword)] = held = copy[str(keyword)].copy()
    held[inner[0]] = value


def _one_of(names: list[str], number: int) -> str:
    # The number keeps two patterns apart that match the same names.
    alternatives = "|".join(map(re.escape, names)) if names else "(?!)"
    return rf"(?:){{{number}}}\A(?:{alternatives})\Z"
