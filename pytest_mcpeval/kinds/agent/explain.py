"""The report text about a case that did not pass: its assertions, evidence and recovery."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.sample import MARKS, Sample
from pytest_mcpeval.kinds.agent.load import AgentSuite
from pytest_mcpeval.kinds.agent.schema import AgentCase
from pytest_mcpeval.text.visible import clipped, indented, visible

SHOWN_OBSERVED = 1_200


def explain(suite: AgentSuite, case: Case[AgentCase], sample: Sample) -> str:
    """Input, assertions, where the artifacts are, and the place in the file, safe for a terminal."""
    parts = [sample.message, *_lines(case.spec, sample), *suite.place_of(case)]
    return visible("\n".join(parts))


def _lines(case: AgentCase, sample: Sample) -> Iterator[str]:
    yield f"input: {clipped(case.input, SHOWN_OBSERVED)}"
    for outcome in sample.run.get("outcomes", ()):
        yield from outcome_lines(outcome)
    for note in sample.run.get("notes", ()):
        yield f"  note: {note}"
    if "case_dir" in sample.run:
        yield f"captured in {sample.run['case_dir']}"


def outcome_lines(outcome: Mapping[str, Any]) -> Iterator[str]:
    """Yield one assertion as ``✗ kind: message``, with its evidence below."""
    yield f"  {MARKS[outcome['outcome']]} {outcome['assertion_kind']}: {outcome['message']}"
    if outcome["outcome"] == "failed":
        yield indented(f"expected: {_excerpt(outcome['expected'])}")
        yield indented(f"observed: {_excerpt(outcome['observed'])}")
        evidence = outcome["evidence"]
        yield indented(f"evidence: {evidence['artifact_path']} ({evidence['detail']})")
    if outcome["outcome"] == "inconclusive":
        reason = outcome["reason"]
        yield indented(f"missing: {reason['expected_artifact_path']} ({reason['kind']})")
        for step in outcome["recovery"]:
            yield indented(step)


def _excerpt(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clipped(text, SHOWN_OBSERVED)
