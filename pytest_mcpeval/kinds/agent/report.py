"""A score → Markdown for people: totals, and each case with its screenshot, narrative and assertions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder
from pytest_mcpeval.kinds.agent.captures import Capture, read_capture
from pytest_mcpeval.kinds.agent.narrative import (
    Narrative,
    NarrativeError,
    citation_problem,
    narrative_of,
    read_narrative,
)
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome
from pytest_mcpeval.kinds.agent.scoring import (
    STATUSES,
    AgentScore,
    CaseRow,
    CaseScore,
    Score,
    by_assertion_kind,
    by_target,
    case_folder,
)
from pytest_mcpeval.text.visible import clipped, escaped_markdown

SHOWN_VALUE = 800
WORDS = {"passed": "✓ passed", "failed": "✗ failed", "inconclusive": "? inconclusive", "error": "! error"}


class ReportError(Exception):
    """A score cites a missing file, or a narrative is unsupported; one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(frozen=True)
class ReportedCase:
    """A case in the report: its score, its folder, and the narrative, given or made from the score."""

    row: CaseRow
    folder: CaseFolder
    narrative: Narrative | None
    is_given: bool


def render(score: Score, directory: Path, narratives: Mapping[str, Path]) -> str:
    """Return the report on the score in a directory, with all citations checked.

    ``narratives`` maps case id to a file; for other cases the narrative beside their score is taken, or one
    made from the score.

    Raises:
        ReportError: A citation of the score or of a narrative does not hold.
        ScoreFileError: A narrative cannot be read, or the folder of a case is outside.
    """
    rows = score.cases if isinstance(score, AgentScore) else (score,)
    problems = [problem for row in rows for problem in _unresolved(row, case_folder(directory, row))]
    reported: list[ReportedCase] = []
    for row in rows:
        folder = case_folder(directory, row)
        try:
            given = _given(row, folder, directory, narratives)
            made = narrative_of(row, folder) if given is None else given
            reported.append(ReportedCase(row, folder, made, is_given=given is not None))
        except NarrativeError as error:
            problems += [f"narrative of {row.case_id}: {problem}" for problem in error.problems]
    if problems:
        raise ReportError(problems)
    return "\n".join(_lines(score, directory, reported)) + "\n"


def _unresolved(row: CaseRow, folder: CaseFolder) -> Iterator[str]:
    for outcome in row.outcomes:
        if outcome.evidence is not None:
            problem = citation_problem(outcome.evidence.artifact_path, folder)
            if problem:
                yield f"score of {row.case_id}: {outcome.assertion_kind}: {problem}"


def _given(
    row: CaseRow, folder: CaseFolder, directory: Path, narratives: Mapping[str, Path]
) -> Narrative | None:
    given = narratives.get(row.case_id)
    candidates = [given] if given else [folder.narrative, RunFolder(directory).narrative(row.case_id)]
    for path in candidates:
        if path is not None and (path.is_file() or given):
            return read_narrative(path, row.case_id, folder)
    return None


def _lines(score: Score, directory: Path, reported: list[ReportedCase]) -> Iterator[str]:
    if isinstance(score, CaseScore):
        yield f"# Case {escaped_markdown(score.case_id)} of the agent {escaped_markdown(score.agent_name)}"
    else:
        yield f"# Agent {escaped_markdown(score.agent_name)}"
        yield from ("", f"Run {escaped_markdown(score.run_id)}.", "")
        yield from _totals(score)
    for case in reported:
        yield from _case(case, directory)


def _totals(score: AgentScore) -> Iterator[str]:
    outcomes = [row.outcome for row in score.cases]
    counts = ", ".join(f"{outcomes.count(name)} {name}" for name in WORDS if name in outcomes)
    yield f"**{outcomes.count('passed')} of {len(outcomes)} cases passed** ({counts})."
    if score.not_scored:
        listed = ", ".join(map(escaped_markdown, score.not_scored))
        yield from ("", f"Not scored, since they did not run or were only captured: {listed}.")
    if score.others_failed:
        listed = ", ".join(map(escaped_markdown, score.others_failed))
        yield from ("", f"The session failed besides these verdicts: {listed}.")
    yield from ("", "| case | outcome | passed | failed | inconclusive |", "|---|---|---:|---:|---:|")
    for row in score.cases:
        figures = " | ".join(str(row.count(status)) for status in STATUSES)
        yield f"| {escaped_markdown(row.case_id)} | {_outcome_words(row)} | {figures} |"
    data = [outcome.as_data() for row in score.cases for outcome in row.outcomes]
    yield from _groups("assertion", by_assertion_kind(data))
    yield from _groups("tool or agent", by_target(data))


def _outcome_words(row: CaseRow) -> str:
    return WORDS[row.outcome] + (" (scored earlier)" if row.scored_earlier else "")


def _groups(title: str, groups: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    if groups:
        yield from ("", f"| {title} | passed | failed | inconclusive |", "|---|---:|---:|---:|")
    for name, group in groups.items():
        figures = f"{group['passed']} | {group['failed']} | {group['inconclusive']}"
        yield f"| {escaped_markdown(name)} | {figures} |"


def _case(case: ReportedCase, directory: Path) -> Iterator[str]:
    row, folder = case.row, case.folder
    yield from ("", f"## {escaped_markdown(row.case_id)}: {_outcome_words(row)}", "")
    capture = _capture(folder)
    if capture is not None:
        yield from (f"Asked: {escaped_markdown(clipped(capture.input, SHOWN_VALUE))}", "")
    if row.error is not None:
        yield from (f"Error: {escaped_markdown(row.error)}", "")
    for path in (folder.after_submit_screenshot, folder.failure_screenshot):
        if path.is_file():
            yield from (f"![{path.stem}]({_target(path, directory)})", "")
            break
    for note in () if capture is None else capture.notes:
        yield from (f"Note: {escaped_markdown(note)}", "")
    if case.narrative is not None:
        yield escaped_markdown(case.narrative.summary)
        # What a score says of assertions that hold stands below, with its evidence.
        if case.is_given or row.outcome != "passed":
            yield from ("", *_observations(case.narrative, folder, directory))
    if row.outcomes:
        yield from ("", "Assertions:", "")
    for outcome in row.outcomes:
        yield from _outcome(outcome, folder, directory)


def _capture(folder: CaseFolder) -> Capture | None:
    try:
        return read_capture(folder)
    except ValueError:
        return None


def _observations(narrative: Narrative, folder: CaseFolder, directory: Path) -> Iterator[str]:
    for observation in narrative.observations:
        cited = ", ".join(
            dict.fromkeys(_link(one.artifact_path, folder, directory) for one in observation.citations)
        )
        yield f"- {escaped_markdown(observation.text)} ({cited})"


def _outcome(outcome: AssertionOutcome, folder: CaseFolder, directory: Path) -> Iterator[str]:
    target = f" {escaped_markdown(outcome.target)}" if outcome.target else ""
    name = f"**{escaped_markdown(outcome.assertion_kind)}**{target}"
    yield f"- {WORDS[outcome.status]}: {name}: {escaped_markdown(outcome.message)}"
    if outcome.status == "failed":
        yield f"  - expected: {_value(outcome.expected)}"
        yield f"  - observed: {_value(outcome.observed)}"
    if outcome.evidence is not None:
        detail = escaped_markdown(clipped(outcome.evidence.detail, SHOWN_VALUE))
        yield f"  - evidence: {_link(outcome.evidence.artifact_path, folder, directory)}, {detail}"
    for step in outcome.recovery:
        yield f"  - {escaped_markdown(step)}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return escaped_markdown(clipped(text, SHOWN_VALUE))


def _link(artifact_path: str, folder: CaseFolder, directory: Path) -> str:
    return f"[{escaped_markdown(artifact_path)}]({_target(folder.path / artifact_path, directory)})"


def _target(path: Path, directory: Path) -> str:
    """A path relative to the directory of the report, as the target of a link."""
    return quote(path.resolve().relative_to(directory.resolve()).as_posix())
