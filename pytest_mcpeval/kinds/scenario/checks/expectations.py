"""The keyword and import lists of a case, as checks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from pytest_mcpeval.servers.response import Response

from .registry import ParsedCheck
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
        *(_check("contains", "value", word, partial(_expected, word)) for word in expected_keywords),
        *(_check("contains", "value", word, partial(_forbidden, word)) for word in forbidden_keywords),
        *(_check("has_import", "module", line, partial(_import, line)) for line in expected_imports),
    )


def _check(type_name: str, key: str, value: str, judge: partial[Verdict]) -> ParsedCheck:
    return ParsedCheck({"type": type_name, key: value}, judge)


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
