"""What the command line says about evaluations. Imported in every run with the plugin on, so it is light."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

EVALUATIONS = "mcp-evals"
PREFIX = "mcp-eval-"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class SessionOptions:
    """The command line. ``name`` is that of the evaluation, ``run_id`` the same in all processes of a run."""

    name: str = "unnamed"
    resume: bool = False
    restart: bool = False
    run_id: str = ""


def session_options(root: Path, name: str | None, *, resume: bool, restart: bool) -> SessionOptions:
    """The options of one run; ``root`` is the directory that holds ``mcp-evals/``.

    Raises:
        ValueError: The name cannot be one, the options do not go together, or it is not clear which
            evaluation to go on with.
    """
    if resume and restart:
        raise ValueError("--mcpeval-resume and --mcpeval-restart: expected one of them")
    if (resume or restart) and name is None:
        name = only_unfinished(root, "--mcpeval-name")
    return SessionOptions(evaluation_name(name or name_by_time()), resume, restart, uuid.uuid4().hex)


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
    """The name of an evaluation that nobody named: local date and time."""
    return datetime.now().strftime("%Y%m%d-%H%M%S")


def only_unfinished(root: Path, option: str) -> str:
    """The name of the one evaluation that is not complete; ``option`` is what could tell which one is meant.

    Raises:
        ValueError: There is none, or several.
    """
    found = unfinished(root)
    if len(found) == 1:
        return found[0]
    listed = f"unfinished are {', '.join(found)}" if found else f"none in {EVALUATIONS}/ is unfinished"
    raise ValueError(f"say which evaluation with {option} ({listed})")


def unfinished(root: Path) -> list[str]:
    """The names of evaluations that are not complete, sorted."""
    from pytest_mcpeval.kinds.session.state import StateFile
    from pytest_mcpeval.loading import DataFileError

    found = []
    for path in sorted((root / EVALUATIONS).glob(f"{PREFIX}*/state.json")):
        try:
            state = StateFile.read(path).state
        except DataFileError:
            continue
        if state.status != "complete":
            found.append(path.parent.name.removeprefix(PREFIX))
    return found
