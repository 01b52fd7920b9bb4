"""The answer to one query → its sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.sample import Check, Outcome, Sample
from pytest_mcpeval.kinds.retrieval.rankings import ranks_of
from pytest_mcpeval.kinds.retrieval.retrievers.asking import SearchResult
from pytest_mcpeval.kinds.retrieval.spec import GoldenQuery, RetrievalSuite
from pytest_mcpeval.targets.base import cause_of

MISSED = "MISSED"


def judge(
    suite: RetrievalSuite,
    case: Case[GoldenQuery],
    result: SearchResult,
    baseline: Mapping[str, Mapping[str, int]] | None,
) -> Sample:
    """The sample of a query.

    ``baseline`` maps query id to the ranks of its relevant tools, those not returned left out; None without
    a baseline that holds ranks. It is shown beside the new rank, and judged by the gates.
    """
    query = case.spec
    ranks = relevant_ranks(query.labels, result.ranked)
    first = min((rank for rank in ranks.values() if rank is not None), default=None)
    check = _hit(query.must_hit or suite.settings.expect, first, result)
    outcome: Outcome = "passed"
    if result.error is not None and result.error.is_incident:
        outcome = "error"
    elif not check.passed:
        is_for_the_gates = not suite.settings.strict and query.must_hit is None and result.error is None
        outcome = "wrong" if is_for_the_gates else "failed"
    # Everything that metrics need, so that they can be computed from samples alone.
    measured: dict[str, Any] = {
        **asked_of(suite, query),
        "ranked": result.ranked,
        "ranks": ranks,
        "rank": first,
        "problems": list(result.problems),
    }
    if baseline is not None and query.id in baseline:
        measured["baseline_rank"] = min(baseline[query.id].values(), default=None)
        measured["baseline_ranks"] = dict(baseline[query.id])
    run: dict[str, Any] = {
        "processingTimeMs": result.seconds * 1000,
        "scores": [hit.score for hit in result.hits],
    }
    if result.error is not None and result.error.stderr_tail:
        run["stderr"] = result.error.stderr_tail
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome=outcome,
        checks=(check,),
        message="" if check.passed else check.message,
        label=MISSED if outcome == "wrong" else "",
        traits={**case.traits, "name": query.text, "notes": query.notes},
        measured=measured,
        run=run,
        cause=cause_of(result.error, f"{suite.key}: retriever") if outcome == "error" else "",
    )


def relevant_ranks(labels: Mapping[str, int], ranked: Sequence[str]) -> dict[str, int | None]:
    """Relevant tool → its rank, from 1; None for one that was not returned."""
    relevant = [tool for tool, relevance in labels.items() if relevance >= 1]
    return {tool: rank or None for tool, rank in zip(relevant, ranks_of(relevant, ranked), strict=True)}


def _hit(k: int, first: int | None, result: SearchResult) -> Check:
    rule = {"type": "hit", "k": k}
    if result.error is not None:
        return Check(rule, "failed", result.error.message, {"reason": result.error.reason})
    if first is not None and first <= k:
        return Check(rule, "passed", f"a relevant tool at rank {first}, wanted within {k}", {"rank": first})
    if first:
        found = f"the first relevant tool is at rank {first}"
    elif len(result.hits) > 1:
        found = f"no relevant tool among the {len(result.hits)} returned"
    else:
        found = "the one tool returned is not relevant" if result.hits else "nothing was returned"
    return Check(rule, "failed", f"{found}, wanted within {k}", {"rank": first})


def asked_of(suite: RetrievalSuite, query: GoldenQuery) -> dict[str, Any]:
    """Return what is known of a query before it is asked."""
    return {"query": query.text, "labels": dict(query.labels), "depth": suite.settings.depth}
