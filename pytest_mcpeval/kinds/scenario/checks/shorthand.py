"""Checks written as keyword arguments: ``min_length=200, has_citation=True``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .parameters import spellings
from .registry import CheckGroup, CheckRegistry, CheckSpecError


def rule_of_keyword(registry: CheckRegistry, name: str, value: Any) -> dict[str, Any]:
    """The rule that ``name=value`` stands for, still to be parsed.

    ``value`` is the first parameter of the check, or a mapping of its parameters. For a check that needs no
    parameter, True asks for it and False for its opposite. An unknown name is left for `CheckRegistry.parse`.
    """
    found = registry.get(name)
    if found is None:
        return {"type": name}
    if isinstance(found, CheckGroup):
        return {"type": name, found.key: value}
    fields, known = found.parameters.model_fields, spellings(found.parameters)
    if isinstance(value, bool) and not any(field.is_required() for field in fields.values()):
        return {"type": name} if value else {"type": "not", "check": {"type": name}}
    short = {"type": name, next(iter(known.values()), "value"): value}
    if isinstance(value, Mapping):
        if value.keys() <= known.keys():
            return {"type": name, **value}
        # A schema is a mapping as well; where no mapping is expected, it holds misspelt parameters.
        return short if _is_valid(registry, short) else {"type": name, **value}
    return short


def _is_valid(registry: CheckRegistry, rule: Mapping[str, Any]) -> bool:
    try:
        registry.parse(rule)
    except CheckSpecError:
        return False
    return True
