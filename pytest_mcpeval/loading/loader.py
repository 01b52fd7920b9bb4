"""Load a data file by its suffix, through the cache if there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_mcpeval.loading import cache

from .document import Document
from .json_data import parse as _json
from .json_data import parse_lines as _json_lines
from .messages import choice
from .parsed import Parsed
from .pausing import garbage_collection_paused
from .problems import DataFileError, Problem
from .source import Limits, Source, read

DEFAULT_LIMITS = Limits()
SCHEMA_KEY = "$schema"


def load(path: Path, *, limits: Limits = DEFAULT_LIMITS, cache_directory: Path | None = None) -> Document:
    """Load a YAML, JSON or JSON Lines file.

    With a ``cache_directory`` the parsed content is kept there and found again by the file's bytes. The key
    ``$schema`` of the whole file is left out: it tells editors which schema to use.

    Raises:
        DataFileError: The file cannot be read or parsed, or exceeds its limits; carries all its problems.
    """
    suffix = path.suffix.lower()
    if suffix not in PARSERS:
        found = f"has the suffix {suffix}" if suffix else "has no suffix"
        raise DataFileError([Problem(path, 0, f"{found}: expected {choice(PARSERS)}")])
    source = read(path, limits)
    with garbage_collection_paused():
        parsed = _parse(source, suffix, limits, cache_directory)
    data = parsed.data
    schema = data.get(SCHEMA_KEY) if isinstance(data, dict) else None
    # With a URL of JSON Schema itself, the file is a schema, and is detected by this key.
    if isinstance(schema, str) and "://json-schema.org/" not in schema:
        data = {key: value for key, value in data.items() if key != SCHEMA_KEY}
    return Document(path, data, source.digest, parsed.lines, limits)


def _parse(source: Source, suffix: str, limits: Limits, cache_directory: Path | None) -> Parsed:
    if cache_directory is None:
        return PARSERS[suffix](source, limits)
    entry = cache.entry_path(cache_directory, source.digest, suffix)
    parsed = cache.fetch(entry)
    if parsed is None or parsed.nodes > limits.max_nodes or parsed.depth > limits.max_depth:
        parsed = PARSERS[suffix](source, limits)
        cache.store(entry, parsed)
    return parsed


def _yaml(source: Source, limits: Limits) -> Parsed:
    from .yaml_data import parse

    return parse(source, limits)


PARSERS: dict[str, Callable[[Source, Limits], Parsed]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _json,
    ".jsonl": _json_lines,
}
"""The known suffixes, in lower case."""
