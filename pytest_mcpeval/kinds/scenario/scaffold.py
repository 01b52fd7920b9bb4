"""A case to begin from: arguments that fit a tool's input schema, and checks that real answers pass. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.kinds.scenario.checks.json_values import json_of
from pytest_mcpeval.kinds.scenario.checks.schemas import errors_by
from pytest_mcpeval.kinds.scenario.checks.verdict import JudgementError
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.servers.tools import Tool

LONGEST_EQUAL = 120
"""Characters; a longer answer is checked by what it begins with."""
MOST_KEYS = 6
DEEPEST = 5

BY_FORMAT = {
    "date": "2026-01-15",
    "date-time": "2026-01-15T12:00:00Z",
    "time": "12:00:00",
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "hostname": "example.com",
}
BY_NAME = {
    "hello": ("content", "input", "message", "msg", "prompt", "text"),
    "test": ("keyword", "keywords", "pattern", "q", "query", "question", "search", "term"),
    "UTC": ("timezone", "tz"),
    "en": ("lang", "language", "locale"),
    "12:00": ("time",),
    "2026-01-15": ("date", "day"),
    "https://example.com/": ("uri", "url"),
    ".": ("dir", "directory", "folder", "path", "paths", "root"),
}
"""Values for texts whose names end with these words. A tool that reads may refuse them, and loses nothing."""
_FITTING = {name: value for value, names in BY_NAME.items() for name in names}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_SEPARATORS = re.compile(r"[^a-z0-9]+")


class NoArgumentsError(Exception):
    """No sensible arguments can be built; the text names the one that cannot."""


def sample_arguments(tool: Tool) -> dict[str, Any]:
    """Arguments for a call of a tool: only those that it requires.

    A value is the schema's own (``const``, ``default``, ``examples``, ``enum``), or fits its ``format``, its
    limits or its name.

    Raises:
        NoArgumentsError: A required argument has no such value, or the schema refuses what was built.
    """
    schema = tool.input_schema
    found: dict[str, Any] = _object(schema, schema, (), 0)
    try:
        problem = next(iter(errors_by(schema)(found)), None)
    except Exception as error:
        raise NoArgumentsError(f"its input schema cannot be used: {type(error).__name__}") from None
    if problem is not None:
        raise NoArgumentsError(f"its input schema refuses {json.dumps(found)}: {problem.message}")
    return found


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Any:
    properties = schema.get("properties", {})
    return {
        name: _value(properties.get(name, {}), root, (*path, str(name)), depth + 1)
        for name in schema.get("required", ())
    }


def _value(schema: Any, root: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Any:
    where = ".".join(path)
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        raise NoArgumentsError(f"nothing is known of the argument {where!r}")
    if isinstance(reference := schema.get("$ref"), str):
        target: Any = root
        for part in reference.removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        return _value(target, root, path, depth + 1)
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            fitting = [one for one in schema[key] if one != {"type": "null"}]
            return _value(fitting[0] if fitting else None, root, path, depth + 1)
    kinds = schema.get("type")
    kind = next((one for one in kinds if one != "null"), None) if isinstance(kinds, list) else kinds
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "boolean":
        return False
    if kind == "object":
        return _object(schema, root, path, depth)
    if kind == "array":
        least = schema.get("minItems", 0)
        return [_value(schema.get("items"), root, path, depth + 1)] * least if least <= 3 else []
    if kind == "string":
        words = [word.lower() for word in _WORD.findall(path[-1])]
        found = BY_FORMAT.get(str(schema.get("format"))) or _FITTING.get(words[-1] if words else "")
        if found is not None:
            return found
    raise NoArgumentsError(f"nothing says which value fits the argument {where!r}")


def _number(schema: Mapping[str, Any]) -> float:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(over := schema.get("exclusiveMinimum"), (int, float)) and not isinstance(over, bool):
        least = over + 1
    value: float = 1 if least is None else max(1, least)
    return value if most is None else min(value, most)


def checks_of(answers: Sequence[Response]) -> list[dict[str, Any]]:
    """Checks that every one of some answers to the same call passes: of structure where there is any.

    A text that all answers share is expected again if it is short, or else its first line; of texts that
    differ, only their least length is.
    """
    return [
        rule
        for rule in _candidates(answers)
        if BUILTIN.accepts([rule]) and all(BUILTIN.parse(rule).evaluate(answer).passed for answer in answers)
    ] or [{"type": "not_error"}]


def _candidates(answers: Sequence[Response]) -> Iterator[dict[str, Any]]:
    first = answers[0]
    if first.output_schema is not None and first.structured is not None:
        yield {"type": "matches_schema", "output_schema": True}
    try:
        data = json_of(first)
    except (JudgementError, ValueError):
        data = None
    if isinstance(data, dict) and data:
        for key in list(data)[:MOST_KEYS]:
            yield {"type": "json_path", "path": _path(key), "value_type": _type_of(data[key])}
    elif isinstance(data, list) and data:
        yield {"type": "json_path", "path": "$[*]", "value_type": _type_of(data[0])}
    elif data is not None and not isinstance(data, str):
        yield {"type": "json_path", "path": "$", "value_type": _type_of(data)}
    else:
        yield from _of_text([answer.text.strip() for answer in answers])


def _of_text(texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    first = texts[0]
    if len({*texts}) == 1 and 0 < len(first) <= LONGEST_EQUAL and "\n" not in first:
        yield {"type": "equals", "value": first}
        return
    line = first.partition("\n")[0].strip()
    if 4 <= len(line) <= LONGEST_EQUAL and all(line in text for text in texts):
        yield {"type": "contains", "value": line}
    if least := min(map(len, texts)) // 2:
        yield {"type": "min_length", "chars": least}


def _path(key: str) -> str:
    return f"$.{key}" if _PLAIN_NAME.fullmatch(key) and key.isascii() else f"$[{json.dumps(key)}]"


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def case_text(
    tool: str,
    arguments: Mapping[str, Any],
    checks: Sequence[Mapping[str, Any]],
    case_id: str,
    about: str = "",
) -> str:
    """A case as a row of a YAML list, indented by two."""
    lines = [f"# {line}" for line in about.splitlines()[:1]]
    lines += [
        f"- id: {case_id}",
        f"  tool: {in_yaml(tool)}",
        f"  input: {in_yaml(_literal(dict(arguments)))}",
    ]
    lines += [
        "  expected:",
        "    validations:",
        *(f"      - {in_yaml(_literal(dict(rule)))}" for rule in checks),
    ]
    return "".join(f"  {line}\n" for line in lines)


def _literal(value: Any) -> Any:
    """The same value where ``${`` stands for a placeholder."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, Mapping):
        return {key: _literal(one) for key, one in value.items()}
    return [_literal(one) for one in value] if isinstance(value, list) else value


def open_case_text(tool: Tool, reason: str, case_id: str) -> str:
    """A case that a person has to complete, as a comment with the input schema."""
    about = tool.description.strip().partition("\n")[0]
    lines = [
        *([about] if about else []),
        f"To complete: {reason}.",
        f"- id: {case_id}",
        f"  tool: {in_yaml(tool.name)}",
        f"  input: {{}}  # {json.dumps(tool.input_schema, ensure_ascii=False)}",
        "  expected: {validations: [{type: not_error}]}",
    ]
    return "".join(f"  # {' '.join(line.splitlines())}\n" for line in lines)


def in_yaml(value: Any) -> str:
    """A value as YAML on one line."""
    import yaml

    text: str = yaml.safe_dump(
        [value], default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False
    )
    return text.strip()[1:-1]


def id_for(tool: str, taken: Collection[str]) -> str:
    """An id for a case of a tool that no other case has."""
    base = _SEPARATORS.sub("-", tool.lower()).strip("-") or "tool"
    numbers = iter(range(2, len(taken) + 3))
    found = base
    while found in taken:
        found = f"{base}-{next(numbers)}"
    return found
