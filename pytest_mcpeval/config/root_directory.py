"""Where a project begins, as pytest finds it: the nearest directory with a configuration of pytest."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

CONFIGURATION = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
"""The files pytest looks for, with the words that make a shared one its own; "" for its very own files."""

LAST_RESORTS = ("pyproject.toml", "setup.py")
"""Files at the top of a project that has no configuration of pytest."""


def configures_pytest(directory: Path) -> bool:
    """Whether pytest would find its configuration in a directory."""
    return any(
        path.is_file() and (not words or words in path.read_text(encoding="utf-8", errors="replace"))
        for path, words in ((directory / name, words) for name, words in CONFIGURATION.items())
    )


def values_that_move(
    arguments: Sequence[str], options: Iterable[str], start: Path, paths: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Options with values that stand apart from them, and that pytest took for paths of tests.

    Only those without which the project would begin elsewhere. ``start`` is the working directory, ``paths``
    are the paths that were meant. pytest looks for the project before it knows the options of plugins.
    """
    meant = _directories(start, paths)
    for option, value in pairwise(arguments):
        if option in options and not value.startswith("-"):
            taken = _directories(start, [value])
            if taken and _beginning(start, [*meant, *taken]) != _beginning(start, meant):
                yield option, value


def _directories(start: Path, paths: Iterable[str]) -> list[Path]:
    found = [Path(os.path.abspath(start / path.partition("::")[0])) for path in paths]
    return [path if path.is_dir() else path.parent for path in found if _exists(path)]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _beginning(start: Path, directories: list[Path]) -> Path:
    """The root directory, by pytest's rules."""
    common = Path(os.path.commonpath(directories)) if directories else start
    for place in (common, *directories):
        upwards = (place, *place.parents)
        for directory in upwards:
            if configures_pytest(directory):
                return directory
        for name in LAST_RESORTS:
            for directory in upwards:
                if (directory / name).is_file():
                    return directory
    return Path(os.path.commonpath([start, common]))
