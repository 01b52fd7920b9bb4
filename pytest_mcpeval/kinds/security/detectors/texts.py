"""The texts of an entry, by their place in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def texts_of(seen: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of all texts of a tool: description, names, schemas and annotations.

    Places are dotted: ``description``, ``tool.input_schema.properties.path.description``. The names of
    properties are texts too, at ``tool.input_schema.properties.path (name)``.
    """
    yield "description", str(seen["description"])
    tool = seen.get("tool")
    if isinstance(tool, Mapping):
        for key in ("name", "title", "input_schema", "output_schema", "annotations"):
            yield from _strings(f"tool.{key}", tool.get(key))


def _strings(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"{place}.{key} (name)", str(key)
            yield from _strings(f"{place}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(f"{place}.{index}", inner)


def text_at(seen: Mapping[str, Any], place: str) -> str | None:
    """Return the text at a place, or None."""
    found = next((text for where, text in texts_of(seen) if where == place), None)
    if found is None and place == "previous":
        found = seen.get("previous")
    return found
