"""Checks of what the text says, and the keyword and import lists of a case, which become checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, Field

from pytest_mcpeval.servers.response import Response

from .claims import Combined, text_has
from .javascript_regex import compile_pattern, found_in
from .parameters import IsPattern, Parameters, SpecProblem, Text, Texts
from .registry import CheckSpecError, ParsedCheck, check_type
from .vacuous import pattern_problem
from .verdict import Verdict, failed, judged, listed, passed, quoted


def _valid_pattern(pattern: str) -> str:
    compile_pattern(pattern)
    problem = pattern_problem(pattern)
    if problem is not None:
        raise ValueError(problem)
    return pattern


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_valid_pattern), IsPattern()]
"""A regular expression that compiles, and that some texts match and others do not."""


class Contains(Parameters):
    value: Text
    case_sensitive: bool = False


class Values(Parameters):
    values: Texts


class MatchesRegex(Parameters):
    pattern: Pattern
    case_sensitive: bool = False


@check_type("contains", Contains, claim=lambda given: text_has(given.value, given.case_sensitive))
def contains(parameters: Contains, response: Response) -> Verdict:
    """The text contains `value`.

    Upper and lower case are the same unless `caseSensitive` is true.
    """
    value, text = parameters.value, response.text
    if not parameters.case_sensitive:
        value, text = value.lower(), text.lower()
    found = value in text
    return judged(found, f"{'contains' if found else 'missing'} {quoted(parameters.value)}")


@check_type(
    "contains_any", Values, claim=lambda given: Combined("any_of", tuple(map(text_has, given.values)))
)
def contains_any(parameters: Values, response: Response) -> Verdict:
    """The text contains at least one of `values`, in upper or lower case."""
    text = response.text.lower()
    found = next((value for value in parameters.values if value.lower() in text), None)
    if found is None:
        return failed(f"missing all of {listed(parameters.values)}")
    return passed(f"contains {quoted(found)}")


@check_type(
    "contains_all", Values, claim=lambda given: Combined("all_of", tuple(map(text_has, given.values)))
)
def contains_all(parameters: Values, response: Response) -> Verdict:
    """The text contains every one of `values`, in upper or lower case."""
    text = response.text.lower()
    missing = [value for value in parameters.values if value.lower() not in text]
    if missing:
        return failed(f"missing {listed(missing)}", {"missing": missing})
    return passed(f"contains all {len(parameters.values)} values")


@check_type("matches_regex", MatchesRegex)
def matches_regex(parameters: MatchesRegex, response: Response) -> Verdict:
    """The regular expression `pattern` matches somewhere in the text.

    Upper and lower case are the same unless `caseSensitive` is true, by the rules of JavaScript's flag `i`.
    Patterns have JavaScript's meaning; `(?ms)` in front sets the flags `m` and `s`. A pattern has the flag
    `u` if it uses `\\p{…}` or `\\u{…}`, or begins with `(?u)`. A search that takes longer than two seconds
    fails the check.
    """
    match = found_in(compile_pattern(parameters.pattern, not parameters.case_sensitive), response.text)
    if match is None:
        return failed(f"no match for /{parameters.pattern}/")
    return passed(f"/{parameters.pattern}/ matches {quoted(match.groups[0])}")


def expectation_checks(
    expected_keywords: Iterable[str] = (),
    forbidden_keywords: Iterable[str] = (),
    expected_imports: Iterable[str] = (),
) -> tuple[ParsedCheck, ...]:
    """Return one check per entry, in this order.

    Keywords are compared ignoring case; imports must match exactly. The checks of forbidden
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
        raise CheckSpecError([SpecProblem((key,), 'expected a text that is not empty, found ""')])
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
