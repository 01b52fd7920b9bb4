"""Captured evidence → the outcomes of a case → the roll-up over an agent; and ``score.json`` of both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter, ValidationError

from pytest_mcpeval.browser.artifacts import CaseFolder, write_private
from pytest_mcpeval.core.sample import CheckStatus, to_json
from pytest_mcpeval.kinds.agent.assertions import ASSERTIONS
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome
from pytest_mcpeval.kinds.agent.recovery import recovery
from pytest_mcpeval.kinds.agent.schema import AgentCase, Observability
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.loading.schema import sentences

SCORE_VERSION: Literal[1] = 1
STATUSES: tuple[CheckStatus, ...] = ("passed", "failed", "inconclusive")

CaseOutcome = Literal["passed", "failed", "inconclusive", "error"]


class _Model(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="allow", frozen=True)


def _below(path: str) -> str:
    parts = PurePath(path.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or "\0" in path:
        raise ValueError(f"{shown(path)} leads out of the folder of the score: expected a folder in it")
    return path


class CaseRow(_Model):
    """The outcomes of one case, in the order of the kinds of assertion.

    ``case_dir`` is relative to the folder of the file, and in it. ``error`` says why the case could not be
    captured, or its trace backend not be asked. ``scored_earlier``: when the run was last scored, others were
    selected.
    """

    case_id: str
    case_dir: Annotated[str, AfterValidator(_below)] = "."
    outcomes: tuple[AssertionOutcome, ...]
    error: str | None = None
    scored_earlier: bool = False

    @property
    def outcome(self) -> CaseOutcome:
        """Failed when any assertion failed, passed when all passed, inconclusive otherwise."""
        if self.error is not None:
            return "error"
        if self.count("failed"):
            return "failed"
        return "inconclusive" if self.count("inconclusive") else "passed"

    def count(self, status: CheckStatus) -> int:
        """How many assertions ended so."""
        return sum(outcome.status == status for outcome in self.outcomes)


class CaseScore(CaseRow):
    """``score.json`` of a case."""

    version: Literal[1] = SCORE_VERSION
    agent_name: str

    def as_data(self) -> dict[str, Any]:
        """Return the content of the file. Paths are relative to its folder."""
        listed = [outcome.as_data() for outcome in self.outcomes]
        return {
            "version": self.version,
            "agent_name": self.agent_name,
            "case_id": self.case_id,
            "case_dir": self.case_dir,
            "outcome": self.outcome,
            **totals_of(listed),
            "outcomes": listed,
            **({} if self.error is None else {"error": self.error}),
        }


class AgentScore(_Model):
    """``score.json`` of an agent."""

    version: Literal[1]
    agent_name: str
    run_id: str
    cases: tuple[CaseRow, ...]
    not_scored: tuple[str, ...] = ()
    others_failed: tuple[str, ...] = ()


Score = CaseScore | AgentScore


def score_case(agent: str, case: AgentCase, captured: Captured, observability: Observability) -> CaseScore:
    """Evaluate every assertion of a case on what was captured."""
    outcomes = [outcome for evaluate in ASSERTIONS.values() for outcome in evaluate(case, captured)]
    explained = [
        one if one.reason is None else replace(one, recovery=recovery(one.reason, observability))
        for one in outcomes
    ]
    return CaseScore(agent_name=agent, case_id=case.id, outcomes=tuple(explained))


def totals_of(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many outcomes there are, and of each status."""
    statuses = [outcome["outcome"] for outcome in outcomes]
    return {"total": len(statuses), **{status: statuses.count(status) for status in STATUSES}}


def agent_score(
    agent: str,
    run_id: str,
    cases: Sequence[Mapping[str, Any]],
    *,
    not_scored: Sequence[str] = (),
    others_failed: Sequence[str] = (),
) -> dict[str, Any]:
    """The content of ``score.json`` of an agent, from those of its cases. Paths are relative to it.

    ``not_scored`` are its other cases, which did not run or were only captured: no total counts them.
    ``others_failed`` is what failed in the session besides cases.
    """
    head = ("version", "agent_name", "case_id", "case_dir")
    rows = [
        {
            "case_id": case["case_id"],
            "case_dir": case["case_id"],
            **{key: value for key, value in case.items() if key not in head},
        }
        for case in cases
    ]
    outcomes = [outcome for row in rows for outcome in row["outcomes"]]
    by_case = [row["outcome"] for row in rows]
    return {
        "version": SCORE_VERSION,
        "agent_name": agent,
        "run_id": run_id,
        "cases_total": len(rows),
        **{f"cases_{status}": by_case.count(status) for status in (*STATUSES, "error")},
        **totals_of(outcomes),
        "by_assertion_kind": by_assertion_kind(outcomes),
        "by_target": by_target(outcomes),
        "cases": rows,
        "not_scored": [*not_scored],
        **({"others_failed": [*others_failed]} if others_failed else {}),
    }


def by_assertion_kind(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Totals for every kind of assertion that occurs, in the order of the kinds."""
    groups = {kind: [one for one in outcomes if one["assertion_kind"] == kind] for kind in ASSERTIONS}
    return {kind: totals_of(group) for kind, group in groups.items() if group}


def by_target(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Totals for every tool and agent that an assertion is about, by name."""
    targets = sorted({one["target"] for one in outcomes if one["target"] is not None})
    return {target: totals_of([one for one in outcomes if one["target"] == target]) for target in targets}


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
        AgentScore if isinstance(data, dict) and "cases" in data else CaseScore
    )
    try:
        found: Score = model.validate_python(data)
    except ValidationError as error:
        _, first = sentences(error, model, data)[0]
        raise ScoreFileError(f"{path}: expected a score.json: {first}") from None
    return found


def case_folder(directory: Path, row: CaseRow) -> CaseFolder:
    """Return the folder of a case in the score of a directory.

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
