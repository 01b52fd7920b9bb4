"""``score.json`` of cases and agents: written, and read with every mistake named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from pytest_mcpeval.browser.artifacts import CaseFolder, write_private
from pytest_mcpeval.core.sample import CheckStatus, to_json
from pytest_mcpeval.loading.messages import shown


class _Model(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="allow", frozen=True)


class EvidenceModel(_Model):
    """Where an outcome can be seen."""

    artifact_path: str
    detail: str


class ReasonModel(_Model):
    """Why an outcome is inconclusive."""

    kind: str
    message: str
    expected_artifact_path: str


class OutcomeModel(_Model):
    """One assertion."""

    assertion_kind: str
    target: str | None
    outcome: CheckStatus
    expected: Any
    message: str
    observed: Any = None
    evidence: EvidenceModel | None = None
    reason: ReasonModel | None = None
    recovery: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _stands_on_something(self) -> OutcomeModel:
        if self.evidence is None and self.outcome != "inconclusive":
            raise ValueError(f"{self.outcome} without `evidence`: what it stands on is missing")
        return self


def _below(path: str) -> str:
    parts = PurePath(path.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or "\0" in path:
        raise ValueError(f"{shown(path)} leads out of the folder of the score: expected a folder in it")
    return path


class CaseRow(_Model):
    """One case; ``case_dir`` is relative to the folder of the file, and in it.

    ``scored_earlier``: when the run was last scored, others were selected.
    """

    case_id: str
    case_dir: Annotated[str, AfterValidator(_below)]
    outcome: Literal["passed", "failed", "inconclusive", "error"]
    total: int
    passed: int
    failed: int
    inconclusive: int
    outcomes: tuple[OutcomeModel, ...]
    error: str | None = None
    scored_earlier: bool = False


class CaseScoreModel(CaseRow):
    """``score.json`` of a case."""

    version: Literal[1]
    agent_name: str


class AgentScoreModel(_Model):
    """``score.json`` of an agent."""

    version: Literal[1]
    agent_name: str
    run_id: str
    cases: tuple[CaseRow, ...]
    not_scored: tuple[str, ...] = ()
    others_failed: tuple[str, ...] = ()


Score = CaseScoreModel | AgentScoreModel


class ScoreFileError(Exception):
    """A score cannot be read; the text names the file."""


def write_score(path: Path, score: Mapping[str, Any]) -> None:
    """Write a score; the same score gives the same bytes.

    Raises:
        OSError: It cannot be written.
    """
    write_private(path, to_json(score, indent=1) + "\n")


def read_score(path: Path) -> Score:
    """The score in a file, of a case or of an agent.

    Raises:
        ScoreFileError: There is none, or it is malformed.
    """
    data = read_json(path)
    model: TypeAdapter[Any] = TypeAdapter(
        AgentScoreModel if isinstance(data, dict) and "cases" in data else CaseScoreModel
    )
    try:
        found: Score = model.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise ScoreFileError(f"{path}: expected a score.json: {where}: {first['msg']}") from None
    return found


def case_folder(directory: Path, row: CaseRow) -> CaseFolder:
    """The folder of a case in the score that lies in a directory.

    Raises:
        ScoreFileError: A link leads it out of that directory.
    """
    folder = directory / row.case_dir
    if not folder.resolve().is_relative_to(directory.resolve()):
        words = f"{shown(row.case_dir)} leads out of the folder of the score"
        raise ScoreFileError(f"{directory / 'score.json'}: case_dir: {words}")
    return CaseFolder(folder)


def read_json(path: Path) -> Any:
    """The JSON in a file.

    Raises:
        ScoreFileError: There is no such file, or it holds no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScoreFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ScoreFileError(f"{path}: expected JSON: {error}") from None
