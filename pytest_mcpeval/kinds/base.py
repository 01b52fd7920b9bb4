"""What every kind of evaluation offers: one object with typed methods, and the suites and cases it loads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from pytest_mcpeval.gates import GateResult
from pytest_mcpeval.samples import Sample

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.loading import Document
    from pytest_mcpeval.runtime import Runtime
    from pytest_mcpeval.servers.definitions import ServerDefinition
    from pytest_mcpeval.tables import Table

SpecT = TypeVar("SpecT")

Shape = Literal["suite", "support"]
"""A suite holds cases; a support file (a baseline, a corpus) is read by suites and holds none."""


@dataclass(frozen=True)
class SkipIfEnv:
    """Skip a case when an environment variable is set (or, with ``when="unset"``, is not)."""

    name: str
    reason: str
    when: Literal["set", "unset"] = "set"


@dataclass(frozen=True)
class CaseMarks:
    """What ``marks:`` of a case or suite says; every reason is a sentence for people."""

    skip: str | None = None
    xfail: str | None = None
    xfail_strict: bool = True
    skipif_env: tuple[SkipIfEnv, ...] = ()


@dataclass(frozen=True)
class Case(Generic[SpecT]):
    """One row of a data file: one pytest item.

    ``keys`` is the path of the row in the document, ``traits`` the groups it belongs to in tables and ``-m``
    expressions. ``make_spec`` makes what its kind needs to run it, when it is first needed: a process that
    collects many cases may run few of them.
    """

    id: str
    line: int
    keys: tuple[str | int, ...]
    make_spec: Callable[[], SpecT]
    traits: Mapping[str, Any] = field(default_factory=dict)
    marks: CaseMarks = CaseMarks()
    fixtures: tuple[str, ...] = ()
    may_run_ahead: bool = False

    @cached_property
    def spec(self) -> SpecT:
        """What its kind needs to run it."""
        return self.make_spec()


@dataclass(frozen=True)
class Suite(Generic[SpecT]):
    """One data file, loaded: its cases, its effective settings and the servers it may talk to.

    ``key`` is the path relative to the root directory with forward slashes.
    """

    key: str
    kind: str
    document: Document
    cases: tuple[Case[SpecT], ...]
    settings: Any
    servers: Mapping[str, ServerDefinition] = field(default_factory=dict)
    concurrency: int = 1

    @property
    def path(self) -> Path:
        """The data file."""
        return self.document.path


@dataclass(frozen=True)
class Place:
    """Where a document was found, and what applies there: the merged settings of its kind, and the servers.

    ``origins`` says where a setting comes from, as ``path:line`` of the ``mcpeval.yaml``. ``overrides`` are
    settings of the command line, which win over those of all files.
    """

    key: str
    settings: Any
    servers: Mapping[str, ServerDefinition]
    origins: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)


class TargetError(Exception):
    """What is evaluated could not be made ready: an error of the run, no verdict. Its text is for people."""


class Kind(ABC, Generic[SpecT]):
    """A family of suites. File → case → sample → metrics → gates → tables, one method for each step."""

    name: ClassVar[str]
    shape_description: ClassVar[str]
    """One line for people: how a document of this kind looks, such as ``a `tests:` list (scenario)``."""
    shape_keys: ClassVar[tuple[str, ...]] = ()
    """Keys a document is recognised by: what a misspelt key of an unknown document may have meant."""
    settings_model: ClassVar[type[BaseModel]]
    """The keys of one entry of this kind's section in ``mcpeval.yaml``, besides ``files``."""

    @abstractmethod
    def recognise(self, data: Any) -> Shape | None:
        """Whether a document has this kind's shape."""

    @abstractmethod
    def load(self, document: Document, place: Place) -> Suite[SpecT]:
        """The suite in a document.

        Raises:
            DataFileError: With every problem of the file.
        """

    def described(self, suite: Suite[SpecT]) -> str:
        """What is in a suite, in a few words, such as ``12 cases (scenario)``."""
        count = len(suite.cases)
        return f"{count} {'case' if count == 1 else 'cases'} ({self.name})"

    @abstractmethod
    def prepare(self, suite: Suite[SpecT], case: Case[SpecT], runtime: Runtime) -> None:
        """Make the target ready, in the item's set-up; what is raised here is an error, not a failure."""

    @abstractmethod
    def ask(self, suite: Suite[SpecT], case: Case[SpecT], runtime: Runtime) -> Any:
        """Get the target's answers to a case. May be called on another thread, ahead of the item."""

    @abstractmethod
    def judge(self, suite: Suite[SpecT], case: Case[SpecT], answers: Any, runtime: Runtime) -> Sample:
        """Evaluate every check of a case on what `ask` returned."""

    def must_ask_again(self, answers: Any) -> bool:
        """Whether answers got ahead of their turn may be a neighbour's harm, such as a crashed server."""
        return False

    @abstractmethod
    def explain(self, suite: Suite[SpecT], case: Case[SpecT], sample: Sample) -> str:
        """The text shown for a case that did not pass: checks, arguments, answer, excerpt of the file."""

    @abstractmethod
    def measure(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Metrics over samples; deterministic, plain JSON data. Times belong in `measure_run`."""

    def measure_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """What differs from run to run (times, verbatim answers), kept apart under ``run`` in reports."""
        return {}

    @abstractmethod
    def gates(self, suite: Suite[SpecT], samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """The gates of a suite, judged on samples of all its cases.

        With ``blessing``, a new baseline is being made: gates that compare with the old one are left out.

        Raises:
            DataFileError: The committed baseline cannot be read or does not fit the suite.
        """

    def gate_names(self, suite: Suite[SpecT]) -> list[str]:
        """The names of the gates a suite has, known without samples."""
        return []

    def baseline(self, suite: Suite[SpecT], samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """Where the suite's baseline is committed, and its new content; None when it has none."""
        return None

    def compare(self, suite: Suite[SpecT], samples: Sequence[Sample]) -> dict[str, Any]:
        """What changed against the suite's baseline, as plain data; empty without one to compare with.

        Only called with samples of all its cases.

        Raises:
            DataFileError: The committed baseline cannot be read or does not fit the suite.
        """
        return {}

    def session_header(self, suites: Sequence[Suite[SpecT]]) -> str:
        """A line on how the selected suites of this kind will be run; empty for none."""
        return ""

    def conclude(self, suite: Suite[SpecT], samples: Sequence[Sample]) -> list[str]:
        """Write what belongs to the run of a suite as a whole; sentences on what was written.

        Called once, when the session ends, with the samples of the cases that ran.

        Raises:
            OSError: It cannot be written.
        """
        return []

    @abstractmethod
    def tables(self, samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
        """The tables of this kind over all suites of the session (suite key → samples)."""

    def comparison_tables(self, compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
        """The tables on what changed since the baselines (suite key → what `compare` found)."""
        return []
