"""``${name}`` in what a step sends and expects, and the captured values that take its place."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pytest_mcpeval.kinds.scenario.checks import CheckRegistry, CheckSpecError, CheckType, ParsedCheck
from pytest_mcpeval.kinds.scenario.checks.javascript_regex import matching_itself
from pytest_mcpeval.kinds.scenario.checks.parameters import pattern_keys
from pytest_mcpeval.kinds.scenario.checks.verdict import unjudged
from pytest_mcpeval.loading.wording import closest, suggestion

PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def placeholders(value: Any) -> Iterator[str]:
    """The names of all ``${name}`` inside JSON data, keys of mappings included."""
    if isinstance(value, str):
        yield from PLACEHOLDER.findall(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from placeholders(key)
            yield from placeholders(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from placeholders(inner)


def not_captured(value: Any, captured: Collection[str]) -> Iterator[str]:
    """What is wrong with arguments: every ``${name}`` that no earlier step captures."""
    for name in dict.fromkeys(placeholders(value)):
        if name not in captured:
            earlier = ", ".join(sorted(captured)) or "nothing"
            close = suggestion(name, captured)
            yield f"${{{name}}} is not captured by an earlier step{close} (captured: {earlier})"


def near_misses(rule: Any, captured: Collection[str], in_all: Collection[str]) -> Iterator[str]:
    """What is wrong with a check, which may well speak of a literal ``${name}``: a name nearly captured.

    ``captured`` are the names so far, ``in_all`` those of all steps.
    """
    unknown = [name for name in placeholders(rule) if name not in captured]
    for name in dict.fromkeys(unknown):
        meant = closest(name, captured)
        if name in in_all:
            yield f"${{{name}}} is captured by a later step only"
        elif meant is not None:
            yield f"${{{name}}} is not captured by any step so far; did you mean ${{{meant}}}?"


def later(value: object, captured: Collection[str] | None) -> Literal["any", "text"] | None:
    """What may take the place of a value of a check, with these captured names; None: with any name."""
    if captured is not None and not any(name in captured for name in placeholders(value)):
        return None
    if isinstance(value, str) and PLACEHOLDER.fullmatch(value):
        return "any"
    return "text" if any(placeholders(value)) else None


def filled(value: Any, captured: Mapping[str, Any]) -> Any:
    """JSON data with every ``${name}`` of a captured value replaced.

    A text that is nothing but one placeholder takes the value as it is, with its type; inside a longer text,
    a value stands as `text_of` says, and so it does in a key.
    """
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        if whole and whole[1] in captured:
            return captured[whole[1]]
        return PLACEHOLDER.sub(lambda match: text_of(captured.get(match[1], match[0])), value)
    if isinstance(value, Mapping):
        return {text_of(filled(key, captured)): filled(inner, captured) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, captured) for inner in value]
    return value


def text_of(value: Any) -> str:
    """JSON data as a text: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def with_captured(check: ParsedCheck, captured: Mapping[str, Any], registry: CheckRegistry) -> ParsedCheck:
    """The check with captured values in place of their placeholders; others stay as they are written."""
    if not (captured and captured.keys() & set(placeholders(check.rule))):
        return check
    try:
        if check.parse is not None:
            return check.parse(filled(check.rule, _texts(captured)))
        return registry.parse(_filled_rule(check, captured, registry))
    except CheckSpecError as error:
        reasons = "; ".join(message for _, message in error.problems)
        message = f"with the captured values this is no check: {reasons}"
        return replace(check, judge=lambda response: unjudged(message))


def _filled_rule(
    check: ParsedCheck, captured: Mapping[str, Any], registry: CheckRegistry
) -> Mapping[str, Any]:
    """The rule with captured values: with their types where the check takes them, else as texts."""
    if check.children:
        nested = [_filled_rule(child, captured, registry) for child in check.children]
        return (
            {**check.rule, "checks": nested} if "checks" in check.rule else {**check.rule, "check": nested[0]}
        )
    patterns = _filled_patterns(check, captured, registry)
    typed = {**filled(check.rule, captured), **patterns}
    try:
        registry.parse(typed)
    except CheckSpecError as error:
        wrong = {path[0] if path else None for path, _ in error.problems}
        texts = {**filled(check.rule, _texts(captured)), **patterns}
        mixed = {key: texts[key] if {key, None} & wrong else value for key, value in typed.items()}
        return mixed if registry.accepts([mixed]) else typed
    return typed


def _filled_patterns(
    check: ParsedCheck, captured: Mapping[str, Any], registry: CheckRegistry
) -> dict[str, Any]:
    """The regular expressions of a rule: in them, captured values are no syntax."""
    found = registry.get(check.name)
    keys = pattern_keys(found.parameters) if isinstance(found, CheckType) else ()
    literal = {name: matching_itself(text) for name, text in _texts(captured).items()}
    return {key: filled(check.rule[key], literal) for key in keys if key in check.rule}


def _texts(captured: Mapping[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in captured.items()}
