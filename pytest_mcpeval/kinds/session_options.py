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
    if name is not None and not _NAME.fullmatch(name):
        raise ValueError(
            f"--mcpeval-name: expected letters, digits, '.', '_' and '-', at most 80 of them, found {name!r}"
        )
    if (resume or restart) and name is None:
        name = _only_unfinished(root, "--mcpeval-resume" if resume else "--mcpeval-restart")
    return SessionOptions(name or _by_time(datetime.now()), resume, restart, uuid.uuid4().hex)


def _by_time(moment: datetime) -> str:
    return moment.strftime("%Y%m%d-%H%M%S")


def _only_unfinished(root: Path, option: str) -> str:
    found = unfinished(root)
    if len(found) == 1:
        return found[0]
    listed = f"unfinished are {', '.join(found)}" if found else f"none in {EVALUATIONS}/ is unfinished"
    raise ValueError(f"{option}: say which evaluation with --mcpeval-name ({listed})")


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
