"""Words for error messages: values shortened for people, and suggestions for misspelt names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches

SHOWN_CHARACTERS = 60


def shown(value: object) -> str:
    """A value as a message shows it: JSON for scalars, at most about 60 characters; containers counted."""
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
    """The message about a key that a mapping already has."""
    return f"duplicate key {shown(key)}: it is already on line {first_line}; remove or rename one"


def shortened(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """The text, cut after ``limit`` characters with an ellipsis."""
    return text if len(text) <= limit else text[:limit] + "…"


def counted(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: ``1 key``, ``3 keys``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that ``word`` most likely meant, if any is near; case, ``-`` and ``_`` do not count."""
    folded = {_folded(candidate): candidate for candidate in candidates}
    matches = get_close_matches(_folded(word), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def likeness(word: str, candidate: str) -> float:
    """How near a word is to a candidate, from 0 to 1; case, ``-`` and ``_`` do not count."""
    return SequenceMatcher(None, _folded(candidate), _folded(word)).ratio()


def suggestion(word: str, candidates: Iterable[str]) -> str:
    """`` (did you mean "x"?)`` when a candidate is near, else the empty text."""
    match = closest(word, candidates)
    return f" (did you mean {shown(match)}?)" if match is not None else ""


def choice(candidates: Iterable[str], limit: int = 15) -> str:
    """The candidates as a list for people: ``"a", "b" or "c"``; a long list is cut."""
    words = [shown(candidate) for candidate in candidates]
    if len(words) > limit:
        return ", ".join(words[:limit]) + ", …"
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1] if words else "") if part)


def _folded(word: str) -> str:
    return word[:200].lower().replace("-", "").replace("_", "")
