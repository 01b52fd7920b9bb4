"""What is known of a kind before there is a document of it: how its files look, options, commands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation
    from pytest_mcpeval.core.option import Option
    from pytest_mcpeval.core.suite import Suite
    from pytest_mcpeval.loading import Document

DocumentRole = Literal["suite", "support"]
"""A suite holds cases; a support file (a baseline, a corpus) is read by suites and holds none."""


Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class CommandLine:
    """What the command line says to a kind, in one process of a run.

    ``directory`` is where the command was given; ``value`` returns that of an option by its `Option.dest`.
    ``decided`` is what the first process of the run decided for all (see `KindDeclaration.decided`).
    """

    root: Path
    directory: Path
    value: Callable[[str], Any]
    decided: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportFile:
    """A report of a kind's own: the file, the option that asked for it, and what makes its text."""

    path: Path
    option: str
    text: Callable[[Evaluation], str]


class KindDeclaration(ABC):
    """How documents of a kind are detected, and what it adds to the command line."""

    name: ClassVar[str]
    file_description: ClassVar[str]
    """One line for people: how a document of this kind looks, such as ``a `tests:` list (scenario)``."""
    file_keys: ClassVar[tuple[str, ...]] = ()
    """Keys by which a document is detected: a misspelt key of an unknown document may have meant one."""
    file_names: ClassVar[tuple[str, ...]] = ()
    """Patterns of names: a document of no known shape that has such a name is of this kind."""

    option_table: ClassVar[tuple[Option, ...]] = ()
    """Its options of the command line. A kind of an installed plugin declares them to pytest itself."""

    commands: ClassVar[Mapping[str, str]] = {}
    """Its commands of the console script: name → module with functions ``add_parser`` and ``run``.

    ``run`` gets the parsed arguments. Their ``project`` is a function that opens the project of a directory,
    without pytest, as a context manager with a `RunContext`; its second argument is a root directory, if one
    is given.
    """

    figures: ClassVar[Mapping[str, Better]] = {}
    """The numbers that say how good a suite is, the most telling one first, and which way is better.

    Each is a dotted name in the suite's ``metrics`` of ``report.json``, in which ``*`` stands for any text. A
    mapping in a list goes by its first text, such as ``per_detector.heuristics.fpr``.
    """

    def paired_values(self, case: Mapping[str, Any]) -> Mapping[str, float]:
        """Numbers by which one case of two runs is compared; a higher one is better.

        ``case`` is what ``report.json`` says of a case, or of one of its runs. A name stands for one paired
        test over all cases that have it.
        """
        return {"passed": float(case["outcome"] == "passed")}

    has_selftest: ClassVar[bool] = False
    """Whether ``pytest-mcpeval selftest`` takes its files (see `Kind.selftest`)."""

    def options(self, command_line: CommandLine) -> Any:
        """What the command line says to this kind: frozen data, the same in all processes of a run.

        Raises:
            ValueError: Options do not go together; the text is for people.
        """
        return None

    def decided(self, options: Any) -> Mapping[str, Any]:
        """What of `options` the first process of a run decides for all of them, as JSON data."""
        return {}

    def overrides(self, options: Any) -> Mapping[str, Any]:
        """Settings that the command line says: they win over those of all files."""
        return {}

    def collected_session(  # noqa: B027 - most kinds need nothing
        self, options: Any, suites: Sequence[Suite[Any]], selected: Mapping[str, Sequence[str]]
    ) -> None:
        """Called when all files are collected; ``selected`` maps keys of suites to their selected cases.

        Raises:
            ValueError: The options do not fit what was collected; the text is for people.
        """

    def report_files(self, options: Any) -> Sequence[ReportFile]:
        """Reports of its own that options ask for, written when a session ends."""
        return ()

    @abstractmethod
    def detect(self, data: Any) -> DocumentRole | None:
        """Whether a document has this kind's shape."""

    def is_read_by_another(self, document: Document, root: Path) -> bool:
        """Whether a document of this kind's shape is part of another data file's suite, and none itself."""
        return False
