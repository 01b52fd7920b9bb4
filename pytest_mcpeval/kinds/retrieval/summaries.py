"""Scores → the numbers of a set, as plain data for reports: metrics and slices. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from pytest_mcpeval.kinds.retrieval.definitions import METRICS, nested
from pytest_mcpeval.kinds.retrieval.metrics import Scores


def summary(scores: Scores) -> dict[str, Any]:
    """The metrics of some queries: ``recall_at`` and ``hit_at`` by cutoff, ``mrr``, ``ndcg_at_10``, ``map``.

    ``queries`` counts them; ``highest_recall_at`` is the most that the labels allow. A metric that looks
    further than the depth is None.
    """
    highest = nested(scores.highest_recalls())
    return {
        "queries": len(scores.ids),
        **nested(with_nulls(scores.means())),
        "highest_recall_at": highest.get("recall_at", {}),
    }


def with_nulls(means: Mapping[str, float]) -> dict[str, float | None]:
    """The metrics of a set that has any, with None for those that have no value."""
    return {metric: means.get(metric) for metric in METRICS} if means else {}


def sliced(
    scores: Scores, slices: Mapping[str, Mapping[str, AbstractSet[str]]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """A `summary` for each slice (dimension → group → query ids).

    Groups without a scored query are left out.
    """
    found = {
        dimension: {name: scores.subset(ids) for name, ids in groups.items()}
        for dimension, groups in slices.items()
    }
    return {
        dimension: {name: summary(part) for name, part in groups.items() if part.ids}
        for dimension, groups in found.items()
    }
