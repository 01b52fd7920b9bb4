"""Command line options of evaluations. Imported in every run with the plugin on, so it has few imports."""

from __future__ import annotations

import os
import re
import secrets
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.session.state import State

EVALUATIONS = "mcp-evals"
PREFIX = "mcp-eval-"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class Earlier:
    """An evaluation of an earlier run: its name, the session file it belongs to, and the name of that run."""

    name: str
    scenarios_file: str | None
    run_name: str


@dataclass(frozen=True)
class SessionOptions:
    """The command line. ``name`` is that of the run, ``run_id`` the same in all its processes, the first of
    which is ``pid``.

    ``said`` is the name as it was given, which may be that of one evaluation of an earlier run.
    ``earlier`` are the evaluations that may be meant by ``resume`` and ``restart``: those of the run that the
    name says, or without one all that are unfinished. ``budgets`` are settings that win over those of files.
    """

    name: str = "unnamed"
    resume: bool = False
    restart: bool = False
    run_id: str = ""
    pid: int = 0
    earlier: tuple[Earlier, ...] = ()
    said: str | None = None
    budgets: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> SessionOptions:
        """The options as the first process of the run sent them to another one."""
        return cls(**{**data, "earlier": tuple(Earlier(**found) for found in data["earlier"])})

    def earlier_of(self, file: str) -> Earlier | None:
        """The evaluation of a session file to go on with; None when it has none.

        Raises:
            ValueError: It has several.
        """
        own = [found for found in self.earlier if found.scenarios_file in (file, None)]
        exact = [found for found in own if found.name == self.said]
        if len(exact or own) > 1:
            listed = ", ".join(found.name for found in own)
            raise ValueError(f"name the evaluation of {file} with --mcpeval-name (unfinished are {listed})")
        return next(iter(exact or own), None)

    def run_name(self, files: Collection[str]) -> str:
        """The name of the run, which files without an evaluation of their own join.

        Raises:
            ValueError: The files belong to several runs, or to none.
        """
        if self.said is not None or not self.earlier:
            return self.name
        runs = {found.run_name for found in self.earlier if found.scenarios_file in (*files, None)}
        if len(runs) == 1:
            return runs.pop()
        listed = ", ".join(found.name for found in self.earlier)
        raise ValueError(f"name the evaluation with --mcpeval-name (unfinished are {listed})")


def session_options(
    root: Path,
    name: str | None,
    *,
    resume: bool = False,
    restart: bool = False,
    budgets: Mapping[str, float] = MappingProxyType({}),
) -> SessionOptions:
    """The options of one run; ``root`` is the directory that holds ``mcp-evals/``.

    Raises:
        ValueError: The name cannot be one, the options do not go together, or there is nothing to go on with.
    """
    if resume and restart:
        raise ValueError("--mcpeval-resume and --mcpeval-restart: expected one of them")
    chosen = evaluation_name(name or name_by_time())
    asked = SessionOptions(chosen, resume, restart, uuid.uuid4().hex, os.getpid(), budgets=budgets)
    if not (resume or restart):
        return asked
    open_ones = unfinished(root)
    if name is None:
        if not open_ones:
            raise ValueError(_which("--mcpeval-name", []))
        earlier = [found for found in evaluations(root) if found.name in open_ones]
        return replace(asked, earlier=tuple(earlier))
    known = evaluations(root)
    run = next((found.run_name for found in known if found.name == name), name)
    earlier = [found for found in known if found.name == name or found.run_name == run]
    if resume and not earlier and not (root / EVALUATIONS / f"{PREFIX}{name}").is_dir():
        listed = f"unfinished are {', '.join(open_ones)}" if open_ones else "none is unfinished"
        raise ValueError(f"--mcpeval-resume: there is no evaluation {name!r} in {EVALUATIONS}/ ({listed})")
    return replace(asked, name=run, earlier=tuple(earlier), said=name)


def evaluation_name(text: str) -> str:
    """The text, when it can name an evaluation.

    Raises:
        ValueError: It cannot.
    """
    if not _NAME.fullmatch(text):
        expected = "a letter or digit, then letters, digits, '.', '_' and '-', at most 80 in all"
        raise ValueError(f"name of an evaluation: expected {expected}, found {text!r}")
    return text


def name_by_time() -> str:
    """The default name of an evaluation: local date and time, and a random end."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def only_unfinished(root: Path, option: str) -> str:
    """The name of the one evaluation that is not complete; ``option`` is what could tell which one is meant.

    Raises:
        ValueError: There is none, or several.
    """
    found = unfinished(root)
    if len(found) == 1:
        return found[0]
    raise ValueError(_which(option, found))


def _which(option: str, found: Sequence[str]) -> str:
    listed = f"unfinished are {', '.join(found)}" if found else f"none in {EVALUATIONS}/ is unfinished"
    return f"name the evaluation with {option} ({listed})"


def unfinished(root: Path) -> list[str]:
    """The names of evaluations that are not complete, sorted."""
    return [name for name, state in _states(root) if state.status != "complete"]


def evaluations(root: Path) -> list[Earlier]:
    """All evaluations whose state can be read, sorted by name."""
    return [
        Earlier(name, state.config.scenarios_file, state.run_name or name) for name, state in _states(root)
    ]


def _states(root: Path) -> Iterator[tuple[str, State]]:
    from pytest_mcpeval.kinds.session.state import StateFile
    from pytest_mcpeval.loading import DataFileError

    for path in sorted((root / EVALUATIONS).glob(f"{PREFIX}*/state.json")):
        try:
            yield path.parent.name.removeprefix(PREFIX), StateFile.read(path).state
        except DataFileError:
            continue
