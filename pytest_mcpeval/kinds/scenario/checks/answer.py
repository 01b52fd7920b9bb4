r"""Checks of the shape of an answer: length, citations, confidence and sources.

Confidence and sources are read from the first ``"confidence": 85`` or ``"sourcesUsed": 3`` in the text.
Decimals are kept (``72.5``, ``0.85``); integers stay exact integers.
"""

from __future__ import annotations

import math
from typing import Annotated

from pytest_mcpeval.servers.response import Response

from .claims import MOST, Fact, opposite
from .javascript_regex import compile_pattern, found_in
from .metadata import METADATA_TAG, trimmed
from .parameters import NoParameters, Number, Parameters, above, at_most
from .registry import check_type
from .verdict import JudgementError, Verdict, inconclusive, judged, on_one_line

CITATION = r"\[Source\s*\d+\]|\[\d+\]"
HIGHEST_CONFIDENCE = 100
NUMBER = r'"{key}":\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)'


class MinLength(Parameters):
    chars: Annotated[
        int,
        above(0, "every answer would pass; say 1 or more"),
        at_most(MOST, "no answer is that long, so none would pass; lower it"),
    ]


class AtLeast(Parameters):
    threshold: Annotated[
        Number,
        above(0, "every answer would pass, since none reported counts as 0; say more than 0"),
        at_most(HIGHEST_CONFIDENCE, "confidence is at most 100, so no answer would pass; say 100 or less"),
    ]


class Below(Parameters):
    threshold: Annotated[
        Number,
        above(0, "no answer would pass; say more than 0"),
        at_most(HIGHEST_CONFIDENCE, "confidence is at most 100, so every answer would pass; say 100 or less"),
    ]


class SourcesCount(Parameters):
    min: Annotated[
        int,
        above(0, "every answer would pass; say 1 or more"),
        at_most(MOST, "no answer has that many sources, so none would pass; lower it"),
    ]


@check_type("min_length", MinLength, claim=lambda given: Fact("length", "at least", given.chars))
def min_length(parameters: MinLength, response: Response) -> Verdict:
    """The answer has at least `chars` characters, without its metadata block and surrounding white space.

    Characters are counted in UTF-16 units, as JavaScript does: most emoji count as two.
    """
    answer = trimmed(response.text.split(METADATA_TAG, 1)[0])
    length = len(answer.encode("utf-16-le", "surrogatepass")) // 2
    enough = length >= parameters.chars
    sign = "≥" if enough else "<"
    return judged(enough, f"length {length} {sign} {parameters.chars} characters", {"length": length})


@check_type("has_citation", NoParameters)
def has_citation(parameters: NoParameters, response: Response) -> Verdict:
    """The text cites a source: `[Source 3]` or `[3]`."""
    match = found_in(compile_pattern(CITATION, ignore_case=False), response.text)
    return judged(
        match is not None,
        f"cites {on_one_line(match.groups[0])}" if match else "no citation such as [Source 1] or [1]",
    )


@check_type("confidence_above", AtLeast, claim=lambda given: Fact("confidence", "at least", given.threshold))
def confidence_above(parameters: AtLeast, response: Response) -> Verdict:
    """The reported confidence is `threshold` or higher.

    It is the number after the first `"confidence":` in the text that has one, with its decimals: 85.5 is
    85.5, and 0.95 is not 0. A text that reports no confidence counts as 0.
    """
    reported = reported_number(response.text, "confidence")
    return _at_least("confidence", reported, parameters.threshold, {"confidence": reported or 0})


@check_type(
    "confidence_below",
    Below,
    claim=lambda given: opposite(Fact("confidence", "at least", given.threshold)),
)
def confidence_below(parameters: Below, response: Response) -> Verdict:
    """The reported confidence is lower than `threshold`.

    Inconclusive when the text reports no confidence.
    """
    reported = reported_number(response.text, "confidence")
    if reported is None:
        return inconclusive("no confidence reported", 'let the tool report "confidence": N in its metadata')
    below = reported < parameters.threshold
    message = f"confidence {reported} {'<' if below else '≥'} {parameters.threshold}"
    return judged(below, message, {"confidence": reported})


@check_type("sources_count", SourcesCount, claim=lambda given: Fact("sources", "at least", given.min))
def sources_count(parameters: SourcesCount, response: Response) -> Verdict:
    """The answer reports `min` sources or more.

    It is the number after the first `"sourcesUsed":` that has one. A text that reports none counts as 0.
    """
    reported = reported_number(response.text, "sourcesUsed")
    return _at_least("sourcesUsed", reported, parameters.min, {"sourcesUsed": reported or 0})


def reported_number(text: str, key: str) -> Number | None:
    """Return the number after the first ``"key":`` that has one, or None.

    Raises:
        JudgementError: The number is too large.
    """
    match = found_in(compile_pattern(NUMBER.format(key=key), ignore_case=False), text)
    if match is None:
        return None
    digits = match.groups[1]
    number = int(digits) if digits.isdigit() else float(digits)
    if not math.isfinite(number):
        raise JudgementError(f'"{key}": {digits[:20]} is too large')
    return number


def _at_least(name: str, reported: Number | None, limit: Number, details: dict[str, Number]) -> Verdict:
    enough = (reported or 0) >= limit
    if reported is not None:
        return judged(enough, f"{name} {reported} {'≥' if enough else '<'} {limit}", details)
    return judged(enough, f"no {name} reported (counts as 0), {limit} or more expected", details)
