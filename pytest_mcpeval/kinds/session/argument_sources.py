"""Find arguments that came from earlier results, verbatim or reshaped. Kept in memory only.

A transcript has no results, so it cannot show that an agent had to cut an id in two for the next
server. The guard, which sees the values, records it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pytest_mcpeval.kinds.session.records import ArgumentSource
from pytest_mcpeval.kinds.session.redaction import redacted_text
from pytest_mcpeval.kinds.session.safety_resources import texts_in

MOST_VALUES = 5_000
"""Values of one result that are remembered."""

_SHORTEST, _LONGEST = 3, 200
_SHORTEST_PART = 4
# Smaller numbers are often counts and sizes, which may be equal by coincidence.
_SMALLEST_RESULT, _SMALLEST_ARGUMENT = 1_000, 10
_DEEPEST = 50
_COUNTING = re.compile(
    r"(?:limit|offset|page|size|count|head|tail|depth|first|last|top|skip|max|min|length|line)[a-z]*(?:\[\d+\])?$",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[^\W_]+")
_NUMBER_AT_END = re.compile(r"[#/!-](\d{2,})$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d")


class SeenValues:
    """The values in the results of one scenario that look like identifiers."""

    def __init__(self) -> None:
        self._verbatim: dict[str, str] = {}
        self._normalised: dict[str, str] = {}
        self._parts: dict[str, str] = {}

    def add(self, entry_id: str, result: Any) -> None:
        """Remember the values of a result, JSON data."""
        texts = (text for _, text in _texts_and_numbers(result, _SMALLEST_RESULT))
        for text in islice(filter(_is_identifier, texts), MOST_VALUES):
            self._verbatim[text] = entry_id
            self._normalised[_normal(text)] = entry_id
            parts = _PARTS.findall(text)
            if len(parts) > 1:
                self._parts.update((part, entry_id) for part in parts if _is_telling(part))
            if number := _NUMBER_AT_END.search(text):
                self._parts[number[1]] = entry_id

    def sources(self, arguments: Mapping[str, Any]) -> tuple[ArgumentSource, ...]:
        """The arguments that were seen before, each with the latest result it was in."""
        found: list[ArgumentSource] = []
        for path, text in _texts_and_numbers(arguments, _SMALLEST_ARGUMENT):
            if text.isdigit() and _COUNTING.search(path):
                continue
            name = redacted_text(path)
            if text in self._verbatim:
                found.append(ArgumentSource(name, self._verbatim[text], "verbatim"))
            elif entry_id := self._reshaped(text):
                found.append(ArgumentSource(name, entry_id, "reshaped"))
        return tuple(found)

    def _reshaped(self, text: str) -> str | None:
        """Return the result from which this value was made: another spelling, a part, or an extension."""
        if found := self._parts.get(text):
            return found
        if not _is_identifier(text):
            return None
        if found := self._normalised.get(_normal(text)):
            return found
        parts = [part for part in _PARTS.findall(text) if _is_telling(part)]
        return next((self._verbatim[part] for part in parts if part in self._verbatim), None)


def _texts_and_numbers(value: Any, smallest: int) -> Iterator[tuple[str, str]]:
    yield from texts_in(_with_numbers_as_texts(value, smallest))


def _with_numbers_as_texts(value: Any, smallest: int, depth: int = 0) -> Any:
    if isinstance(value, bool) or depth > _DEEPEST:
        return None
    if isinstance(value, int):
        return str(value) if smallest <= abs(value) < 10**18 else None
    if isinstance(value, Mapping):
        return {key: _with_numbers_as_texts(inner, smallest, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_numbers_as_texts(inner, smallest, depth + 1) for inner in value]
    return value


def _is_identifier(text: str) -> bool:
    """Return whether a text is one word, too long for a coincidence, and not an ordinary word."""
    return (
        _SHORTEST <= len(text) <= _LONGEST
        and not any(character.isspace() for character in text)
        and re.search(r"[\d/_:#@.-]", text) is not None
        and _DATE.match(text) is None
    )


def _is_telling(part: str) -> bool:
    return len(part) >= _SHORTEST_PART and any(character.isdigit() for character in part)


def _normal(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
