"""The report text about a query that missed: the ranked list with labels, old and new rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.retrieval.spec import GoldenQuery, RetrievalSuite
from pytest_mcpeval.text.visible import indented, visible

SHOWN_TOOLS = 20
LABELS = {2: "relevant (2)", 1: "relevant (1)", 0: "judged irrelevant"}


def explain(suite: RetrievalSuite, case: Case[GoldenQuery], sample: Sample) -> str:
    """Return query, ranked list, missing tools and the place in the file, safe for a terminal."""
    parts = [sample.message, *_lines(sample), *suite.place_of(case)]
    return visible("\n".join(parts))


def _lines(sample: Sample) -> Iterator[str]:
    measured = sample.measured
    if "ranked" not in measured:
        return
    yield f"query: {measured['query']}"
    if notes := sample.traits.get("notes"):
        yield f"notes: {notes}"
    if "baseline_rank" in measured:
        old, new = _rank(measured["baseline_rank"]), _rank(measured["rank"])
        yield f"first relevant tool: {old} in the baseline, {new} now"
    ranked: Sequence[str] = measured["ranked"]
    scores: Sequence[float | None] = sample.run.get("scores", ())
    yield f"ranked list ({len(ranked)} of {measured['depth']} asked for):"
    width = max((len(tool) for tool in ranked[:SHOWN_TOOLS]), default=0)
    for number, tool in enumerate(ranked[:SHOWN_TOOLS]):
        score = scores[number] if number < len(scores) else None
        figure = "" if score is None else f"{score:.4g}"
        label = LABELS.get(measured["labels"].get(tool), "")
        yield f"  {number + 1:>3}  {tool:<{width}}  {figure:>8}  {label}".rstrip()
    if len(ranked) > SHOWN_TOOLS:
        yield f"  and {len(ranked) - SHOWN_TOOLS} more"
    for tool, rank in measured["ranks"].items():
        if rank is None:
            yield f"  not returned: {tool}, {LABELS[measured['labels'][tool]]}"
    for problem in measured["problems"]:
        yield f"  note: {problem}"
    if sample.run.get("stderr"):
        yield "the target's stderr ends with:"
        yield indented(sample.run["stderr"])


def _rank(rank: int | None) -> str:
    return "not found" if rank is None else f"rank {rank}"
