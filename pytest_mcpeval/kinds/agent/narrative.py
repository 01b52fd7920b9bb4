"""``narrative.json``: why a case ended as it did, written by somebody or made from its score alone.

Every observation cites captured files; a citation that cannot be found there is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent.evidence import span_ids
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome
from pytest_mcpeval.kinds.agent.scoring import STATUSES, CaseRow, read_json
from pytest_mcpeval.loading.messages import counted, shown
from pytest_mcpeval.loading.schema import sentences


class NarrativeError(Exception):
    """A narrative without support in the captured files; ``problems`` are sentences for users."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


NotBlank = Annotated[str, AfterValidator(_not_blank)]


class _Model(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, strict=True)


class Citation(_Model):
    """A captured file, relative to the folder of the case, and if given a span that must be in it."""

    artifact_path: NotBlank
    detail: str | None = None
    span_id: NotBlank | None = None

    @model_validator(mode="before")
    @classmethod
    def _may_be_a_path_alone(cls, value: Any) -> Any:
        return {"artifact_path": value} if isinstance(value, str) else value


class Observation(_Model):
    """One thing that was seen, with the files that show it."""

    text: NotBlank
    citations: Annotated[list[Citation], Field(min_length=1)]


class Narrative(_Model):
    """A whole ``narrative.json``."""

    case_id: str
    summary: NotBlank
    observations: Annotated[list[Observation], Field(min_length=1)]


def read_narrative(path: Path, case_id: str, folder: CaseFolder) -> Narrative:
    """A narrative of a case, all its citations found.

    Raises:
        ScoreFileError: The file cannot be read.
        NarrativeError: It is malformed, of another case, or cites what was not captured.
    """
    data = read_json(path)
    try:
        narrative = Narrative.model_validate(data)
    except ValidationError as error:
        raise NarrativeError([text for _, text in sentences(error, Narrative, data)]) from None
    problems = list(grounding_problems(narrative, case_id, folder))
    if problems:
        raise NarrativeError(problems)
    return narrative


def grounding_problems(narrative: Narrative, case_id: str, folder: CaseFolder) -> Iterator[str]:
    """Yield statements of a narrative that the captured files of a case do not support."""
    if narrative.case_id != case_id:
        yield f"case_id: the narrative is of {shown(narrative.case_id)}, and the score of {shown(case_id)}"
    for number, observation in enumerate(narrative.observations):
        for index, citation in enumerate(observation.citations):
            problem = citation_problem(citation.artifact_path, folder, citation.span_id)
            if problem:
                yield f"observations[{number}].citations[{index}]: {problem}"


def citation_problem(artifact_path: str, folder: CaseFolder, span_id: str | None = None) -> str | None:
    """Return why a citation is invalid, or None: it must name a captured file, and a span in it."""
    try:
        path = (folder.path / artifact_path).resolve()
        inside = path.is_relative_to(folder.path.resolve())
        captured = path.is_relative_to(folder.trace.resolve())
        found = inside and path.is_file()
    except (OSError, ValueError):
        inside, captured, found = True, True, False
    if not inside:
        return f"{shown(artifact_path)} leads out of the folder of the case"
    if not found:
        return f"there is no file {shown(artifact_path)} in {folder.path}"
    if not captured:
        return f"{shown(artifact_path)} was not captured: cite a file below trace/"
    if span_id is not None and span_id not in span_ids(path):
        return f"{shown(artifact_path)} has no span {shown(span_id)}"
    return None


def narrative_of(row: CaseRow, folder: CaseFolder) -> Narrative | None:
    """Return a narrative made from the score: the failures, or else what passed.

    None if nothing was captured that it could cite.
    """
    wanted = [outcome for outcome in row.outcomes if outcome.status != "passed"] or row.outcomes
    observations = [found for outcome in wanted if (found := _observed(outcome, folder)) is not None]
    if row.error is not None and (path := _something(folder)) is not None:
        observations.insert(0, Observation(text=row.error, citations=[Citation(artifact_path=path)]))
    if not observations:
        return None
    return Narrative(case_id=row.case_id, summary=_summary(row), observations=observations)


def _summary(row: CaseRow) -> str:
    if row.error is not None and not row.outcomes:
        return "The case could not be captured, so nothing is known of the agent's answer."
    passed, failed, inconclusive = (row.count(status) for status in STATUSES)
    parts = [f"{passed} of {counted(len(row.outcomes), 'assertion')} hold"]
    parts += [f"{failed} {'does' if failed == 1 else 'do'} not"] if failed else []
    parts += [f"{inconclusive} could not be decided because evidence is missing"] if inconclusive else []
    words = {
        "passed": "passed",
        "failed": "failed",
        "inconclusive": "is inconclusive",
        "error": "is in error",
    }
    return f"The case {words[row.outcome]}: {', '.join(parts)}."


def _observed(outcome: AssertionOutcome, folder: CaseFolder) -> Observation | None:
    evidence = outcome.evidence
    path = _something(folder) if evidence is None else evidence.artifact_path
    if path is None:
        return None
    subject = f"{outcome.assertion_kind}{f' {outcome.target}' if outcome.target else ''}"
    text = f"{subject} {outcome.status}: {outcome.message}"
    detail = None if evidence is None else evidence.detail
    return Observation(text=text, citations=[Citation(artifact_path=path, detail=detail)])


def _something(folder: CaseFolder) -> str | None:
    """Return a captured file that shows the state of a case without better evidence."""
    pages = folder.captured_dom("after_submit"), folder.failure_screenshot, folder.captured_dom("landing")
    for path in (*pages, folder.capture):
        if path.is_file():
            return folder.relative(path)
    return None
