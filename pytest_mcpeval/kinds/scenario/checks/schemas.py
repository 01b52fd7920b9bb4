"""JSON Schema with the regular expressions of `javascript_regex`, and the check ``matches_schema``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from pytest_mcpeval.servers.response import Response

from .javascript_regex import PatternError, compile_pattern, found_in
from .json_values import Source, json_of
from .parameters import Parameters
from .registry import check_type
from .vacuous import schema_problem
from .verdict import JudgementError, Verdict, failed, inconclusive, on_one_line, passed

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

SHOWN_ERRORS = 10


def problem_of_schema(schema: Mapping[str, Any]) -> str | None:
    """Return why something is not a JSON Schema, or None."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, ValidationError, best_match
    from jsonschema.validators import validator_for

    kind = validator_for(schema, default=Draft202012Validator)
    error: SchemaError | None = best_match(kind(kind.META_SCHEMA).iter_errors(schema))
    if error is not None:
        return f"{error.json_path}: {on_one_line(error.message)}"
    found = bad_pattern(schema)
    return f"{ValidationError('', path=found[0]).json_path}: {found[1]}" if found is not None else None


def _valid_schema(schema: dict[str, Any]) -> dict[str, Any]:
    problem = problem_of_schema(schema)
    if problem is not None:
        raise ValueError(f"not a JSON Schema: {problem}")
    if (problem := schema_problem(schema)) is not None:
        raise ValueError(problem)
    return schema


class MatchesSchema(Parameters):
    schema_: Annotated[dict[str, Any], AfterValidator(_valid_schema)] | None = Field(None, alias="schema")
    output_schema: bool = False
    source: Source | None = None

    @model_validator(mode="after")
    def _one_schema(self) -> Self:
        if (self.schema_ is None) == (not self.output_schema):
            raise ValueError("matches_schema needs either schema: {…} or output_schema: true")
        if self.output_schema and self.source == "text":
            raise ValueError("output_schema is about structured content; remove source: text")
        return self


@check_type("matches_schema", MatchesSchema)
def matches_schema(parameters: MatchesSchema, response: Response) -> Verdict:
    """The JSON of the response is valid against `schema`, or against the tool's own (`output_schema: true`).

    `schema` is a JSON Schema, 2020-12 unless its `$schema` says otherwise; references to other documents are
    not fetched, and `format` is not enforced. Patterns have JavaScript's meaning, and a search that takes
    longer than two seconds fails the check. Inconclusive when the server declares no output schema.
    """
    if parameters.schema_ is not None:
        return _judge(json_of(response, parameters.source), parameters.schema_)
    if response.output_schema is None:
        recovery = "declare an outputSchema in the server, or give schema: {…} here"
        return inconclusive("the server declares no output schema for this tool", recovery)
    problem = problem_of_schema(response.output_schema)
    if problem is not None:
        return failed(f"the output schema of the server is not a JSON Schema: {problem}")
    if schema_problem(response.output_schema) is not None:
        recovery = "say more in the server's outputSchema, or give schema: {…} here"
        return inconclusive("the output schema of the server decides nothing", recovery)
    return _judge(json_of(response, "structured"), response.output_schema)


def _judge(value: Any, schema: Mapping[str, Any]) -> Verdict:
    errors = _errors(value, schema)
    if not errors:
        return passed("valid against the schema")
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return failed(f"{errors[0]}{more}", {"errors": errors[:SHOWN_ERRORS]})


def _errors(value: Any, schema: Mapping[str, Any]) -> list[str]:
    from referencing.exceptions import Unresolvable

    try:
        errors = list(errors_by(schema)(value))
    except Unresolvable as error:
        raise JudgementError(
            f"the schema refers to {error.ref}, which is not in it (nothing is fetched)"
        ) from None
    return sorted(f"{error.json_path}: {on_one_line(error.message)}" for error in errors)


DATA_KEYWORDS = frozenset({"const", "default", "enum", "examples"})
NAMED_SCHEMAS = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

Path = tuple[str | int, ...]


def bad_pattern(schema: Any, at: Path = ()) -> tuple[Path, str] | None:
    """Return the path and the mistake of a pattern in a schema that is not a regular expression, or None."""
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
    """Return a function that yields every error of a value, by the draft the schema names (default: 2020-12).

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
    """Yield each pattern with each name of an object that it matches."""
    for pattern in _mapping(patterns):
        yield from ((pattern, name) for name in _mapping(value) if _matches(pattern, name))


def _mentions(value: Any, keyword: str) -> bool:
    if isinstance(value, list):
        return any(_mentions(one, keyword) for one in value)
    return isinstance(value, Mapping) and (
        keyword in value or any(_mentions(one, keyword) for one in value.values())
    )


def _names(value: Any) -> Iterator[str]:
    """Yield the name of every property in JSON data."""
    if isinstance(value, Mapping):
        yield from value
    for one in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _names(one)


def _prepared(schema: Any, names: frozenset[str] | None) -> Any:
    """Return a copy of a schema that is validated only by our rules.  ``$schema`` is removed, since
    jsonschema would use its own validator class for references to it. With ``names`` (of the
    properties in the data), ``patternProperties`` become lists of the names they match: for
    ``unevaluatedProperties``, jsonschema would search the patterns itself, without JavaScript's
    meaning and without a time limit.
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
    # The number distinguishes two patterns that match the same names.
    alternatives = "|".join(map(re.escape, names)) if names else "(?!)"
    return rf"(?:){{{number}}}\A(?:{alternatives})\Z"
