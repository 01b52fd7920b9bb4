"""Read lists of scenarios: a list in JSON or YAML, or one scenario per line of a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import TypeAdapter

from pytest_mcpeval.kinds.session.records import Disposition
from pytest_mcpeval.kinds.session.schema import IntakeModel
from pytest_mcpeval.loading import DataFileError, Problem, load
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.schema import validate

STRUCTURED = frozenset({".json", ".yaml", ".yml"})

_ROWS = TypeAdapter(list[IntakeModel])


def read_scenarios(path: Path) -> list[IntakeModel]:
    """The scenarios of a file; its extension alone decides how it is read.

    Raises:
        DataFileError: With every problem of the file; also when it holds no scenario.
    """
    structured = path.suffix.lower() in STRUCTURED
    found: list[IntakeModel] = validate(_ROWS, load(path)) if structured else _lines(path)
    if not found:
        raise DataFileError([Problem(path, 1, "has no scenario: expected 1 to 8")])
    return found


def _lines(path: Path) -> list[IntakeModel]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataFileError([Problem(path, 0, f"cannot be read as text: {error}")]) from None
    stripped = (line.strip() for line in text.splitlines())
    return [IntakeModel(description=line) for line in stripped if line and not line.startswith("#")]


def target_problem(target: str, dispositions: Mapping[str, Disposition | None]) -> str:
    """Return the problem of a target of a scenario, or an empty text.

    ``dispositions`` has all attached servers.
    """
    if target not in dispositions:
        known = ", ".join(sorted(dispositions)) or "none"
        return f"{shown(target)} is not attached{suggestion(target, dispositions)} (attached: {known})"
    if dispositions[target] == "skip":
        return (
            f"{shown(target)} is never called, its disposition is `skip`: "
            "give it another disposition, or leave this scenario out"
        )
    return ""


def is_named_by_a_session(path: Path, root: Path) -> bool:
    """Whether a session file has the path as its ``scenarios``.

    Looked at are the data files beside it and in the directories above it, up to ``root``, and every
    ``*.scenarios.*`` below the same directory of ``root``.
    """
    return any(_names(candidate, path) for candidate in dict.fromkeys(_candidates(path, root)))


def _candidates(path: Path, root: Path) -> Iterator[Path]:
    above = [directory for directory in path.parents if directory.is_relative_to(root)] or [path.parent]
    for directory in above:
        yield from (file for file in sorted(directory.glob("*.*")) if file.suffix.lower() in STRUCTURED)
    if len(above) > 1:
        yield from (file for file in sorted(above[-2].rglob("*.scenarios.*")) if file.suffix in STRUCTURED)


def _names(candidate: Path, path: Path) -> bool:
    if candidate == path or not candidate.is_file():
        return False
    try:
        # Few files name the path: the others are not worth parsing.
        if path.name not in candidate.read_text(encoding="utf-8", errors="replace"):
            return False
        data = load(candidate).data
    except (DataFileError, OSError):
        # Problems of a session file are shown where it is collected.
        return False
    named = data.get("scenarios") if isinstance(data, dict) else None
    return isinstance(named, str) and (candidate.parent / named).resolve() == path.resolve()
