"""The part of a run that kinds may use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from pytest_mcpeval.core.declaration import KindDeclaration
    from pytest_mcpeval.core.suite import Suite
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.definitions import ServerDefinition


class Target(Protocol):
    """A target of evaluation that stays open from case to case."""

    def close(self) -> None:
        """End it."""


TargetT = TypeVar("TargetT", bound=Target)


class RunContext(Protocol):
    """One process of a run. Connections and targets open on first use, and are closed when it ends.

    ``fixtures`` are the fixture values of the case in hand, by name. ``selected`` maps the key of a suite to
    the cases that were selected to run, once that is known; with ``has_whole_files``, those of one suite all
    run in this process.
    """

    fixtures: Mapping[str, Any]
    selected: Mapping[str, Sequence[str]]
    has_whole_files: bool

    @property
    def rootdir(self) -> Path:
        """The root directory of the session."""

    @property
    def kinds(self) -> Mapping[str, KindDeclaration]:
        """All kinds by name."""

    @property
    def suites(self) -> Sequence[Suite[Any]]:
        """The suites loaded so far."""

    def key(self, path: Path) -> str:
        """A path relative to the root directory, with forward slashes."""

    def options(self, kind: str) -> Any:
        """What the command line says to a kind."""

    def suite(self, path: Path) -> Suite[Any] | None:
        """The suite in a data file; None for a support file.

        Raises:
            DataFileError: With every problem of the file.
        """

    def servers_at(self, path: Path) -> Mapping[str, ServerDefinition]:
        """The servers that a file may talk to, by name.

        Raises:
            DataFileError: A ``mcpeval.yaml`` or ``.mcp.json`` that applies has problems.
        """

    def described(self, error: DataFileError) -> str:
        """The text of an error for people: paths as in node ids, control characters spelled out."""

    def has_answers(self, suite: Suite[Any]) -> bool:
        """Whether the cases of a suite, repeated as a whole, were all asked already."""

    def connection(self, definition: ServerDefinition, *, fresh: bool = False) -> Connection:
        """A connection to a server: the warm one of this process, or a private one.

        Raises:
            ServerStartError: The server cannot be started or reached.
            ServerConfigError: An environment variable its definition names is not set.
        """

    def target(self, key: Hashable, make: Callable[[], TargetT]) -> TargetT:
        """What a kind keeps open under a key, made on first use; a kind's keys are its own."""
