"""Implied checks: an answer must not be an unexpected error, and must not be empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pytest_mcpeval.core.sample import Check
from pytest_mcpeval.servers.json_paths import unwrapped
from pytest_mcpeval.servers.response import Response

from .metadata import METADATA_TAG, trimmed
from .registry import ParsedCheck
from .vacuous import NEGATIVE_LOOKAROUND
from .verdict import on_one_line

SAY_NOTHING_OF_CONTENT = frozenset({"not_error", "max_latency_ms", "max_results", "confidence_below"})
"""Checks that an empty answer can pass although they do not ask for an empty answer."""
EMPTY_JSON = re.compile(r'\[\s*\]|\{\s*\}|"\s*"|null')


def allows_error(checks: Iterable[ParsedCheck], *, wanted: bool = True) -> bool:
    """Return whether some check expects a tool error: ``is_error``, or a negated ``not_error``, at any depth.

    ``wanted`` is false inside a negation.
    """
    name = "is_error" if wanted else "not_error"
    return any(
        check.name == name or allows_error(check.children, wanted=wanted != (check.name == "not"))
        for check in checks
    )


def asks_for_error(check: ParsedCheck, response: Response, *, wanted: bool = True) -> bool:
    """Return whether a check passes because the answer is an error.

    ``any_of: [is_error with other words, not: contains]`` does not, although it allows an error.
    """
    if check.name == "not":
        return asks_for_error(check.children[0], response, wanted=not wanted)
    if check.children:
        return _holds(check, response, wanted) and any(
            asks_for_error(child, response, wanted=wanted) for child in check.children
        )
    name = "is_error" if wanted else "not_error"
    return check.name == name and _holds(check, response, wanted)


def asks_for_nothing(check: ParsedCheck, response: Response, *, wanted: bool = True) -> bool:
    """Return whether a check of an empty answer passes because it asks for an empty answer."""
    if check.name == "not":
        return asks_for_nothing(check.children[0], response, wanted=not wanted)
    if not _holds(check, response, wanted):
        return False
    if check.children:
        return any(asks_for_nothing(child, response, wanted=wanted) for child in check.children)
    if not wanted:
        return False
    if check.name == "max_results" and check.rule.get("count") == 0:
        return True
    forbids = (check.verdict(response).details or {}).get("forbidden", False)
    return not (check.name in SAY_NOTHING_OF_CONTENT or _is_negative(check) or forbids)


def _is_negative(check: ParsedCheck) -> bool:
    """Return whether a single check only says what must be absent."""
    if check.name == "matches_regex":
        return NEGATIVE_LOOKAROUND.search(check.rule["pattern"]) is not None
    if check.name != "json_path":
        return False
    said = check.rule.keys() - {"type", "path", "source", "match"}
    return (
        check.rule.get("exists") is False
        or check.rule.get("count") == 0
        or (said != set() and said <= {"notEquals", "maxLength"})
    )


def _holds(check: ParsedCheck, response: Response, wanted: bool) -> bool:
    verdict = check.verdict(response)
    return verdict.status == ("passed" if wanted else "failed") and not verdict.unjudged


def has_content(response: Response) -> bool:
    """Return whether an answer has content besides its metadata block; ``[]`` and ``{}`` are empty."""
    if any(block.type != "text" for block in response.blocks):
        return True
    return _says_something(response.text) or _says_something(unwrapped(response))


def _says_something(value: object) -> bool:
    if isinstance(value, str):
        text = trimmed(value.split(METADATA_TAG, 1)[0])
        return text != "" and not EMPTY_JSON.fullmatch(text)
    return value not in (None, [], {})


def implied(
    checks: Iterable[tuple[ParsedCheck, Check]],
    response: Response,
    *,
    expects_rejection: bool = False,
    expects_empty: bool = False,
) -> Iterator[Check]:
    """Yield the implied checks of an answer, given the results of the written checks."""
    evaluated = list(checks)
    if expects_rejection:
        text = on_one_line(response.text, 200)
        words = f"rejected, as required: {text}" if response.is_error else f"accepted, and answered: {text}"
        yield Check({"type": "rejected"}, "passed" if response.is_error else "failed", words)
    elif response.is_error and not any(asks_for_error(check, response) for check, _ in evaluated):
        message = f"the tool reported an error: {on_one_line(response.text, 200)}"
        yield Check({"type": "not_error"}, "failed", message)
    if expects_empty:
        empty = not has_content(response)
        words = "has no content, as required" if empty else f"has content: {on_one_line(response.text, 200)}"
        yield Check({"type": "empty"}, "passed" if empty else "failed", f"the answer {words}")
    elif _passes_by_saying_nothing(evaluated, response):
        words = "the answer has no content, and no check asks for any: add one that does, or say"
        yield Check({"type": "has_content"}, "failed", f"{words} `expect_empty: true`")


def _passes_by_saying_nothing(evaluated: Sequence[tuple[ParsedCheck, Check]], response: Response) -> bool:
    passes = bool(evaluated) and all(found.passed for _, found in evaluated)
    if not passes or response.is_error or has_content(response):
        return False
    return not any(asks_for_nothing(check, response) for check, _ in evaluated)
