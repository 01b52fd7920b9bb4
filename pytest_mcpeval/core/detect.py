"""Detect the kind of a document: from its key ``kind``, its name or its keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from pytest_mcpeval.core.declaration import DocumentRole, KindDeclaration
from pytest_mcpeval.loading import DataFileError, Document, Problem
from pytest_mcpeval.loading.messages import closest, likeness, shown, suggestion

REPORT_KEYS = {"version", "verdict", "gates", "suites", "run"}
"""Keys of every ``report.json``, which is not a data file even in a dataset directory."""

LEAVE_ALONE = "or exclude the file with the ini key mcpeval_ignore"


def detect_kind(document: Document, kinds: Mapping[str, KindDeclaration]) -> tuple[str, DocumentRole]:
    """Return the name of a document's kind, and whether it has cases.

    The key ``kind``, the file name or the other keys decide.

    Raises:
        DataFileError: It has no known shape; the message lists the known ones.
    """
    declared = document.data.get("kind") if isinstance(document.data, dict) else None
    if isinstance(declared, str) and declared in kinds:
        return declared, kinds[declared].detect(document.data) or "suite"
    for kind in kinds.values():
        shape = kind.detect(document.data)
        if shape is not None:
            return kind.name, shape
    for kind in kinds.values():
        if any(fnmatch(document.path.name, pattern) for pattern in kind.file_names):
            return kind.name, "suite"
    raise DataFileError([_unknown_kind(document, kinds) or _unknown_shape(document, kinds)])


def is_report(data: Any) -> bool:
    """Whether a document is a report of an earlier run, or of a part of one."""
    return isinstance(data, dict) and (data.keys() >= REPORT_KEYS or "mcpeval_shard" in data)


def is_json_schema(data: Any) -> bool:
    """Whether a document is a JSON Schema, such as one that describes the data files beside it."""
    if not isinstance(data, dict):
        return False
    if {"type", "properties"} <= data.keys() and isinstance(data["properties"], dict):
        return True
    return isinstance(data.get("$schema"), str) and "://json-schema.org/" in data["$schema"]


def _unknown_kind(document: Document, kinds: Mapping[str, KindDeclaration]) -> Problem | None:
    if not isinstance(document.data, dict) or "kind" not in document.data:
        return None
    found = document.data["kind"]
    hint = suggestion(found, kinds) if isinstance(found, str) else ""
    message = f"kind: expected {', '.join(kinds)}, found {shown(found)}{hint}; correct it, {LEAVE_ALONE}"
    return document.problem("kind", message=message)


def _unknown_shape(document: Document, kinds: Mapping[str, KindDeclaration]) -> Problem:
    known = "; ".join(kind.file_description for kind in kinds.values())
    words = f"no known shape of data file. Known: {known}. Add the missing key, say `kind:`, {LEAVE_ALONE}"
    if isinstance(document.data, dict) and "mcpServers" in document.data:
        words = "servers are read from .mcp.json in the root directory, or from `servers:` in mcpeval.yaml"
    names = [name for kind in kinds.values() for name in kind.file_keys]
    # Suggest the most similar key of all kinds.
    near = [(place, key, closest(key, names)) for place, key in _keys(document.data) if key not in names]
    meant = [(place, key, name) for place, key, name in near if name is not None]
    if meant:
        place, key, name = max(meant, key=lambda one: likeness(one[1], one[2]))
        return document.problem(*place, key, message=f"{key}: did you mean {shown(name)}? {words}")
    return Problem(document.path, 1, words)


def _keys(data: Any) -> Iterator[tuple[tuple[int, ...], str]]:
    """The keys by which a document may be detected, each with the place of its mapping."""
    if isinstance(data, dict):
        yield from (((), key) for key in data)
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        yield from (((0,), key) for key in data[0])
