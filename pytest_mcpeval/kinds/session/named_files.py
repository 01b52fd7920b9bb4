"""Lists of scenarios that session files name: they are read by those sessions, and are none on their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_mcpeval.kinds.session.intake import STRUCTURED
from pytest_mcpeval.loading import DataFileError, load


def is_named_by_a_session(path: Path, root: Path) -> bool:
    """Whether a session file has the path as its ``scenarios``.

    Looked at are the data files beside it and in the directories above it, up to ``root``, and every
    ``*.scenarios.*`` below the same directory of ``root``.
    """
    return any(_names(candidate, path) for candidate in dict.fromkeys(_candidates(path, root)))


def _candidates(path: Path, root: Path) -> Iterator[Path]:
    above = [directory for directory in path.parents if directory.is_relative_to(root)] or [path.parent]
    for directory in above:
        yield from (file for file in sorted(directory.glob("*.*")) if file.suffix.lower() in STRUCTURED)
    if len(above) > 1:
        yield from (file for file in sorted(above[-2].rglob("*.scenarios.*")) if file.suffix in STRUCTURED)


def _names(candidate: Path, path: Path) -> bool:
    if candidate == path or not candidate.is_file():
        return False
    try:
        # Few files name the path: the others are not worth parsing.
        if path.name not in candidate.read_text(encoding="utf-8", errors="replace"):
            return False
        data = load(candidate).data
    except (DataFileError, OSError):
        # What is wrong with a session file is told where it is collected.
        return False
    named = data.get("scenarios") if isinstance(data, dict) else None
    return isinstance(named, str) and (candidate.parent / named).resolve() == path.resolve()
