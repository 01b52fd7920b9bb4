"""Problems of a data file, and the error that carries them all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

SHOWN_PROBLEMS = 200
"""Maximum problems that the text of an error lists; the error itself carries them all."""


MANY = 5
"""This many equal problems of a file, or more, are combined into one line."""

SHOWN_PLACES = 5

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Problem:
    """One problem in a data file.

    ``path`` is the file as it was given, ``line`` counts from 1 (0 stands for the whole file), ``message``
    says what is wrong, what was expected and how to fix it.
    """

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class DataFileError(Exception):
    """A data file cannot be used. ``problems`` holds every problem found in it, sorted by line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__(self.problems)

    def relative_to(self, root: Path) -> DataFileError:
        """Return this error with paths relative to a directory, with forward slashes."""
        return DataFileError(
            replace(problem, path=Path(Path(os.path.relpath(problem.path, root)).as_posix()))
            for problem in self.problems
        )

    def __str__(self) -> str:
        return "\n".join(lines_of(self.problems))


def lines_of(problems: Sequence[Problem]) -> list[str]:
    """Return the lines about problems.

    Many problems that differ only in their line are combined, with a count.
    """
    keys = [(problem.path, _INDEX.sub("[]", problem.message)) for problem in problems]
    groups: dict[tuple[Path, str], list[Problem]] = {}
    for key, problem in zip(keys, problems, strict=True):
        groups.setdefault(key, []).append(problem)
    lines: list[str] = []
    told = 0
    for key, problem in zip(keys, problems, strict=True):
        group = groups[key]
        if len(lines) == SHOWN_PROBLEMS:
            break
        if len(group) < MANY:
            lines.append(str(problem))
            told += 1
        elif problem is group[0]:
            others = dict.fromkeys(str(other.line) for other in group if other.line != problem.line)
            places = ", ".join([*list(others)[:SHOWN_PLACES], *(["…"] if len(others) > SHOWN_PLACES else [])])
            also = f"; also on {'line' if len(others) == 1 else 'lines'} {places}" if others else ""
            lines.append(f"{problem} ({len(group)} times{also})")
            told += len(group)
    return [*lines, f"… and {len(problems) - told} more problems"] if told < len(problems) else lines
