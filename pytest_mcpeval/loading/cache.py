"""Cache of parsed files as JSON, by the digest of their bytes.  An entry is written atomically, so
processes may race. Invalid entries are ignored and replaced. If the directory cannot be written,
files are parsed every time.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from .parsed import EntryLines, Parsed

FORMAT = 1
"""Increase it whenever the result of parsing or the form of an entry changes."""

UNUSED_SECONDS = 30 * 24 * 3600.0


def entry_path(directory: Path, digest: str, suffix: str) -> Path:
    """Return the path of the cache entry for a file's content.

    The suffix (such as ``.yaml``) is part of its key.
    """
    return directory / f"{FORMAT}-{digest.removeprefix('sha256:')}-{suffix.removeprefix('.')}.json"


def fetch(entry: Path) -> Parsed | None:
    """Return the parsed file of an entry, or None if there is no valid entry; mark the entry as used."""
    try:
        parsed = _from_json(json.loads(entry.read_bytes()), entry.name)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    with suppress(OSError):
        os.utime(entry)
    return parsed


def store(entry: Path, parsed: Parsed) -> None:
    """Write an entry atomically; once per process, remove entries that were not used for thirty days."""
    content = json.dumps(_to_json(parsed, entry.name), ensure_ascii=False, separators=(",", ":"))
    with suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        _write(entry, content.encode("utf-8"))
        _remove_unused_once(entry.parent)


def remove_unused(directory: Path, before: float) -> None:
    """Remove entries, of any format, last used before a time in seconds since the epoch."""
    for entry in directory.glob("[0-9]*-*.json*"):
        with suppress(OSError):
            if entry.stat().st_mtime < before:
                entry.unlink()


@cache
def _remove_unused_once(directory: Path) -> None:
    remove_unused(directory, time.time() - UNUSED_SECONDS)


def _write(entry: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=entry.parent, prefix=entry.name + ".")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(name, entry)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _to_json(parsed: Parsed, name: str) -> dict[str, Any]:
    lines = {"root": parsed.lines.root, "rows": parsed.lines.rows, "by_key": parsed.lines.by_key}
    return {"entry": name, "nodes": parsed.nodes, "depth": parsed.depth, "lines": lines, "data": parsed.data}


def _from_json(content: Any, name: str) -> Parsed:
    if content["entry"] != name:
        raise ValueError("the entry belongs to another file")
    lines = EntryLines(**content["lines"])
    nodes, depth = content["nodes"], content["depth"]
    if not (isinstance(nodes, int) and isinstance(depth, int) and isinstance(lines.root, int)):
        raise TypeError("the entry has no measures")
    if not (isinstance(lines.rows, list) and isinstance(lines.by_key, dict)):
        raise TypeError("the entry has no lines")
    return Parsed(content["data"], lines, nodes, depth)
