"""Plain sentences for pydantic's errors: what was expected, by the type of the error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .messages import choice, counted

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
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_LIST_WORDS = re.compile(r"\s+|,|\bor\b")

CHOICES = ("literal_error", "enum")


def is_mismatch(error_type: str) -> bool:
    """Whether an error says that a value is of another type, rather than that its content is wrong."""
    return (
        error_type in _EXPECTED_BY_TYPE or error_type in CHOICES or error_type.endswith(("_type", "_parsing"))
    )


def expected(error_type: str, context: Mapping[str, Any], message: str) -> str | None:
    """What was expected, as words that follow "expected"; None when the message must speak for itself."""
    if error_type in _EXPECTED_BY_TYPE:
        return _EXPECTED_BY_TYPE[error_type]
    if error_type in CHOICES:
        listed = candidates(context)
        return choice(listed) if listed else str(context.get("expected", ""))
    if (words := _constraint(error_type, context)) is not None:
        return words
    prefix = "Input should be "
    return message.removeprefix(prefix) if message.startswith(prefix) else None


def candidates(context: Mapping[str, Any], key: str = "expected") -> list[str]:
    """The texts an error's context lists; empty when it also lists other values."""
    listed = str(context.get(key, ""))
    others = _LIST_WORDS.sub("", _QUOTED.sub("", listed))
    return [] if others else _QUOTED.findall(listed)


def _constraint(error_type: str, context: Mapping[str, Any]) -> str | None:
    match error_type:
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
    return None


def _bound(bound: object) -> object:
    """A bound without the ``.0`` that pydantic adds."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound
