"""Parts of error messages: shortened values, and suggestions for misspelt names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches

SHOWN_CHARACTERS = 60


def shown(value: object) -> str:
    """Return a value for a message: scalars as JSON of about 60 characters at most, containers by size."""
    if isinstance(value, str):
        return json.dumps(shortened(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        return f"a mapping with {counted(len(value), 'key')}"
    if isinstance(value, Sequence):
        return f"a list with {counted(len(value), 'entry', 'entries')}"
    if value is None or isinstance(value, bool | int | float):
        return shortened(json.dumps(value))
    return shortened(repr(value))


def duplicate_key(key: str, first_line: int) -> str:
    """Return the message about a duplicate key of a mapping."""
    return f"duplicate key {shown(key)}: it is already on line {first_line}; remove or rename one"


def shortened(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """Return the text, cut after ``limit`` characters with an ellipsis."""
    return text if len(text) <= limit else text[:limit] + "…"


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 key``, ``3 keys``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most similar to ``word``, if one is similar enough.

    Case, ``-`` and ``_`` do not count.
    """
    folded = {_folded(candidate): candidate for candidate in candidates}
    matches = get_close_matches(_folded(word), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def likeness(word: str, candidate: str) -> float:
    """Return the similarity of a word and a candidate, from 0 to 1; case, ``-`` and ``_`` do not count."""
    return SequenceMatcher(None, _folded(candidate), _folded(word)).ratio()


def suggestion(word: str, candidates: Iterable[str]) -> str:
    """Return `` (did you mean "x"?)`` if a candidate is similar, else the empty text."""
    match = closest(word, candidates)
    return f" (did you mean {shown(match)}?)" if match is not None else ""


def choice(candidates: Iterable[str], limit: int = 15) -> str:
    """Return the candidates as text: ``"a", "b" or "c"``; a long list is cut."""
    words = [shown(candidate) for candidate in candidates]
    if len(words) > limit:
        return ", ".join(words[:limit]) + ", …"
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1] if words else "") if part)


def _folded(word: str) -> str:
    return word[:200].lower().replace("-", "").replace("_", "")
