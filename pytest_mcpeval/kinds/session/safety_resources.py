"""Check whether a call stays within the test resources, on the raw arguments before they are sent.

A text among the arguments names a resource when it equals it, with its label or without:
``repo: acme/playground`` and ``acme/playground``. In the argument of the label, the last part of such a name
is enough: ``{repo: playground}``. Nothing else of a resource names it: neither the label ``repo`` nor the
owner ``acme``. A call that changes something needs one text that names a resource, and what plainly names
something else takes it outside, whatever its other arguments name:

- a place (a path, a file or a URL, by the name of its argument or by its look) that is not a resource;
- another value of the argument a resource is labelled with;
- another owner than that of a resource which is named by its last part.

One thing is inside that would be outside by these: a relative place in a call whose labelled argument names
its resource, as ``docs/a.md`` does next to ``repo: acme/playground``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.kinds.session.safety_places import is_place, is_place_name, is_relative, subject_of

_OWNERS = frozenset(
    """
    owner org organization organisation namespace group user username account workspace project tenant
    """.split()  # noqa: SIM905
)
_LABELLED = re.compile(r"(?P<label>[A-Za-z][\w.-]*):\s+(?P<value>\S.*)", re.DOTALL)


@dataclass(frozen=True)
class Match:
    """Whether a call stays within the test resources; the reason is a half-sentence about arguments."""

    inside: bool
    reason: str


def match_resources(arguments: Any, resources: Sequence[str]) -> Match:
    """Whether JSON arguments of a call that changes something stay within the resources."""
    if other := _has_other_owner(arguments, resources):
        return Match(False, f"`{other}` is not the owner of the test resource")
    named = ""
    contained = _is_contained(arguments, resources)
    for path, text in texts_in(arguments):
        if any(names(text, resource, path) for resource in resources):
            named = named or path
        elif label := _contradicted(path, resources):
            return Match(False, f"`{path}` is not the test resource of `{label}`")
        elif is_place(path, text) and not (contained and is_relative(text)):
            return Match(False, f"`{path}` is a place that is not a test resource")
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


def names(text: str, resource: str, path: str = "") -> bool:
    """Whether a text names a resource. ``path`` is where the text stands."""
    label, value = _parts(resource)
    if text in (resource, value):
        return bool(text.strip())
    return _is_last_part(text, value) and _is_labelled(path, label) and not is_place_name(label)


def _parts(resource: str) -> tuple[str, str]:
    """The label of a resource in lower case, empty without one, and what stands behind it."""
    found = _LABELLED.fullmatch(resource)
    return (found["label"].lower(), found["value"]) if found else ("", resource)


def _is_last_part(text: str, value: str) -> bool:
    return bool(text) and text == value.rpartition("/")[2] and text != value


def _is_labelled(path: str, label: str) -> bool:
    """Whether a text stands in the argument of a label: ``repo``, ``repos[0]``, ``repo.name``."""
    subject = subject_of(label)
    return bool(label) and subject_of(path) in (subject, f"{subject}s")


def _labels(resources: Sequence[str]) -> list[tuple[str, str]]:
    """The resources that have a label, each with it."""
    return [(label, resource) for resource in resources if (label := _parts(resource)[0])]


def _contradicted(path: str, resources: Sequence[str]) -> str:
    """Return the label that an argument and a resource have in common, or an empty text."""
    return next((label for label, _ in _labels(resources) if _is_labelled(path, label)), "")


def _has_other_owner(arguments: Any, resources: Sequence[str]) -> str:
    """Where another owner stands than that of the resources which are named by their last part."""
    texts = list(texts_in(arguments))
    short = [
        resource
        for resource in resources
        if any(
            names(text, resource, path) and text not in (resource, _parts(resource)[1])
            for path, text in texts
        )
    ]
    owners = {owner for resource in short for owner in _parts(resource)[1].split("/")[:-1]}
    owners |= {_parts(resource)[1].rpartition("/")[0] for resource in short}
    found = (path for path, text in texts if _is_owner(path) and text not in owners)
    return next(found, "") if short else ""


def _is_owner(path: str) -> bool:
    return any(subject_of(key) in _OWNERS for key in re.sub(r"\[\d+\]", "", path).split("."))


def _is_contained(arguments: Any, resources: Sequence[str]) -> bool:
    """Whether an argument that is not a place names the resource of its label, such as a repository."""
    labels = [(label, resource) for label, resource in _labels(resources) if not is_place_name(label)]
    return any(
        _is_labelled(path, label) and names(text, resource, path)
        for path, text in (texts_in(arguments) if labels else ())
        for label, resource in labels
    )
