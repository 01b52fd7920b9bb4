"""Validate data with a pydantic model; every error has its line and a readable message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from .document import Document, value_at
from .messages import choice, closest, counted, shown, suggestion
from .parsed import Key
from .problems import DataFileError
from .schema_walk import Expected, Place, Walk, fields, has, spellings

__all__ = ["Expected", "dotted", "refuse", "sentences", "validate"]

Validated = TypeVar("Validated")

_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,79}")
_TYPES = {
    "a text": ("string_type", "string_sub_type"),
    "a whole number": ("int_type", "int_parsing", "int_from_float", "int_parsing_size"),
    "a number": ("float_type", "float_parsing", "decimal_type", "decimal_parsing"),
    "true or false": ("bool_type", "bool_parsing"),
    "a list": ("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"),
    "a mapping": ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"),
    "null": ("none_required",),
    "a finite number": ("finite_number",),
}
_EXPECTED_BY_TYPE = {error_type: words for words, error_types in _TYPES.items() for error_type in error_types}
_CHOICES = ("literal_error", "enum")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_LIST_WORDS = re.compile(r"\s+|,|\bor\b")


def validate(
    model: type[Validated] | TypeAdapter[Validated],
    document: Document,
    data: Any = None,
    at: tuple[Key, ...] = (),
) -> Validated:
    """Return the document's data at a path of keys as a model.

    ``data`` is validated instead if the caller has changed the value at that place. Unknown keys are
    problems, unless the configuration of the model, or of one in it, says ``extra="ignore"`` or ``"allow"``.

    Raises:
        DataFileError: With one problem per error, at the line of the offending key.
    """
    if data is None:
        data = value_at(document.data, at)
    adapter: TypeAdapter[Validated] = model if isinstance(model, TypeAdapter) else _adapter(model)
    # A model's setting for unknown keys applies to that model only; nested models have their own.
    says_it = "extra" in getattr(model, "model_config", {})
    try:
        return adapter.validate_python(data, extra=None if says_it else "forbid")
    except ValidationError as error:
        problems = [
            document.problem(*at, *path, message=text) for path, text in sentences(error, adapter, data, at)
        ]
        raise DataFileError(problems) from error


def sentences(
    error: ValidationError, model: Any, data: Any, at: tuple[Key, ...] = ()
) -> list[tuple[tuple[Key, ...], str]]:
    """What is wrong with data that a model or `TypeAdapter` refused: the path of each problem, and its text.

    ``at`` is where the data is in its document: texts begin with it, paths do not.
    """
    adapter = model if isinstance(model, TypeAdapter) else _adapter(model)
    walk = Walk(dict(adapter.core_schema))
    findings = [_finding(details, walk, data) for details in error.errors(include_url=False)]
    return list(dict.fromkeys((finding.path, finding.sentence(at)) for finding in _settled(findings)))


def refuse(problems: Iterable[tuple[Sequence[Key], str]]) -> None:
    """For a validator of a model: raise an error for each problem, at a path below what is validated.

    Raises:
        ValidationError: There are problems. pydantic puts it at the place of the validator.
    """
    details = [
        InitErrorDetails(type=PydanticCustomError("refused", text), loc=tuple(path), input=None)
        for path, text in problems
    ]
    if details:
        raise ValidationError.from_exception_data("refused", details)


def dotted(path: Iterable[Key]) -> str:
    """Return a path of keys as text: ``tests[3].expected``."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif _PLAIN_KEY.fullmatch(key):
            text += f".{key}" if text else key
        else:
            text += f"[{shown(key)}]"
    return text


@dataclass(frozen=True)
class _Finding:
    """One error. ``shown_path`` starts the sentence; ``path`` gives the line."""

    place: Place
    path: tuple[Key, ...]
    shown_path: tuple[Key, ...]
    type: str
    expected: str | None
    candidates: tuple[str, ...]
    message: str
    found: Any = None

    def sentence(self, at: tuple[Key, ...]) -> str:
        """The whole message."""
        where = dotted((*at, *self.shown_path))
        return f"{where}: {self.text}" if where else self.text

    @property
    def text(self) -> str:
        """The message without its path."""
        if self.expected is None:
            return self.message
        key = "the key " if self.place.is_key else ""
        hint = suggestion(self.found, self.candidates) if isinstance(self.found, str) else ""
        needs_quotes = self.type == "string_type" and isinstance(self.found, bool | int | float)
        hint += "; quote it" if needs_quotes else ""
        return f"expected {self.expected}, found {key}{shown(self.found)}{hint}"


def _finding(details: Mapping[str, Any], walk: Walk, data: Any) -> _Finding:
    error_type, context = details["type"], details.get("ctx", {})
    place = walk.place(details["loc"], data, may_be_absent=error_type == "missing")
    holder_path = place.path[:-1]
    if error_type == "missing":
        text = _missing(place, details["input"])
        return _Finding(place, holder_path, holder_path, error_type, None, (), text)
    if error_type == "extra_forbidden":
        text = _unknown(place, value_at(data, holder_path))
        return _Finding(place, place.path, holder_path, error_type, None, (), text)
    if error_type.startswith("union_tag_"):
        return _tag(details, place, walk)
    words = expected(error_type, context, details["msg"])
    if _is_mismatch(error_type) and place.schema is not None:
        words = walk.expected(place.schema) or words
    options = tuple(candidates(context)) if error_type in _CHOICES else ()
    text = str(context["error"]) if "error" in context else details["msg"]
    found = place.path[-1] if place.is_key and place.path else details["input"]
    return _Finding(place, place.path, place.path, error_type, words, options, text, found)


def _is_mismatch(error_type: str) -> bool:
    """Return whether an error is about a value's type, not its content."""
    known = error_type in _EXPECTED_BY_TYPE or error_type in _CHOICES
    return known or error_type.endswith(("_type", "_parsing"))


def expected(error_type: str, context: Mapping[str, Any], message: str) -> str | None:
    """Return the words that follow "expected", or None if the message is used as it is."""
    if error_type in _EXPECTED_BY_TYPE:
        return _EXPECTED_BY_TYPE[error_type]
    match error_type:
        case "literal_error" | "enum":
            return choice(candidates(context)) or str(context.get("expected", ""))
        case "greater_than":
            return f"a number above {_bound(context['gt'])}"
        case "greater_than_equal":
            return f"a number of at least {_bound(context['ge'])}"
        case "less_than":
            return f"a number below {_bound(context['lt'])}"
        case "less_than_equal":
            return f"a number of at most {_bound(context['le'])}"
        case "string_too_short" if context["min_length"] == 1:
            return "a text that is not empty"
        case "string_too_short":
            return f"a text of at least {counted(context['min_length'], 'character')}"
        case "string_too_long":
            return f"a text of at most {counted(context['max_length'], 'character')}"
        case "string_pattern_mismatch":
            return f"a text that matches {context['pattern']}"
        case "too_short":
            return f"at least {counted(context['min_length'], 'entry', 'entries')}"
        case "too_long":
            return f"at most {counted(context['max_length'], 'entry', 'entries')}"
    prefix = "Input should be "
    return message.removeprefix(prefix) if message.startswith(prefix) else None


def _bound(bound: object) -> object:
    """Return a bound without the ``.0`` that pydantic adds."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def candidates(context: Mapping[str, Any], key: str = "expected") -> list[str]:
    """Return the texts that an error's context lists; empty if it also lists other values."""
    listed = str(context.get(key, ""))
    others = _LIST_WORDS.sub("", _QUOTED.sub("", listed))
    return [] if others else _QUOTED.findall(listed)


def _missing(place: Place, holder: Any) -> str:
    key = place.path[-1] if place.path else ""
    if isinstance(key, int):
        return f"expected at least {key + 1} entries, found {shown(holder)}"
    for name, field in fields(place.holder):
        if key in (options := spellings(name, field)):
            key = _in_style(options, [str(other) for other in holder] if isinstance(holder, dict) else [])
    return f"missing required key {shown(key)}"


def _unknown(place: Place, holder: Any) -> str:
    key = str(place.path[-1])
    siblings = [str(other) for other in holder if other != key] if isinstance(holder, dict) else []
    options: list[tuple[str, ...]] = [spellings(name, field) for name, field in fields(place.holder)]
    for names in options:
        if key in names and (twin := next((name for name in names if name in siblings), None)):
            return f"unknown key {shown(key)}: {shown(twin)} is the same key, remove one"
    free = [names for names in options if not set(names) & set(siblings)]
    match = closest(key, (name for names in free for name in names))
    for names in free:
        if match in names:
            return f"unknown key {shown(key)} (did you mean {shown(_in_style(names, [key, *siblings]))}?)"
    known = [_in_style(names, siblings) for names in options]
    return f"unknown key {shown(key)}" + (f": expected {choice(known)}" if known else "")


def _in_style(options: tuple[str, ...], keys: list[str]) -> str:
    """Return the spelling in the style of the first neighbouring key that is camelCase or snake_case."""
    for key in keys:
        if "_" in key.strip("_"):
            return next((option for option in options if "_" in option), options[0])
        if re.search(r"[a-z][A-Z]", key):
            return next((option for option in options if "_" not in option), options[0])
    return options[0]


def _tag(details: Mapping[str, Any], place: Place, walk: Walk) -> _Finding:
    """Return the finding about an unknown or missing discriminator, at its key."""
    context, value = details["ctx"], details["input"]
    keys = candidates({"expected": context.get("discriminator", "").replace("|", ",")})
    key = next((key for key in keys if has(value, key)), keys[0] if keys else None)
    inner = walk.inner(place.schema)
    tags = [str(tag) for tag in inner["choices"]] if inner and "choices" in inner else []
    tags = tags or candidates(context, "expected_tags")
    if details["type"] == "union_tag_invalid" and key is not None:
        path = (*place.path, key)
        words = choice(tags) or "a known value"
        return _Finding(place, path, path, "union_tag", words, tuple(tags), "", value[key])
    known = f": expected {choice(tags)}" if tags else ""
    text = f"missing required key {shown(key)}{known}" if key else details["msg"]
    return _Finding(place, place.path, place.path, "union_tag", None, (), text)


def _settled(findings: list[_Finding], level: int = 0) -> list[_Finding]:
    """Return the findings; those of a union are reduced to the member that was most likely meant."""
    settled: list[_Finding] = []
    unions: dict[tuple[Key, ...], dict[str, list[_Finding]]] = {}
    for finding in findings:
        if len(finding.place.unions) <= level:
            settled.append(finding)
        else:
            union = finding.place.unions[level]
            unions.setdefault(union.path, {}).setdefault(union.member, []).append(finding)
    for path, members in unions.items():
        settled += _member_meant(path, [_settled(found, level + 1) for found in members.values()], level)
    return settled


def _member_meant(path: tuple[Key, ...], members: list[list[_Finding]], level: int) -> list[_Finding]:
    """Return the findings of the member that has the value's type and the fewest findings.

    Else one finding that names all types.
    """
    fitting = [
        found
        for found in members
        if not any(finding.place.path == path and _is_mismatch(finding.type) for finding in found)
    ]
    if fitting:
        return min(fitting, key=_distance)
    findings = [finding for found in members for finding in found if finding.place.path == path]
    words = dict.fromkeys(finding.expected for finding in findings if finding.expected)
    union = findings[0].place.unions[level]
    options = tuple(option for finding in findings for option in finding.candidates)
    return [
        replace(findings[0], type="union", expected=union.expected or " or ".join(words), candidates=options)
    ]


def _distance(found: list[_Finding]) -> tuple[int, int]:
    """Return how badly a value fits a union member: its findings, then those without a suggestion."""
    return len(found), sum("did you mean" not in finding.text for finding in found)
