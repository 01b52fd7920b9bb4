"""One query put to the retriever → its sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.core.kind import Case
from pytest_mcpeval.core.sample import Check, Outcome, Sample
from pytest_mcpeval.kinds.retrieval.rankings import ranks_of
from pytest_mcpeval.kinds.retrieval.retrievers.asking import SearchResult
from pytest_mcpeval.kinds.retrieval.spec import GoldenQuery, RetrievalSpec, RetrievalSuite
from pytest_mcpeval.targets.base import cause_of

MISSED = "MISSED"


def judge(
    suite: RetrievalSuite,
    case: Case[RetrievalSpec],
    result: SearchResult,
    baseline: Mapping[str, Mapping[str, int]] | None,
) -> Sample:
    """The sample of a query.

    ``baseline`` maps query id to the ranks of its relevant tools, those not returned left out; None without
    a baseline that holds ranks. It is shown beside the new rank, and judged by the gates.
    """
    query = case.spec.query
    ranks = relevant_ranks(query.labels, result.ranked)
    first = min((rank for rank in ranks.values() if rank is not None), default=None)
    check = _hit(query.must_hit or suite.settings.expect, first, result)
    outcome = _outcome(check, query, result, strict=suite.settings.strict)
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome=outcome,
        checks=(check,),
        message="" if check.passed else check.message,
        label=MISSED if outcome == "wrong" else "",
        traits={**case.traits, "name": query.text, "notes": query.notes},
        measured=_measured(suite, query, result, ranks, first, baseline),
        run=_measured_run(result),
        cause=cause_of(result.error, f"{suite.key}: retriever") if outcome == "error" else "",
    )


def _measured_run(result: SearchResult) -> dict[str, Any]:
    """What differs from run to run."""
    found: dict[str, Any] = {
        "processingTimeMs": result.seconds * 1000,
        "scores": [hit.score for hit in result.hits],
    }
    if result.error is not None and result.error.stderr_tail:
        found["stderr"] = result.error.stderr_tail
    return found


def relevant_ranks(labels: Mapping[str, int], ranked: list[str]) -> dict[str, int | None]:
    """Relevant tool → its rank, from 1; None for one that was not returned."""
    relevant = [tool for tool, relevance in labels.items() if relevance >= 1]
    return {tool: rank or None for tool, rank in zip(relevant, ranks_of(relevant, ranked), strict=True)}


def _hit(k: int, first: int | None, result: SearchResult) -> Check:
    rule = {"type": "hit", "k": k}
    if result.error is not None:
        return Check(rule, "failed", result.error.message, {"reason": result.error.reason})
    if first is not None and first <= k:
        return Check(rule, "passed", f"a relevant tool at rank {first}, wanted within {k}", {"rank": first})
    found = f"the first relevant tool is at rank {first}" if first else _nothing_found(len(result.hits))
    return Check(rule, "failed", f"{found}, wanted within {k}", {"rank": first})


def _nothing_found(count: int) -> str:
    if not count:
        return "nothing was returned"
    return (
        f"no relevant tool among the {count} returned"
        if count > 1
        else "the one tool returned is not relevant"
    )


def _outcome(check: Check, query: GoldenQuery, result: SearchResult, *, strict: bool) -> Outcome:
    if result.error is not None and result.error.is_incident:
        return "error"
    if check.passed:
        return "passed"
    is_for_the_gates = not strict and query.must_hit is None and result.error is None
    return "wrong" if is_for_the_gates else "failed"


def asked_of(suite: RetrievalSuite, query: GoldenQuery) -> dict[str, Any]:
    """What is known of a query before it is asked."""
    return {"query": query.text, "labels": dict(query.labels), "depth": suite.settings.depth}


def _measured(
    suite: RetrievalSuite,
    query: GoldenQuery,
    result: SearchResult,
    ranks: Mapping[str, int | None],
    first: int | None,
    baseline: Mapping[str, Mapping[str, int]] | None,
) -> dict[str, Any]:
    """Everything the metrics are made from, so that samples alone are enough for them."""
    found: dict[str, Any] = {
        **asked_of(suite, query),
        "ranked": result.ranked,
        "ranks": dict(ranks),
        "rank": first,
        "problems": list(result.problems),
    }
    if baseline is not None and query.id in baseline:
        found["baseline_rank"] = min(baseline[query.id].values(), default=None)
        found["baseline_ranks"] = dict(baseline[query.id])
    return found
