"""``${…}`` in what a step sends and expects: captured values and environment variables take its place.

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
"""What placeholders stand for, by `Placeholder.key`."""


def misused(data: Any, captured: Collection[str], in_all: Collection[str] = ()) -> Iterator[tuple[Path, str]]:
    """What is wrong with the placeholders of a step, each mistake with the keys that lead to it.

    ``captured`` are the names captured so far, ``in_all`` those of all steps.
    """
    if not has_opening(data):
        return
    found = dict.fromkeys(placeholders(data, "case"))
    for path, one in found:
        if isinstance(one, PlaceholderError):
            yield path, str(one)
        elif not one.captured:
            # Known from now on: it is another process, maybe, that asks the case and another that reports it.
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
    """The values of the environment variables in a step, and those that are not set, each with its keys.

    There are no mistakes in it any more, such as `misused` finds.
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
    """See that every environment variable in a case is set; ``place`` makes ``file:line`` of the keys to one.

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
    """What may take the place of a value of a check: any value of a captured one, a text of all others."""
    if not isinstance(value, str):
        return "text" if any(placeholders(value, "case")) else None
    try:
        parts = parsed(value, "case")
    except PlaceholderError:
        # `misused` says what is wrong with it.
        return "any"
    if len(parts) == 1 and isinstance(parts[0], Placeholder) and parts[0].captured:
        return "any"
    return "text" if OPENING in value else None


def capture(response: Response, path: str) -> Any:
    """The first value at a path, in the JSON that checks of the answer see.

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
    """JSON data with the values in place of their placeholders."""
    return filled_by(data, "case", lambda placeholder: values[placeholder.key])


def with_values(check: ParsedCheck, values: Values, registry: CheckRegistry) -> ParsedCheck:
    """The check with the values in place of their placeholders; one that lacks a value fails."""
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
        words = f"with the values filled in, this check is not valid: {reasons}"
        return replace(check, judge=lambda response: broken(words))


def has_opening(data: Any) -> bool:
    """Whether ``${`` stands in any text or key of JSON data."""
    # No escape of repr changes these two characters, and it walks through the data faster than Python code.
    return OPENING in repr(data)


def _filled_rule(check: ParsedCheck, values: Values, registry: CheckRegistry) -> Mapping[str, Any]:
    """The rule with the values: with their types where the check takes them, else as texts."""
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
    """The regular expressions of a rule: in them, values are no syntax."""
    found = registry.get(check.name)
    keys = pattern_keys(found.parameters) if isinstance(found, CheckType) else ()
    literal = {key: matching_itself(text) for key, text in _texts(values).items()}
    return {key: filled(check.rule[key], literal) for key in keys if key in check.rule}


def _texts(values: Values) -> dict[str, str]:
    return {key: text_of(value) for key, value in values.items()}
