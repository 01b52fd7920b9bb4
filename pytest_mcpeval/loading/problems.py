"""What can be wrong in a data file, and the error that carries all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SHOWN_PROBLEMS = 200
"""How many problems the text of an error lists; the error itself carries them all."""


_FROM_NOTHING = re.compile(r"found (null|NaN|-?Infinity)\b|missing|nothing is asserted")


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a data file.

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

    def joined(self, later: DataFileError) -> DataFileError:
        """This error with the problems found later, but for those that tell of the same thing once more.

        What cannot be read is null in the data, on a line that is in doubt already.
        """
        known = {(problem.path, problem.line) for problem in self.problems}
        others = [
            problem
            for problem in later.problems
            if (problem.path, problem.line) not in known or not _FROM_NOTHING.search(problem.message)
        ]
        return DataFileError([*self.problems, *others])

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:SHOWN_PROBLEMS]]
        hidden = len(self.problems) - len(lines)
        return "\n".join([*lines, f"… and {hidden} more problems"] if hidden else lines)
