"""Scores → the numbers of a set, as plain data for reports: metrics and slices. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from pytest_mcpeval.kinds.retrieval.definitions import nested
from pytest_mcpeval.kinds.retrieval.metrics import Scores


def summary(scores: Scores) -> dict[str, Any]:
    """The metrics of some queries: ``recall_at`` and ``hit_at`` by cutoff, ``mrr``, ``ndcg_at_10``, ``map``.

    ``queries`` counts them; ``highest_recall_at`` is the most that the labels allow.
    """
    highest = nested(scores.highest_recalls())
    return {
        "queries": len(scores.ids),
        **nested(scores.means()),
        "highest_recall_at": highest.get("recall_at", {}),
    }


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
