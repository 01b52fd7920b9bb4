"""The part of a kind that is needed before there is a file of it: file detection, options, commands."""

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
"""A suite has cases; a support file (a baseline, a corpus) is read by suites and has none."""


Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class CommandLine:
    """The command line options for a kind, in one process of a run.

    ``directory`` is where the command was given; ``value`` returns that of an option by its `Option.dest`.
    ``decided`` is what the first process of the run decided for all (see `KindDeclaration.decided`).
    """

    root: Path
    directory: Path
    value: Callable[[str], Any]
    decided: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportFile:
    """A report of a kind: its file, the option that asked for it, and the function that makes its text."""

    path: Path
    option: str
    text: Callable[[Evaluation], str]


class KindDeclaration(ABC):
    """How documents of a kind are detected, and what it adds to the command line."""

    name: ClassVar[str]
    file_description: ClassVar[str]
    """A description of its files for messages, such as ``a `tests:` list (scenario)``."""
    file_keys: ClassVar[tuple[str, ...]] = ()
    """Keys by which a document is detected; they are suggested for misspelt keys of unknown documents."""
    file_names: ClassVar[tuple[str, ...]] = ()
    """Patterns of file names: a document that no kind detects belongs to this kind if its name matches."""

    option_table: ClassVar[tuple[Option, ...]] = ()
    """Its command line options. A kind from an installed plugin declares its options to pytest itself."""

    commands: ClassVar[Mapping[str, str]] = {}
    """Its commands of the console script: name → module with functions ``add_parser`` and ``run``.

    ``run`` gets the parsed arguments. Their ``project`` is a function that opens the project of a directory,
    without pytest, as a context manager with a `RunContext`; its second argument is a root directory, if one
    is given.
    """

    figures: ClassVar[Mapping[str, Better]] = {}
    """The numbers that say how good a suite is, the most important first, and which direction is better.

    Each is a dotted name in the suite's ``metrics`` of ``report.json``, in which ``*`` stands for any text. A
    mapping in a list goes by its first text, such as ``per_detector.heuristics.fpr``.
    """

    def paired_values(self, case: Mapping[str, Any]) -> Mapping[str, float]:
        """Return numbers to compare a case between two runs; higher is better.  ``case`` is a case in
        ``report.json``, or one of its runs. Each name is one paired test over all cases that have it.
        """
        return {"passed": float(case["outcome"] == "passed")}

    has_selftest: ClassVar[bool] = False
    """Whether ``pytest-mcpeval selftest`` takes its files (see `Kind.selftest`)."""

    def options(self, command_line: CommandLine) -> Any:
        """Return the options of this kind as frozen data, equal in all processes of a run.

        Raises:
            ValueError: Options exclude each other; the text is shown to users.
        """
        return None

    def decided(self, options: Any) -> Mapping[str, Any]:
        """Return the part of `options` that the first process of a run decides for all, as JSON data."""
        return {}

    def overrides(self, options: Any) -> Mapping[str, Any]:
        """Return settings from the command line, which override those of all files."""
        return {}

    def collected_session(  # noqa: B027 - most kinds need nothing
        self, options: Any, suites: Sequence[Suite[Any]], selected: Mapping[str, Sequence[str]]
    ) -> None:
        """Called when all files are collected; ``selected`` maps keys of suites to their selected cases.

        Raises:
            ValueError: The options do not fit what was collected; the text is shown to users.
        """

    def report_files(self, options: Any) -> Sequence[ReportFile]:
        """Return the reports of this kind that options ask for; they are written when a session ends."""
        return ()

    @abstractmethod
    def detect(self, data: Any) -> DocumentRole | None:
        """Return ``suite`` or ``support`` if a document belongs to this kind, else None."""

    def is_read_by_another(self, document: Document, root: Path) -> bool:
        """Return whether a document of this kind belongs to another file's suite, so it is not a suite."""
        return False
