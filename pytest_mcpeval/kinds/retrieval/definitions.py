"""Names and definitions of the retrieval metrics, as data. Imports nothing heavy.

One name serves a metric at both levels: ``mrr`` of one query is its reciprocal rank, ``map`` its average
precision; of a set, each is the mean over its queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CUTOFFS = (1, 3, 5, 10)
"""The k of Recall@k and hit@k."""

NDCG_CUTOFF = 10

NDCG = f"ndcg_at_{NDCG_CUTOFF}"

METRICS = (
    *(f"recall_at_{k}" for k in CUTOFFS),
    *(f"hit_at_{k}" for k in CUTOFFS),
    "mrr",
    NDCG,
    "map",
)
"""Every metric, in the order of the columns of `metrics.Scores.values`. All are shares between 0 and 1."""

_GROUPS = ("recall_at", "hit_at")


def cutoff_of(metric: str) -> int:
    """Return the number of results that a metric needs; 1 for those that use the whole list."""
    last = metric.rpartition("_")[2]
    return int(last) if last.isdigit() else 1


def metrics_within(depth: int) -> tuple[str, ...]:
    """Return the metrics that have a value if this many results were asked for."""
    return tuple(metric for metric in METRICS if cutoff_of(metric) <= depth)


def beyond_depth(metric: str, depth: int) -> str:
    """Return why a gate cannot use a metric, and what to do."""
    return (
        f"{metric} needs more results than the `depth` of {depth}: set `depth: {cutoff_of(metric)}` or more, "
        f"or use another metric, such as {default_metric(depth)}"
    )


def default_metric(depth: int) -> str:
    """Return the default metric of gates: Recall@5, or Recall at the highest cutoff within the depth."""
    return f"recall_at_{max(k for k in CUTOFFS if k <= min(depth, 5))}"


def definition(depth: int) -> dict[str, Any]:
    """Return the definitions of the metrics as plain data, of which a baseline has a digest.

    ``depth`` is the number of results per query: AP and MRR are computed over that many.
    """
    return {
        "relevant": "relevance >= 1",
        "gain": "linear",
        "discount": "log2(rank + 1)",
        "ideal": "all labels",
        "average_precision": "over the retrieved depth, divided by all relevant",
        "duplicates": "keep the first",
        "depth": depth,
        "metrics": list(METRICS),
    }


def nested(values: Mapping[str, float | None]) -> dict[str, Any]:
    """Metrics as reports and baselines write them: ``{"recall_at": {"1": …}, "mrr": …}``.

    The order is that of `METRICS`; metrics that are not among the values are left out.
    """
    found: dict[str, Any] = {}
    for name in METRICS:
        if name not in values:
            continue
        group, _, cutoff = name.rpartition("_")
        if group in _GROUPS:
            found.setdefault(group, {})[cutoff] = values[name]
        else:
            found[name] = values[name]
    return found


def flat(nested_values: Mapping[str, Any]) -> dict[str, float]:
    """The metrics in a nested mapping by their one name, ``recall_at_5``; other keys are left out."""
    found = {}
    for name in METRICS:
        group, _, cutoff = name.rpartition("_")
        value = nested_values.get(group, {}).get(cutoff) if group in _GROUPS else nested_values.get(name)
        if value is not None:
            found[name] = float(value)
    return found
