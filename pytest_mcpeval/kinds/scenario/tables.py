"""The scenario section of a report: totals, then pass rates by difficulty, tool, project, tag and suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_mcpeval.kinds.scenario.metrics import (
    by_trait,
    counted,
    group_of,
    latencies,
    mean,
    percentile,
    summary,
)
from pytest_mcpeval.reports.tables import Row, Table, tone_of_rate
from pytest_mcpeval.samples import Sample

SHOWN_TAGS = 15


def tables(suites: Mapping[str, Sequence[Sample]]) -> list[Table]:
    """The tables over all scenario suites of a session (suite key → samples)."""
    everything = [sample for samples in suites.values() for sample in samples]
    kept = counted(everything)
    tags = by_trait(kept, "tags")
    frequent = dict(sorted(tags.items(), key=lambda item: (-item[1]["total"], item[0]))[:SHOWN_TAGS])
    left_out = f" ({SHOWN_TAGS} of {len(tags)})" if len(tags) > SHOWN_TAGS else ""
    return [
        _summary(everything),
        _groups("By difficulty", by_trait(kept, "difficulty")),
        _groups("By tool", by_trait(kept, "tool")),
        _groups("By project", by_trait(kept, "project")),
        _groups(f"By tag{left_out}", frequent),
        _groups("By suite", {key: group_of(counted(samples)) for key, samples in suites.items()}),
    ]


def _summary(samples: Sequence[Sample]) -> Table:
    totals = summary(samples)
    times = latencies(counted(samples))
    rows = [
        Row(("cases", str(totals["totalTests"]))),
        Row(("passed", str(totals["passed"]))),
        Row(("failed", str(totals["failed"])), "bad" if totals["failed"] else ""),
        Row(("pass rate", f"{totals['passRate']:.1f} %"), tone_of_rate(totals["passRate"])),
    ]
    if totals["averageConfidence"]:
        rows.append(Row(("average confidence", f"{totals['averageConfidence']} %")))
    if times:
        rows.append(Row(("average response time", f"{mean(times):.0f} ms")))
        rows.append(Row(("p95 response time", f"{percentile(times, 0.95):.0f} ms")))
    for name, words in (("skipped", "skipped"), ("expectedFailures", "expected failures")):
        if totals[name]:
            rows.append(Row((words, str(totals[name]))))
    return Table("Scenarios", ("", ""), tuple(rows))


def _groups(title: str, groups: Mapping[str, Mapping[str, Any]]) -> Table:
    return Table(title, ("", "passed", "rate"), tuple(_group_rows(groups.items())))


def _group_rows(groups: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterable[Row]:
    for name, group in groups:
        rate = group["passRate"]
        yield Row((name, f"{group['passed']}/{group['total']}", f"{rate:.1f} %"), tone_of_rate(rate))
