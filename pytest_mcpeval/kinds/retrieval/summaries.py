"""Scores → the numbers of a set, as plain data for reports: metrics, slices, runs, what changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from pytest_mcpeval.kinds.retrieval.definitions import nested
from pytest_mcpeval.kinds.retrieval.metrics import Scores, average, deviations


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


def over_runs(runs: Sequence[Scores], changed: Sequence[str] = ()) -> dict[str, Any]:
    """A `summary` of the per-query means over N runs.

    Of several runs, it adds ``runs`` (N), ``standard_deviation`` (sample standard deviation of each metric
    over the runs) and ``changed_share`` (share of the queries in ``changed``: not ranked alike in every run).

    Raises:
        ValueError: The runs have not the same queries.
    """
    found = summary(average(runs))
    if len(runs) == 1:
        return found
    share = len(changed) / len(runs[0].ids) if runs[0].ids else 0.0
    deviation = nested(deviations(runs))
    return {**found, "runs": len(runs), "standard_deviation": deviation, "changed_share": share}


def with_deviation(mean: float, deviation: float | None) -> str:
    """A metric for people: ``0.6812``, or ``0.6812 ± 0.0123`` over several runs."""
    return f"{mean:.4f}" if deviation is None else f"{mean:.4f} ± {deviation:.4f}"
