"""Recorded verdicts: a file with the verdicts of detectors on the entries of a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from pytest_mcpeval.core.fields import Text
from pytest_mcpeval.core.gate import names
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.loading.messages import choice, shown, suggestion
from pytest_mcpeval.loading.schema import validate

_READ_ONLY = ConfigDict(defer_build=True, extra="allow", frozen=True)


class _Named(BaseModel):
    model_config = _READ_ONLY

    id: Text | None = None
    name: Text | None = None


class _Verdict(BaseModel):
    model_config = _READ_ONLY

    detector: Text | None = None
    flagged: StrictBool
    max_severity: str | None = None
    detections: list[Any] | None = None


class _Entry(BaseModel):
    model_config = _READ_ONLY

    id: Text
    verdicts: list[_Verdict]


class RecordedModel(BaseModel):
    """A file of recorded verdicts; other keys are ignored."""

    model_config = _READ_ONLY

    detectors: Annotated[list[Text | _Named], Field(min_length=1)]
    entries: Annotated[list[_Entry], Field(min_length=1)]

    @property
    def names(self) -> list[str]:
        """The names of its detectors."""
        return [one if isinstance(one, str) else one.id or one.name or "" for one in self.detectors]


def read_recorded(path: Path, detector: str, corpus: str, wanted: Sequence[str]) -> dict[str, Any]:
    """Return entry id → recorded verdict of a detector; ``corpus`` is its file, for messages.

    Raises:
        DataFileError: The file has no verdicts of the detector, or not exactly one for every wanted entry.
    """
    if not path.is_file():
        raise DataFileError([Problem(path, 0, "there is no such file of recorded verdicts")])
    document = load(path)
    model: RecordedModel = validate(RecordedModel, document)
    if detector not in model.names:
        message = f"detectors: there are no verdicts of {shown(detector)}{suggestion(detector, model.names)}"
        known = f"{message}: expected {choice(model.names)}; say which one is meant with `recorded_as`"
        raise DataFileError([document.problem("detectors", message=known)])
    problems = [*_problems(document, model, detector, corpus, wanted)]
    if problems:
        raise DataFileError(problems)
    return {
        entry.id: verdict.model_dump()
        for entry in model.entries
        for verdict in entry.verdicts
        if _is_by(verdict, detector, model)
    }


def _is_by(verdict: _Verdict, detector: str, model: RecordedModel) -> bool:
    """Return whether a verdict is by this detector; without a name, it is by the only one."""
    return verdict.detector == detector or (verdict.detector is None and len(model.names) == 1)


def _problems(
    document: Document, model: RecordedModel, detector: str, corpus: str, wanted: Sequence[str]
) -> Iterator[Problem]:
    known = set(wanted)
    seen: dict[str, int] = {}
    for index, entry in enumerate(model.entries):
        first = seen.setdefault(entry.id, index)
        if first != index:
            line = document.line("entries", first)
            message = f"duplicate id {shown(entry.id)}: first used on line {line}"
            yield document.problem("entries", index, message=message)
        elif entry.id not in known:
            message = f"{shown(entry.id)} is not an entry of {corpus}{suggestion(entry.id, known)}: remove it"
            yield document.problem("entries", index, message=message)
        count = sum(_is_by(verdict, detector, model) for verdict in entry.verdicts)
        if count != 1:
            found = f"{count} verdicts" if count else "no verdict"
            message = f"{shown(entry.id)} has {found} of {shown(detector)}, expected one"
            yield document.problem("entries", index, "verdicts", message=message)
    missing = [name for name in wanted if name not in seen]
    if missing:
        message = f"no verdict for {len(missing)} of {len(wanted)} entries of {corpus}: {names(missing)}"
        yield document.problem("entries", message=message)
