"""Globs over relative paths: ``*`` stays within one directory, ``**`` spans any number of them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from glob import iglob
from pathlib import Path

WILDCARDS = frozenset("*?[")


def matches(path: str, pattern: str) -> bool:
    """Whether a relative path with forward slashes is meant by a pattern.

    A pattern that ends without a wildcard, such as ``docs/drafts``, also means everything below it.
    """
    return _match(tuple(path.split("/")), _parts(pattern))


def finds_a_file(directory: Path, pattern: str, suffixes: frozenset[str]) -> bool:
    """Whether a pattern matches a file of one of the suffixes (in lower case) below a directory."""
    parts = _parts(pattern)
    # `**` after the name of a file finds that file in some versions of Python only.
    globs = {"/".join(parts), "/".join(parts[:-1] if parts[-1] == "**" else parts)}
    return any(
        Path(name).suffix.lower() in suffixes and (directory / name).is_file()
        for glob in globs - {""}
        for name in iglob(glob, root_dir=directory, recursive=True, include_hidden=True)
    )


def is_spelled_out(path: str, pattern: str) -> bool:
    """Whether a pattern is a path itself, and picks no file but this one."""
    return path == "/".join(part for part in pattern.split("/") if part not in ("", "."))


def is_below(pattern: str) -> bool:
    """Whether a pattern can only mean paths below the directory it is relative to."""
    return bool(_parts(pattern)) and not pattern.startswith("/") and ".." not in pattern.split("/")


def names_something(pattern: str) -> bool:
    """Whether a pattern has a name in it, such as ``docs/**``; ``**/*.json`` has none."""
    return any(part.partition(".")[0].strip("*?") for part in pattern.split("/"))


@cache
def _parts(pattern: str) -> tuple[str, ...]:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if parts and not WILDCARDS.intersection(parts[-1]):
        parts.append("**")
    return tuple(part for i, part in enumerate(parts) if part != "**" or parts[i - 1 : i] != ["**"])


def _match(path: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_match(path[taken:], pattern[1:]) for taken in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _match(path[1:], pattern[1:])
