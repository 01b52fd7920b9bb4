"""The charts of each detector: counts, recall by category, FPR under its ceiling, curves of scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mcpeval.core.charts import Bar, Bars, Chart, Curve, Matrix
from pytest_mcpeval.core.tables import short_titles
from pytest_mcpeval.kinds.security.gates import percent


def charts(suites: Mapping[str, Mapping[str, Any]]) -> list[Chart]:
    """For each suite (suite key → its metrics) the charts of its detectors."""
    titles = short_titles(suites)
    return [
        chart
        for key, metrics in suites.items()
        for found in metrics["per_detector"]
        for chart in _of(f"{found['detector']} on {titles[key]}", found)
    ]


def _of(title: str, found: Mapping[str, Any]) -> Iterator[Chart]:
    yield Matrix(
        f"Verdicts: {title}",
        ("malicious", "benign"),
        ("flagged", "not flagged"),
        ((found["tp"], found["fn"]), (found["fp"], found["tn"])),
        frozenset({(0, 1), (1, 0)}),
    )
    recalls = tuple(_bar(name, group) for name, group in found["per_category"].items() if "recall" in group)
    if recalls:
        yield Bars(f"Recall by category: {title}", recalls)
    yield from _false_alarms(title, found)
    yield from _curves(title, found.get("scores"), found["ceiling"])


def _bar(name: str, group: Mapping[str, Any]) -> Bar:
    rate = "recall" if "recall" in group else "fpr"
    share = group[rate] or 0.0
    words = f"{group['flagged']:g}/{group['entries'] - group['errors']} = {percent(share)}"
    ends = group[f"{rate}_interval"]
    interval = None if ends is None else (ends[0], ends[1])
    return Bar(name, share, words, "good" if rate == "recall" else "bad", interval)


def _false_alarms(title: str, found: Mapping[str, Any]) -> Iterator[Chart]:
    everything = {
        "entries": round(found["fp"] + found["tn"]),
        "errors": 0,
        "flagged": found["fp"],
        "fpr": found["fpr"],
        "fpr_interval": found["fpr_interval"],
    }
    groups = {"all benign": everything, "hard negatives": found["hard_negatives"]}
    groups |= {f"like {name}": group for name, group in found["slices"]["resembles"].items()}
    bars = tuple(_bar(name, group) for name, group in groups.items() if group["fpr"] is not None)
    ceiling = found["ceiling"]
    if bars:
        words = "" if ceiling is None else f"ceiling {percent(ceiling)}"
        yield Bars(f"False-positive rate: {title}", bars, ceiling, words)


def _curves(title: str, scores: Mapping[str, Any] | None, ceiling: float | None) -> Iterator[Chart]:
    if scores is None:
        return
    within = scores.get("recall_at_ceiling")
    at = "" if within is None else f", recall {percent(within)} at the ceiling"
    yield Curve(
        f"ROC: {title}",
        "false-positive rate",
        "recall",
        tuple((x, y) for x, y in scores["roc"]),
        f"AUC {scores['auc']:.3f}{at}",
        ceiling,
        diagonal=True,
    )
    words = f"average precision {scores['average_precision']:.3f}"
    points = tuple((x, y) for x, y in scores["precision_recall"])
    yield Curve(f"Precision and recall: {title}", "recall", "precision", points, words)
