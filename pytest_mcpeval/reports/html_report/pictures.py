"""What people would rather look at than read, as data: the page draws it, and has its numbers in a table.

A picture has a ``type`` and a ``title``. ``bars``: rows with a ``value`` between 0 and ``top``, an interval
(``low``, ``high``), a ``baseline`` and a ``limit``. ``matrix``: ``counts`` of rows and columns. ``curve``: a
line through ``points``, with named ``marks``. ``histogram``: ``bins`` of (from, to, count). ``shifts``: ranks
before and now. ``calls``: what was called in each row, in order. ``trend``: the ``value`` of each run, in
order, and whether what it depends on ``changed`` since the run before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_mcpeval.reports.html_report.cases import latencies_of
from pytest_mcpeval.reports.html_report.summary import Data, Number, changes_of, metric_name, share

MOST_ROWS = 20
BINS = 20
TRENDS = 2


def pictures_of(report: Data, key: str, gates: Mapping[str, Data]) -> list[dict[str, Any]]:
    """The pictures of a suite; ``gates`` are its own, by name."""
    suite = report["suites"][key]
    metrics = suite["metrics"]
    found: Iterable[dict[str, Any]] = ()
    if suite["kind"] == "retrieval":
        found = _retrieval(suite)
    elif suite["kind"] == "security":
        found = _detectors(metrics, gates)
    elif suite["kind"] == "agent":
        found = _agents(metrics)
    elif suite["kind"] == "session":
        found = _sessions(suite)
    elif suite["kind"] == "scenario":
        by_tool, by_tag = metrics.get("byTool", {}), metrics.get("byTag", {})
        found = [*_groups("Pass rate by tool", by_tool), *_groups("Pass rate by tag", by_tag)]
    return [*_trends(report, key), *found, *_latencies(latencies_of(report, key))]


def main_picture(numbers: Sequence[tuple[str, Number]]) -> dict[str, Any]:
    """The main numbers of all suites; each with the title of its suite."""
    rows = [
        {
            "name": title,
            "value": number.value,
            "words": f"{number.words} {number.name}" if number.value is not None else number.words,
            "low": None if number.interval is None else number.interval[0],
            "high": None if number.interval is None else number.interval[1],
            "baseline": number.baseline,
            "limit": number.limit,
            "wanted": number.wanted,
            "bad": number.has_failed,
        }
        for title, number in numbers
    ]
    return {"type": "bars", "title": "The main number of each suite", "rows": rows, "top": 1}


def _bar(name: str, value: float | None, words: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "words": words or ("–" if value is None else share(value)), **more}


def _groups(title: str, groups: Mapping[str, Data]) -> Iterator[dict[str, Any]]:
    """Pass rates, the lowest first."""
    rows = [
        _bar(
            name,
            one["passRate"] / 100,
            f"{one['passed']:g} of {one['total']}",
            bad=one["passed"] < one["total"],
        )
        for name, one in groups.items()
        if one["total"]
    ]
    rows.sort(key=lambda row: row["value"])
    if len(rows) > 1:
        yield _cut({"type": "bars", "title": title, "rows": rows, "top": 1})


def _cut(picture: dict[str, Any]) -> dict[str, Any]:
    rows = picture["rows"]
    if len(rows) <= MOST_ROWS:
        return picture
    return {**picture, "rows": rows[:MOST_ROWS], "note": f"the first {MOST_ROWS} of {len(rows)}"}


def _trends(report: Data, key: str) -> Iterator[dict[str, Any]]:
    """The first numbers of a suite over the last runs that ran it whole."""
    runs = [run for run in report["run"].get("history", ()) if key in run["suites"]]
    for name in list(runs[-1]["suites"][key]["figures"])[:TRENDS] if runs else ():
        points = []
        inputs = None
        for run in runs:
            suite = run["suites"][key]
            if name in suite["figures"]:
                changed = inputs not in (None, suite["inputs"])
                commit = (run["commit"] or "–")[:10]
                value, when = suite["figures"][name], run["started"]
                points.append({"value": value, "when": when, "commit": commit, "changed": changed})
            inputs = suite["inputs"]
        if len(points) > 1:
            yield {"type": "trend", "title": f"{name} over the last {len(points)} runs", "points": points}


def _retrieval(suite: Data) -> Iterator[dict[str, Any]]:
    metrics = suite["metrics"]
    moved = suite["baseline_delta"].get("metrics", {})
    values = {f"recall_at_{k}": value for k, value in metrics["recall_at"].items()}
    values |= {name: metrics[name] for name in ("mrr", "ndcg_at_10", "map") if name in metrics}
    rows = [
        _bar(
            metric_name(name),
            value,
            baseline=None if value is None or name not in moved else value - moved[name],
            bad=moved.get(name, 0) < 0,
        )
        for name, value in values.items()
    ]
    yield {"type": "bars", "title": "Metrics, and the baseline", "rows": rows, "top": 1}
    yield from _shifts(suite)
    for name, slices in metrics.get("slices", {}).items():
        rows = [
            _bar(one, found["recall_at"].get("5"), f"{share(found['recall_at']['5'])} of {found['queries']}")
            for one, found in slices.items()
            if found.get("recall_at", {}).get("5") is not None
        ]
        rows.sort(key=lambda row: row["value"])
        if len(rows) > 1:
            yield _cut({"type": "bars", "title": f"recall@5 by {name}", "rows": rows, "top": 1})


def _shifts(suite: Data) -> Iterator[dict[str, Any]]:
    changes = changes_of(suite)
    lost = frozenset().union(*(change.lost for change in changes))
    won = frozenset().union(*(change.won for change in changes))
    rows = []
    for case in suite["cases"]:
        measured = case["measured"]
        if case["id"] in lost or case["id"] in won:
            change = "lost" if case["id"] in lost else "won"
            row = {"name": case["id"], "was": measured.get("baseline_rank"), "now": measured.get("rank")}
            rows.append({**row, "change": change, "depth": measured.get("depth", 10)})
    if rows:
        rows.sort(key=lambda row: (row["change"], -abs(_place(row["now"], row) - _place(row["was"], row))))
        yield _cut(
            {"type": "shifts", "title": "Rank of the first relevant tool, lost and won queries", "rows": rows}
        )


def _place(rank: int | None, row: Data) -> int:
    """The place of a rank; one below the depth for a tool that was not found."""
    return rank or int(row["depth"]) + 1


def _detectors(metrics: Data, gates: Mapping[str, Data]) -> Iterator[dict[str, Any]]:
    for one in metrics["per_detector"]:
        name = one["detector"]
        rows = []
        for said, rate, gate_name, wanted in (
            ("FPR", "fpr", "fpr_ceiling", "at most"),
            ("recall", "recall", "recall_floor", "at least"),
        ):
            limit = gates.get(f"{name}-{gate_name}", {}).get("limit")
            rows.append(_rate(said, one, rate, limit=limit, wanted=wanted))
            for split, found in one.get("slices", {}).get("split", {}).items():
                rows.append(_rate(f"{said}, split {split}", found, rate, limit=limit, wanted=wanted))
        yield {"type": "bars", "title": f"{name}: rates with their 95 % intervals", "rows": rows, "top": 1}
        categories = one.get("per_category", {})
        if categories:
            yield {
                "type": "matrix",
                "title": f"{name}: verdicts by category",
                "rows": list(categories),
                "columns": ["flagged", "not flagged", "error"],
                "counts": [
                    [found["flagged"], found["entries"] - found["flagged"] - found["errors"], found["errors"]]
                    for found in categories.values()
                ],
                "wrong": [
                    [row, 1 if "recall" in found else 0] for row, found in enumerate(categories.values())
                ]
                + [[row, 2] for row in range(len(categories))],
            }
        yield from _roc(one)


def _rate(said: str, found: Data, rate: str, **more: Any) -> dict[str, Any]:
    value, interval = found.get(rate), found.get(f"{rate}_interval") or (None, None)
    limit, wanted = more["limit"], more["wanted"]
    bad = (
        value is not None and limit is not None and (value > limit if wanted == "at most" else value < limit)
    )
    words = "not measured" if value is None else f"{100 * value:.1f} %"
    return _bar(said, value, words, low=interval[0], high=interval[1], bad=bad, **more)


def _roc(one: Data) -> Iterator[dict[str, Any]]:
    scores = one.get("scores") or {}
    points = scores.get("roc")
    if not points:
        return
    best = max(points, key=lambda point: point[1] - point[0])
    marks = [{"x": best[0], "y": best[1], "name": "best (highest recall − FPR)"}]
    if one["fpr"] is not None and one["recall"] is not None:
        marks.insert(0, {"x": one["fpr"], "y": one["recall"], "name": "chosen"})
    yield {
        "type": "curve",
        "title": f"{one['detector']}: ROC, area {scores['auc']:.3f}",
        "across": "FPR",
        "up": "recall",
        "points": points,
        "marks": marks,
        "limit": one.get("ceiling"),
    }


def _agents(metrics: Data) -> Iterator[dict[str, Any]]:
    for title, name in (("Assertions by kind", "by_assertion_kind"), ("Assertions by target", "by_target")):
        rows = [
            _bar(
                group,
                found["passed"] / found["total"],
                f"{found['passed']} of {found['total']}",
                bad=found["passed"] < found["total"],
            )
            for group, found in metrics.get(name, {}).items()
            if found["total"]
        ]
        rows.sort(key=lambda row: row["value"])
        if rows:
            yield _cut({"type": "bars", "title": title, "rows": rows, "top": 1})


def _sessions(suite: Data) -> Iterator[dict[str, Any]]:
    calls = []
    for case in suite["cases"]:
        for number, line in enumerate(case["measured"].get("transcript", ()), 1):
            tool = str(line.get("blocked_tool") or line.get("tool", ""))
            server, _, name = tool.removeprefix("mcp__").partition("__")
            shape = str(line.get("result_shape", ""))
            status = (
                "blocked"
                if line.get("blocked_tool")
                else "error"
                if shape.startswith("error")
                else "answered"
            )
            calls.append(
                {
                    "row": case["id"],
                    "number": number,
                    "server": server,
                    "tool": name or server,
                    "status": status,
                }
            )
    if calls:
        yield {"type": "calls", "title": "Calls of each scenario, in order", "calls": calls}


def _latencies(latencies: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    values = sorted(latencies.values())
    if len(values) < 3:
        return
    median, p95 = values[len(values) // 2], values[min(len(values) - 1, math.ceil(0.95 * len(values)) - 1)]
    # The longest ones would squeeze the others into one bin.
    top = _round_up(min(values[-1], 3 * p95) or 1)
    width = top / BINS
    counts = [0] * BINS
    for value in values:
        counts[min(int(value / width), BINS - 1)] += 1
    yield {
        "type": "histogram",
        "title": f"Latency: median {_ms(median)}, p95 {_ms(p95)}",
        "across": "ms",
        "bins": [[number * width, (number + 1) * width, count] for number, count in enumerate(counts)],
        "note": f"the last bin holds the longer ones, up to {_ms(values[-1])}" if values[-1] > top else "",
    }


def _round_up(value: float) -> float:
    step: float = 10.0 ** math.floor(math.log10(value))
    return math.ceil(value / step - 1e-9) * step


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.2g} ms"
