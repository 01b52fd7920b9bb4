"""Does a call stay within the test resources? Judged on the raw arguments, before they are sent.

A text among the arguments names a resource when it equals it, or stands in it as a whole word or several:
``acme/playground`` and ``playground`` are in ``repo: acme/playground``. Never the other way round: the
resource ``playground`` does not permit ``playground-production``. A call that changes something needs one
text that names a resource. Three things make this stricter where the plain rule would let go of too much:

- a blank text, or one of punctuation only, names nothing, and part of a word is another word;
- a path or URL names a resource only as a whole: ``/srv`` is not ``/srv/playground``;
- what plainly names something else, a path or URL or the argument a resource is labelled with (``repo`` for
  ``repo: …``), takes the call outside, whatever its other arguments name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LABELLED = re.compile(r"(?P<label>[A-Za-z][\w.-]*):\s+(?P<value>\S.*)", re.DOTALL)
_PLACE = re.compile(r"[A-Za-z]:[\\/]|[\\/~]|[A-Za-z][A-Za-z0-9+.-]*://")
_CLIMBS = re.compile(r"(?:^|[\\/])\.\.(?:[\\/]|$)")


@dataclass(frozen=True)
class Match:
    """Whether a call stays within the test resources; the reason is a half-sentence about arguments."""

    inside: bool
    reason: str


def match_resources(arguments: Any, resources: Sequence[str]) -> Match:
    """Whether JSON arguments of a call that changes something stay within the resources."""
    named = ""
    for path, text in texts_in(arguments):
        if any(names(text, resource) for resource in resources):
            named = named or path
        elif is_place(text):
            return Match(False, f"`{path}` is a place that is no test resource")
        elif label := _contradicted(path, resources):
            return Match(False, f"`{path}` is not the test resource of `{label}`")
    return Match(True, f"`{named}` is a test resource") if named else Match(False, "no argument names one")


def texts_in(arguments: Any) -> Iterator[tuple[str, str]]:
    """Where each text stands in JSON data, such as ``items[0].path``, and the text; keys are left out."""
    waiting: list[tuple[str, Any]] = [("", arguments)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, Mapping):
            inner = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
            waiting.extend(reversed(inner))
        elif isinstance(value, (list, tuple)):
            waiting.extend((f"{path}[{index}]", item) for index, item in reversed(list(enumerate(value))))


def names(text: str, resource: str) -> bool:
    """Whether a text names a resource: all of it, or whole words in it."""
    value = _value(resource)
    if text in (resource, value):
        return bool(text.strip())
    if is_place(text) or not any(character.isalnum() for character in text):
        return False
    start = resource.find(text)
    while start >= 0:
        if _is_whole(resource, start, start + len(text)):
            return True
        start = resource.find(text, start + 1)
    return False


def _is_whole(resource: str, start: int, end: int) -> bool:
    cut_before = start > 0 and resource[start - 1].isalnum() and resource[start].isalnum()
    cut_after = end < len(resource) and resource[end - 1].isalnum() and resource[end].isalnum()
    return not (cut_before or cut_after)


def is_place(text: str) -> bool:
    """Whether a text is a complete path, a path that climbs, or a URL; a text of several lines is none."""
    if "\n" in text:
        return False
    return _PLACE.match(text) is not None or _CLIMBS.search(text) is not None


def _value(resource: str) -> str:
    labelled = _LABELLED.fullmatch(resource)
    return labelled["value"] if labelled else resource


def _contradicted(path: str, resources: Sequence[str]) -> str:
    """The label that an argument has in common with a resource, if there is one."""
    key = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2].lower()
    labels = (match["label"] for match in map(_LABELLED.fullmatch, resources) if match)
    return next((label for label in labels if label.lower() == key), "")
