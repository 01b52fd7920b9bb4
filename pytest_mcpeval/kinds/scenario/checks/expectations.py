"""The keyword and import lists of a case, as checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from pytest_mcpeval.servers.response import Response

from .parameters import SpecProblem
from .registry import CheckSpecError, ParsedCheck
from .verdict import Verdict, judged, quoted


def expectation_checks(
    expected_keywords: Iterable[str] = (),
    forbidden_keywords: Iterable[str] = (),
    expected_imports: Iterable[str] = (),
) -> tuple[ParsedCheck, ...]:
    """One check per entry, in this order.

    Keywords are compared in upper or lower case; imports are exact parts of the text. The checks of forbidden
    keywords have the details ``{"forbidden": true}``, since their rule looks like that of an expected one.
    """
    return (
        *(_check("contains", "value", _expected, word) for word in expected_keywords),
        *(_check("contains", "value", _forbidden, word) for word in forbidden_keywords),
        *(_check("has_import", "module", _import, line) for line in expected_imports),
    )


def _check(type_name: str, key: str, judge: Callable[[str, Response], Verdict], text: str) -> ParsedCheck:
    return ParsedCheck(
        {"type": type_name, key: text},
        partial(judge, text),
        parse=lambda rule: _check(type_name, key, judge, _not_empty(key, rule[key])),
    )


def _not_empty(key: str, text: str) -> str:
    if not text:
        raise CheckSpecError([SpecProblem((key,), "expected text that is not empty, found ''")])
    return text


def _expected(word: str, response: Response) -> Verdict:
    found = word.lower() in response.text.lower()
    return judged(found, f"{'has' if found else 'lacks'} the keyword {quoted(word)}")


def _forbidden(word: str, response: Response) -> Verdict:
    found = word.lower() in response.text.lower()
    message = f"{'has' if found else 'is free of'} the forbidden keyword {quoted(word)}"
    return judged(not found, message, {"forbidden": True})


def _import(line: str, response: Response) -> Verdict:
    found = line in response.text
    return judged(found, f"{'has' if found else 'lacks'} the import {quoted(line)}")
