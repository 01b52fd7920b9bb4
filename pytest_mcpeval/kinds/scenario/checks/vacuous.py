"""Find patterns and JSON Schemas that decide nothing: every answer matches them, or none can."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from .claims import MOST
from .javascript_regex import compile_pattern, found_in

PROBES = (
    *("", "a", "Z", "0", " ", "\n", "_", "-", "é", "語", "a" * 3000),
    "Some words, and 3 numbers: 1.5.\n- A list, [1] and `code`.",
    '{"a": [1, "b"], "c": null}',
    "ABC-123 x@example.org https://example.org/?q=1 2024-01-02",
)
"""Various texts: a pattern that matches all of them, and its own words, matches anything."""
TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(\?(?:[:=!]|<[=!]|<\w+>)|.", re.DOTALL)
NO_CHARACTER = frozenset({"[]", r"[^\s\S]", r"[^\S\s]", r"[^\d\D]", r"[^\D\d]", r"[^\w\W]", r"[^\W\w]"})
MULTILINE = re.compile(r"\(\?[a-z]*m[a-z]*[-:)]")
NEGATIVE_LOOKAROUND = re.compile(r"\(\?<?!")

Types = frozenset[str]
ALL: Types = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
"""The types of JSON values; here, ``number`` means one that is not whole."""
NONE: Types = frozenset()
LIMITED: Mapping[str, Types] = {
    **dict.fromkeys(("maxLength", "pattern"), frozenset({"string"})),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        frozenset({"integer", "number"}),
    ),
    "maxItems": frozenset({"array"}),
    "maxProperties": frozenset({"object"}),
}
"""Keywords that exclude some values of these types, whatever the keyword's value."""
LIMITED_UNLESS_EMPTY: Mapping[str, Types] = {
    **dict.fromkeys(("minItems", "uniqueItems"), frozenset({"array"})),
    **dict.fromkeys(("minProperties", "required"), frozenset({"object"})),
    "minLength": frozenset({"string"}),
}
"""Keywords that limit nothing when their value is 0, false or empty."""
OF_MEMBERS: Mapping[str, Types] = {
    **dict.fromkeys(
        ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"), frozenset({"array"})
    ),
    **dict.fromkeys(
        (
            *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
            *("propertyNames", "dependentSchemas", "dependentRequired", "dependencies"),
        ),
        frozenset({"object"}),
    ),
}
"""Keywords whose schemas apply to the members of values of these types."""
MAPPINGS_OF_SCHEMAS = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"}
)


@lru_cache(maxsize=4096)
def pattern_problem(pattern: str) -> str | None:
    """Return why a valid regular expression decides nothing, or None."""
    dead = next(_dead_places(TOKEN.findall(pattern)), None) if not MULTILINE.search(pattern) else None
    if dead is not None:
        return (
            f"{dead}, so the pattern can match no text; write \\ before a character that is meant literally"
        )
    if "^" in pattern and NEGATIVE_LOOKAROUND.search(pattern):
        # A negative lookahead: no list of texts can show that it excludes nothing.
        return None
    try:
        matches = all(found_in(compile_pattern(pattern), probe) for probe in (*PROBES, *_words(pattern)))
    except TimeoutError:
        return None
    if not matches:
        return None
    return "the pattern matches every text, the empty one as well; say what must be there, such as \\d+"


def _dead_places(tokens: list[str]) -> Iterator[str]:
    for index, token in enumerate(tokens):
        following = tokens[index + 1 :]
        if token in NO_CHARACTER or (token == "(?!" and following[:1] == [")"]):
            yield f"{token} matches nothing"
        if token == "$" and following and _consumes(following[0]) and not _is_optional(following[1:]):
            yield f"{following[0]} stands after $, the end of the text"
        if token == "^" and index and _consumes(tokens[index - 1]):
            yield f"{tokens[index - 1]} stands before ^, the beginning of the text"


def _consumes(token: str) -> bool:
    """Return whether a token consumes a character of the text."""
    if token.startswith("\\"):
        return token[1:2] not in ("b", "B", "k") and not token[1:2].isdigit()
    return token.startswith("[") or (len(token) == 1 and token not in "^$|()?*+{}")


def _is_optional(following: list[str]) -> bool:
    return following[:1] in (["?"], ["*"]) or following[:2] == ["{", "0"]


def _words(pattern: str) -> Iterable[str]:
    """Return the words in a pattern, which it may forbid."""
    words = re.findall(r"\w+", re.sub(r"\\.|\[[^\]]*\]", " ", pattern))[:20]
    return (*words, " ".join(words), "".join(words))


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Return why a JSON Schema decides nothing, or None."""
    accepted, rejected = _fits(schema, schema, frozenset())
    if accepted == ALL:
        return (
            "every JSON value fits this schema; say what must be there, such as "
            "{type: object, required: [items]} (that the answer is JSON is {type: json_path, path: $})"
        )
    return "no JSON value fits this schema" if rejected == ALL else None


def _fits(schema: Any, root: Mapping[str, Any], within: frozenset[str]) -> tuple[Types, Types]:
    """Return the types whose values all fit a schema, and those of which no value fits.

    ``within`` has the references that lead here; a reference to one of them adds nothing.
    """
    if not isinstance(schema, Mapping):
        return (ALL, NONE) if schema is True else (NONE, ALL) if schema is False else (NONE, NONE)
    accepted, rejected = ALL, NONE
    for keyword, value in schema.items():
        fit, miss = _fits_keyword(keyword, value, schema, root, within)
        accepted, rejected = accepted & fit, rejected | miss
    return accepted, rejected


def _fits_keyword(
    keyword: str, value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], within: frozenset[str]
) -> tuple[Types, Types]:
    def fits(inner: Any) -> tuple[Types, Types]:
        return _fits(inner, root, within)

    match keyword:
        case "type":
            listed = {value} if isinstance(value, str) else set(value)
            types = frozenset(listed | ({"integer"} if "number" in listed else set()))
            return types, ALL - types
        case "const" | "enum":
            return _fits_values([value] if keyword == "const" else value)
        case "allOf":
            found = [fits(one) for one in value]
            return ALL.intersection(*(a for a, _ in found)), NONE.union(*(r for _, r in found))
        case "anyOf":
            found = [fits(one) for one in value]
            return NONE.union(*(a for a, _ in found)), ALL.intersection(*(r for _, r in found))
        case "oneOf":
            found = [fits(one) for one in value]
            alone = (
                accepted.intersection(*(r for other, (_, r) in enumerate(found) if other != number))
                for number, (accepted, _) in enumerate(found)
            )
            return NONE.union(*alone), ALL.intersection(*(r for _, r in found))
        case "not":
            accepted, rejected = fits(value)
            return rejected, accepted
        case "then" | "else":
            return (fits(value)[0] if "if" in schema else ALL), NONE
        case "$ref" | "$dynamicRef":
            return _fits_reference(value, root, within)
    return _fits_limit(keyword, value, schema, root, within), NONE


def _fits_values(values: Iterable[Any]) -> tuple[Types, Types]:
    kinds = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    listed = list(values)
    present = {"null" if one is None else kinds.get(type(one), "object") for one in listed}
    present |= {"integer"} if "number" in present else set()
    booleans = {one for one in listed if isinstance(one, bool)}
    accepted = {"null"} & present | ({"boolean"} if len(booleans) == 2 else set())
    return frozenset(accepted), ALL - present


def _fits_reference(reference: Any, root: Any, within: frozenset[str]) -> tuple[Types, Types]:
    if reference in within:
        return ALL, NONE
    found = root
    if not isinstance(reference, str) or not reference.startswith("#"):
        return NONE, NONE
    for name in reference[1:].split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or name not in found:
            return NONE, NONE
        found = found[name]
    return _fits(found, root, within | {reference})


def _fits_limit(
    keyword: str, value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], within: frozenset[str]
) -> Types:
    """Return the types whose values all fit a keyword."""
    if keyword == "pattern" and isinstance(value, str) and pattern_problem(value) is not None:
        return ALL
    if keyword in ("maxLength", "maxItems", "maxProperties") and value >= MOST:
        return ALL
    if keyword in LIMITED:
        return ALL - LIMITED[keyword]
    if keyword in LIMITED_UNLESS_EMPTY:
        return ALL - LIMITED_UNLESS_EMPTY[keyword] if value else ALL
    if keyword not in OF_MEMBERS or (keyword == "contains" and schema.get("minContains") == 0):
        return ALL
    if keyword == "dependentRequired" or keyword == "dependencies":
        return ALL - OF_MEMBERS[keyword] if any(value.values()) else ALL
    if keyword in MAPPINGS_OF_SCHEMAS:
        inner = list(value.values())
    else:
        inner = value if isinstance(value, list) else [value]
    if keyword == "contains" or not all(_fits(one, root, within)[0] == ALL for one in inner):
        return ALL - OF_MEMBERS[keyword]
    return ALL
