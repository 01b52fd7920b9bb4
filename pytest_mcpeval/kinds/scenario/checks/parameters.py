"""The keys of a check: the base of all parameter models, and messages about their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.schema import candidates, expected

Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[list[Text], Field(min_length=1)]
Number = int | float


def above(limit: float, otherwise: str) -> AfterValidator:
    """Refuse numbers up to a limit; ``otherwise`` says why they decide nothing, and what to write instead."""
    return _refused_where(lambda value: value <= limit, otherwise)


def at_most(limit: float, otherwise: str) -> AfterValidator:
    """Refuse numbers higher than a limit, like `above`."""
    return _refused_where(lambda value: value > limit, otherwise)


def _refused_where(decides_nothing: Callable[[Number], bool], otherwise: str) -> AfterValidator:
    def require(value: Number) -> Number:
        if decides_nothing(value):
            raise ValueError(f"found {value:g}: {otherwise}")
        return value

    return AfterValidator(require)


Later = Callable[[object], Literal["any", "text"] | None]
"""What may replace a value before its check is judged: anything, a text, or nothing (None)."""


class IsPattern:
    """Marks a text as a regular expression in its annotation."""


class Parameters(BaseModel):
    """Base of a check's parameters: unknown keys are errors, keys are camelCase or snake_case."""

    model_config = ConfigDict(
        defer_build=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
    )


class NoParameters(Parameters):
    """The parameters of a check that has none."""


class SpecProblem(NamedTuple):
    """One mistake in a rule: the keys that lead to it, and what to do about it."""

    path: tuple[str | int, ...]
    message: str


@cache
def pattern_keys(model: type[BaseModel]) -> frozenset[str]:
    """Return the canonical spellings of the keys that take regular expressions."""
    fields = model.model_fields.items()
    return frozenset(
        field.alias or name for name, field in fields if _has_pattern(field.rebuild_annotation())
    )


def _has_pattern(annotation: Any) -> bool:
    return any(isinstance(part, IsPattern) or _has_pattern(part) for part in get_args(annotation))


@cache
def spellings(model: type[BaseModel]) -> dict[str, str]:
    """Return every accepted spelling of the model's keys, with the canonical (camelCase) one."""
    accepted: dict[str, str] = {}
    for name, field in model.model_fields.items():
        canonical = field.alias or name
        accepted[canonical] = canonical
        accepted[name] = canonical
    return accepted


def canonical_keys(model: type[BaseModel], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys renamed to their canonical spelling."""
    names = spellings(model)
    return {names.get(key, key): value for key, value in written.items()}


def never(value: object) -> None:
    """The ``later`` of rules whose values are all final."""


def problems_of(
    error: ValidationError, model: type[BaseModel], written: Mapping[str, Any], later: Later = never
) -> list[SpecProblem]:
    """Return each mistake once, at its key in the rule.

    Leave out those that a value filled in ``later`` may resolve.
    """
    found: dict[tuple[str | int, ...], str] = {}
    for entry in error.errors(include_url=False):
        if _may_hold_later(entry, later, model):
            continue
        path = _path_as_written(entry["loc"], model, written)
        found[path] = _message(entry, path, model)
    return [SpecProblem(path, message) for path, message in found.items()]


def _may_hold_later(entry: Any, later: Later, model: type[BaseModel]) -> bool:
    kind, location = entry["type"], entry["loc"]
    if not location or kind in ("extra_forbidden", "missing"):
        return False
    replacement = later(entry["input"])
    # A text that is filled in never becomes a number, and a literal value never repairs a pattern.
    mended = not kind.endswith("_type") and location[0] not in pattern_keys(model)
    return replacement == "any" or (replacement == "text" and mended)


def _path_as_written(
    location: tuple[str | int, ...], model: type[BaseModel], written: Mapping[str, Any]
) -> tuple[str | int, ...]:
    if not location:
        return ()
    names = spellings(model)
    first = location[0]
    key = next((key for key in written if names.get(key) == names.get(str(first), first)), first)
    return (key, *_existing(location[1:], written.get(str(key))))


def _existing(location: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    """Return the part of a location that leads through the data, without names of union members."""
    kept: list[str | int] = []
    for part in location:
        if (isinstance(value, Mapping) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        ):
            kept.append(part)
            value = value[part]  # type: ignore[index]
    return tuple(kept)


def _message(entry: Any, path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    kind, context = entry["type"], entry.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(str(path[0]), model)
    if kind == "missing":
        return f'the key "{path[-1]}" is missing'
    if kind == "value_error":
        return str(context["error"])
    close = suggestion(str(entry["input"]), candidates(context)) if kind == "literal_error" else ""
    wanted = expected(kind, context, entry["msg"]) or entry["msg"]
    return f"expected {wanted}, found {shown(entry['input'])}{close}"


def _unknown_key(key: str, model: type[BaseModel]) -> str:
    known = spellings(model)
    if key in known:
        return f'"{key}" is given twice, in two spellings; keep one'
    names = sorted(set(known.values()))
    allowed = f"known keys: {', '.join(names)}" if names else "this check has no keys besides type"
    return f'unknown key "{key}"{suggestion(key, known)} ({allowed})'
