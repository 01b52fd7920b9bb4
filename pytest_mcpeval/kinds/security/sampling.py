"""Samples → rows of numbers, by detector. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_mcpeval.core.repeating import runs_of
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.security.categories import HARD_NEGATIVE
from pytest_mcpeval.kinds.security.rates import Row, measured
from pytest_mcpeval.kinds.security.spec import Entry

_BADNESS = {True: 2, None: 1, False: 0}
"""Possible verdicts on a tool."""


def answered(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples of entries that a detector was asked about, with or without a verdict.

    Skipped and xfailed entries do not count.
    """
    return [sample for sample in samples if "flagged" in sample.measured and not sample.is_set_aside]


def by_detector(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Detector → its samples, in the order they come."""
    found: dict[str, list[Sample]] = {}
    for sample in answered(samples):
        found.setdefault(sample.measured["detector"], []).append(sample)
    return found


def row_of(sample: Sample) -> Row:
    """Return the row of an entry, with the means over its runs."""
    labels = sample.measured
    runs = [run.measured for run in runs_of(sample)]
    verdicts = [run for run in runs if run["flagged"] is not None]
    scores = [run["score"] for run in verdicts if run.get("score") is not None]
    rules = (one["rule"] for run in verdicts for one in run["detections"])
    return Row(
        entry=labels["entry"],
        malicious=labels["label"] == "malicious",
        category=labels["category"],
        flagged=_mean([float(run["flagged"]) for run in verdicts]),
        unanswered=1 - len(verdicts) / len(runs),
        score=_mean(scores) if len(scores) == len(verdicts) else None,
        resembles=labels.get("resembles"),
        split=labels.get("split"),
        language=labels.get("language"),
        is_hard_negative=labels["category"] == HARD_NEGATIVE,
        rules=tuple(dict.fromkeys(rules)),
        runs=len(runs),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def rows_of_all(entries: Iterable[Entry], samples: Iterable[Sample]) -> list[Row]:
    """Return a row for every entry of a corpus; an entry without a sample has no verdict."""
    found = {sample.measured["entry"]: row_of(sample) for sample in answered(samples)}
    return [
        found.get(entry.id)
        or Row(
            entry=entry.id,
            malicious=entry.is_malicious,
            category=entry.category,
            flagged=None,
            unanswered=1.0,
            resembles=entry.resembles,
            split=entry.split,
            language=entry.language,
            is_hard_negative=entry.is_hard_negative,
        )
        for entry in entries
    ]


def measure(samples: Sequence[Sample]) -> dict[str, Any]:
    """The metrics of each detector, and of servers that were scanned how many tools were flagged."""
    scanned = []
    for sample in (sample for sample in samples if "tools" in sample.measured):
        tools = tools_of(sample)
        scanned.append(
            {
                "detector": sample.measured["detector"],
                "server": sample.measured["server"],
                "tools": len(tools),
                "flagged": [tool["tool"] for tool in tools if tool["flagged"]],
                "errors": sum(tool["flagged"] is None for tool in tools),
            }
        )
    if scanned:
        return {"per_detector": [], "scanned": scanned}
    return {
        "per_detector": [
            {"detector": name, "ceiling": ceiling, **measured([row_of(one) for one in found], ceiling)}
            for name, found in by_detector(samples).items()
            for ceiling in [found[0].measured["ceiling"]]
        ]
    }


def tools_of(sample: Sample) -> list[Mapping[str, Any]]:
    """The tools of a scanned server, each as in its worst run: flagged, no verdict, harmless."""
    found: dict[str, Mapping[str, Any]] = {}
    for tool in (tool for run in runs_of(sample) for tool in run.measured.get("tools", ())):
        known = found.setdefault(tool["tool"], tool)
        if _BADNESS[tool["flagged"]] > _BADNESS[known["flagged"]]:
            found[tool["tool"]] = tool
    return list(found.values())


def measure_run(samples: Sequence[Sample]) -> dict[str, Any]:
    """Times in milliseconds: the mean of all entries, and of each detector's."""

    def mean_time(found: Iterable[Sample]) -> float | None:
        # A detector that did not start took no time.
        return _mean([one.run["processingTimeMs"] for one in found if "processingTimeMs" in one.run])

    return {
        "averageProcessingTime": mean_time(answered(samples)),
        "perDetector": {name: mean_time(found) for name, found in by_detector(samples).items()},
        "cases": {sample.id: dict(sample.run) for sample in samples},
    }
