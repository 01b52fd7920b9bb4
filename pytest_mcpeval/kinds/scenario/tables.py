"""The scenario section of a report: totals, then pass rates by difficulty, tool, project, tag and suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import stdev
from typing import Any

from pytest_mcpeval.core.repeating import ended, in_cases, of_each_run
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.tables import Row, Table, rating_of
from pytest_mcpeval.kinds.scenario.metrics import (
    DIFFICULTIES,
    by_trait,
    confidences,
    group_of,
    half_up,
    latencies,
    mean,
    not_set_aside,
    percentile,
    summary,
)

SHOWN_GROUPS = 15


def tables(samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
    """The tables over all scenario suites of a session (suite key → its samples)."""
    everything = [sample for those in samples.values() for sample in those]
    kept = not_set_aside(everything)
    difficulties = by_trait(kept, "difficulty")
    in_order = {name: difficulties[name] for name in DIFFICULTIES if name in difficulties}
    return [
        _summary(everything),
        _groups("By difficulty", in_order | difficulties),
        _groups("By tool", by_trait(kept, "tool")),
        _groups("By project", by_trait(kept, "project")),
        _groups("By tag", by_trait(kept, "tags")),
        _groups("By suite", {key: group_of(not_set_aside(those)) for key, those in samples.items()}),
    ]


def _summary(samples: Sequence[Sample]) -> Table:
    totals = summary(samples)
    kept = not_set_aside(samples)
    times = latencies(kept)
    # Test for reports, not for the average: an average of 0 is a value.
    confident = bool(confidences(kept))
    errors = ended(kept, "error")
    # Rounded, since shares of runs are floats.
    failed = round(totals["failed"] - errors, 9)
    rows = [
        Row(("cases", str(totals["totalTests"]))),
        Row(("passed", in_cases(totals["passed"]))),
        Row(("failed", in_cases(failed)), "bad" if failed else ""),
    ]
    if totals["inconclusive"]:
        rows.append(Row(("inconclusive", in_cases(totals["inconclusive"])), "fair"))
    if errors:
        rows.append(Row(("in error", in_cases(errors)), "bad"))
    rows.append(Row(("pass rate", f"{half_up(totals['passRate'], 1)} %"), rating_of(totals["passRate"])))
    rates = [summary(run)["passRate"] for run in of_each_run(samples)]
    if len(rates) > 1:
        deviation = f"± {half_up(stdev(rates), 1)} %"
        rows.append(Row((f"standard deviation over {len(rates)} runs", deviation)))
    if confident:
        rows.append(Row(("average confidence", f"{totals['averageConfidence']} %")))
    if times:
        rows.append(Row(("average response time", f"{half_up(mean(times) or 0)} ms"), timed=True))
        p95 = half_up(percentile(times, 0.95) or 0)
        rows.append(Row(("p95 response time", f"{p95} ms"), timed=True))
    for name, words in (("skipped", "skipped"), ("expectedFailures", "expected failures")):
        if totals[name]:
            rows.append(Row((words, str(totals[name]))))
    return Table("Scenarios", ("", ""), tuple(rows), _brief(totals, confident, times))


def _brief(totals: Mapping[str, Any], confident: bool, times: Sequence[float]) -> str:
    rate = half_up(totals["passRate"], 1)
    parts = [f"{in_cases(totals['passed'])} of {totals['totalTests']} cases passed ({rate} %)"]
    if totals["inconclusive"]:
        parts.append(f"{in_cases(totals['inconclusive'])} inconclusive")
    if confident:
        parts.append(f"average confidence {totals['averageConfidence']} %")
    if times:
        parts.append(f"average response time {half_up(mean(times) or 0)} ms")
    return ", ".join(parts)


def _groups(title: str, groups: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return one row for each group.

    If there are very many, those with the lowest rates and a count of the rest.
    """
    shown, left_out = dict(groups), 0
    if len(groups) > SHOWN_GROUPS:
        worst = sorted(groups, key=lambda name: (_rate(groups[name]), -groups[name]["total"], name))
        shown = {name: groups[name] for name in worst[:SHOWN_GROUPS]}
        left_out = len(groups) - SHOWN_GROUPS
    rows = [_group_row(name, group) for name, group in shown.items()]
    if left_out:
        floor = max(map(_rate, shown.values()))
        rows.append(Row((f"and {left_out} more", "", f"≥ {half_up(floor, 1)} %"), rating_of(floor)))
    return Table(title, ("", "passed", "rate"), tuple(rows))


def _rate(group: Mapping[str, Any]) -> float:
    """Return the pass rate in percent; that of an empty group is 100, so that it is sorted last."""
    return float(group["passRate"]) if group["total"] else 100.0


def _group_row(name: str, group: Mapping[str, Any]) -> Row:
    if not group["total"]:
        return Row((name, "none", "–"))
    passed = f"{in_cases(group['passed'])}/{group['total']}"
    return Row((name, passed, f"{half_up(group['passRate'], 1)} %"), rating_of(group["passRate"]))
