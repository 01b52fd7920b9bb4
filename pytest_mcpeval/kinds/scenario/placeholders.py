"""Replace ``${…}`` in what a step sends and expects by captured values and environment variables.

Values are captured from an answer by JSONPath (RFC 9535).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.scenario.checks import (
    CheckRegistry,
    CheckSpecError,
    CheckType,
    JudgementError,
    ParsedCheck,
)
from pytest_mcpeval.kinds.scenario.checks.javascript_regex import matching_itself
from pytest_mcpeval.kinds.scenario.checks.json_values import json_at, nodes
from pytest_mcpeval.kinds.scenario.checks.parameters import pattern_keys
from pytest_mcpeval.kinds.scenario.checks.verdict import broken, unjudged
from pytest_mcpeval.loading.messages import suggestion
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.text.placeholders import (
    OPENING,
    Path,
    Placeholder,
    PlaceholderError,
    from_environment,
    parsed,
    placeholders,
    text_of,
)
from pytest_mcpeval.text.placeholders import filled as filled_by

Values = Mapping[str, Any]
"""The values of placeholders, by `Placeholder.key`."""


def misused(data: Any, captured: Collection[str], in_all: Collection[str] = ()) -> Iterator[tuple[Path, str]]:
    """Yield the mistakes in the placeholders of a step, each with the keys that lead to it.

    ``captured`` are the names captured so far, ``in_all`` those of all steps.
    """
    if not has_opening(data):
        return
    found = dict.fromkeys(placeholders(data, "case"))
    for path, one in found:
        if isinstance(one, PlaceholderError):
            yield path, str(one)
        elif not one.captured:
            # Redact the value in this process too: another process may ask the case.
            from_environment(one, os.environ)
        elif one.name in in_all and one.name not in captured:
            yield path, f"{one.written} is captured by a later step only"
        elif one.name not in captured:
            known = ", ".join(sorted(captured)) or "nothing"
            close = suggestion(one.name, captured)
            advice = f"an environment variable is ${{env.{one.name}}}, and $${{ is ${{ itself"
            yield (
                path,
                f"{one.written} is not captured by an earlier step{close} (captured: {known}); {advice}",
            )


def environment(data: Any, environ: Mapping[str, str]) -> tuple[dict[str, str], dict[Path, Placeholder]]:
    """Return the values of the environment variables in a step, and the unset variables with their keys.

    The step has no mistakes of the sort that `misused` finds.
    """
    values: dict[str, str] = {}
    unset: dict[Path, Placeholder] = {}
    if not has_opening(data):
        return values, unset
    for path, one in placeholders(data, "case"):
        if isinstance(one, PlaceholderError) or one.captured:
            continue
        value = from_environment(one, environ)
        if value is None:
            unset[path] = one
        else:
            values[one.key] = value
    return values, unset


def require_environment(data: Any, place: Callable[..., str], environ: Mapping[str, str]) -> None:
    """Raise if an environment variable of a case is not set; ``place`` turns keys into ``file:line``.

    Raises:
        TargetError: Some are not set; each is named with its place.
    """
    unset = environment(data, environ)[1]
    if unset:
        lines = (
            f"{place(*path)}: needs the environment variable {one.name}, which is not set: set it, or write "
            f"${{env.{one.name}:-default}}"
            for path, one in unset.items()
        )
        raise TargetError("\n".join(dict.fromkeys(lines)))


def later(value: object) -> Literal["any", "text"] | None:
    """Return what may replace a value of a check: anything for a captured value, a text for all others."""
    if not isinstance(value, str):
        return "text" if any(placeholders(value, "case")) else None
    try:
        parts = parsed(value, "case")
    except PlaceholderError:
        # `misused` reports it.
        return "any"
    if len(parts) == 1 and isinstance(parts[0], Placeholder) and parts[0].captured:
        return "any"
    return "text" if OPENING in value else None


def capture(response: Response, path: str) -> Any:
    """Return the first value at a path in the JSON that checks of the answer see.

    Raises:
        LookupError: The path matches nothing, or the answer is not JSON; the message says which.
    """
    try:
        found = nodes(path, json_at(path, response))
    except JudgementError:
        raise LookupError("the answer has no structured content and its text is not JSON") from None
    if not found:
        raise LookupError(f"{path} matches nothing in the answer")
    return found[0][1]


def filled(data: Any, values: Values) -> Any:
    """Return JSON data with the placeholders replaced by values."""
    return filled_by(data, "case", lambda placeholder: values[placeholder.key])


def with_values(check: ParsedCheck, values: Values, registry: CheckRegistry) -> ParsedCheck:
    """Return the check with the placeholders replaced by values; if a value is missing, the check fails."""
    if not has_opening(check.rule):
        return check
    found = (one for _, one in placeholders(check.rule, "case") if isinstance(one, Placeholder))
    if missing := next((one.written for one in found if one.key not in values), None):
        return replace(check, judge=lambda response: unjudged(f"{missing} was not captured"))
    try:
        if check.parse is not None:
            return check.parse(filled(check.rule, _texts(values)))
        return registry.parse(_filled_rule(check, values, registry))
    except CheckSpecError as error:
        reasons = "; ".join(message for _, message in error.problems)
        words = f"this check is invalid after captured values are filled in: {reasons}"
        return replace(check, judge=lambda response: broken(words))


def has_opening(data: Any) -> bool:
    """Return whether ``${`` is in any text or key of JSON data."""
    # repr does not escape these two characters, and it is faster than walking the data in Python.
    return OPENING in repr(data)


def _filled_rule(check: ParsedCheck, values: Values, registry: CheckRegistry) -> Mapping[str, Any]:
    """Return the rule with the values: with their types if the check accepts them, else as texts."""
    if check.children:
        nested = [_filled_rule(child, values, registry) for child in check.children]
        return (
            {**check.rule, "checks": nested} if "checks" in check.rule else {**check.rule, "check": nested[0]}
        )
    patterns = _filled_patterns(check, values, registry)
    typed = {**filled(check.rule, values), **patterns}
    try:
        registry.parse(typed)
    except CheckSpecError as error:
        wrong = {path[0] if path else None for path, _ in error.problems}
        texts = {**filled(check.rule, _texts(values)), **patterns}
        mixed = {key: texts[key] if {key, None} & wrong else value for key, value in typed.items()}
        return mixed if registry.accepts([mixed]) else typed
    return typed


def _filled_patterns(check: ParsedCheck, values: Values, registry: CheckRegistry) -> dict[str, Any]:
    """Return the regular expressions of a rule, with values escaped so that they match literally."""
    found = registry.get(check.name)
    keys = pattern_keys(found.parameters) if isinstance(found, CheckType) else ()
    literal = {key: matching_itself(text) for key, text in _texts(values).items()}
    return {key: filled(check.rule[key], literal) for key in keys if key in check.rule}


def _texts(values: Values) -> dict[str, str]:
    return {key: text_of(value) for key, value in values.items()}
