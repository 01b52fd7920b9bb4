"""Globs over relative paths: ``*`` stays within one directory, ``**`` spans any number of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import takewhile
from pathlib import Path

WILDCARDS = frozenset("*?[")


def matches(path: str, pattern: str) -> bool:
    """Whether a relative path with forward slashes is meant by a pattern.

    A pattern that ends without a wildcard, such as ``docs/drafts``, also means everything below it.
    """
    return _match(tuple(path.split("/")), _parts(pattern))


def files_of(directory: Path, pattern: str, suffixes: Collection[str]) -> Iterator[Path]:
    """The files below a directory that a pattern matches and that have one of the suffixes (in lower case).

    Links that lead nowhere are among them. Only a pattern that begins with a name reaches into what
    `is_foreign` holds for somebody else's.
    """
    fixed = list(takewhile(lambda part: not WILDCARDS.intersection(part), _parts(pattern)))
    start = directory.joinpath(*fixed)
    if os.path.isdir(start):
        found = files_below(start, lambda path: bool(fixed) or not is_foreign(path))
    else:
        found = iter([start] if os.path.lexists(start) else [])
    for path in found:
        if path.suffix.lower() in suffixes and matches(path.relative_to(directory).as_posix(), pattern):
            yield path


def files_below(
    directory: Path,
    enters: Callable[[Path], bool],
    names: Container[str] | None = None,
    above: frozenset[str] = frozenset(),
) -> Iterator[Path]:
    """The files below a directory, in order, of the directories that ``enters`` wants; no loop of links.

    With ``names``, only files that are called so.
    """
    real = os.path.realpath(directory)
    if real in above:
        return
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not (os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()):
            if names is None or entry.name in names:
                yield directory / entry.name
        elif enters(path := directory / entry.name):
            yield from files_below(path, enters, names, above | {real})


def is_foreign(directory: Path) -> bool:
    """Whether a directory is hidden, a virtual environment, or holds what a tool put there."""
    name = directory.name
    return name.startswith(".") or name in ("node_modules", "__pycache__") or is_environment(directory)


def is_environment(directory: Path) -> bool:
    """Whether a directory is a virtual environment, by pytest's rule."""
    return (directory / "pyvenv.cfg").is_file() or (directory / "conda-meta" / "history").is_file()


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
