"""What the first screen says: the verdict in words, the gates, and the main numbers of each suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.core.gate import SLACK, figure
from pytest_mcpeval.loading.messages import counted

Data = Mapping[str, Any]

WEIGHT = {"error": 0, "failed": 1, "not_evaluated": 2, "passed": 3, "not_set": 4}
"""The order of gates: what is wrong comes first."""

SHOWN_CHANGES = 3
"""In the headline; the rest is counted."""


@dataclass(frozen=True)
class Change:
    """What changed in a suite since its baseline. ``won`` and ``lost`` are case ids."""

    words: str
    is_worse: bool
    won: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Number:
    """A share that says how good a suite is, with what it is compared with."""

    name: str
    value: float | None
    words: str
    baseline: float | None = None
    limit: float | None = None
    wanted: str = "at least"
    interval: Sequence[float] | None = None
    has_failed: bool = False


def metric_name(name: str) -> str:
    """``recall_at_5`` as people write it: ``recall@5``."""
    return name.replace("_at_", "@").replace("_", " ")


def metric_value(metrics: Data, name: str) -> float | None:
    """A metric of a retrieval suite by its name, such as ``recall_at_5``."""
    family, at, k = name.rpartition("_at_")
    found = metrics.get(f"{family}_at", {}).get(k) if at and f"{family}_at" in metrics else metrics.get(name)
    return None if found is None else float(found)


def changes_of(suite: Data) -> list[Change]:
    """What changed in a suite since its baseline, in words; empty where nothing did."""
    delta = suite["baseline_delta"]
    if not delta:
        return []
    if suite["kind"] == "retrieval":
        return list(_retrieval_changes(suite["metrics"], delta))
    if suite["kind"] == "security":
        return list(_detector_changes(suite, delta))
    return list(_agent_changes(delta)) if suite["kind"] == "agent" else []


def titles(suites: Iterable[str]) -> dict[str, str]:
    """Suite key → the end of its path that no other suite has, such as ``mina/basic.yaml``."""
    keys = list(suites)
    found = {}
    for key in keys:
        parts = key.split("/")
        ends = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
        found[key] = next(
            (end for end in ends if sum(f"/{one}".endswith(f"/{end}") for one in keys) == 1), key
        )
    return found


def _retrieval_changes(metrics: Data, delta: Data) -> Iterator[Change]:
    queries = delta.get("queries", {})
    name = queries.get("by")
    if name is None:
        return
    value, moved = metric_value(metrics, name), delta["metrics"].get(name, 0.0)
    won, lost = frozenset(queries.get("won", ())), frozenset(queries.get("lost", ()))
    if value is None or (abs(moved) <= SLACK and not won and not lost):
        return
    verb = "stayed at" if abs(moved) <= SLACK else "fell" if moved < 0 else "rose"
    old, new = share(value - moved), share(value)
    if old == new and verb != "stayed at":
        old, new = figure(value - moved), figure(value)
    ends = f" {new}" if verb == "stayed at" else f" from {old} to {new}"
    words = f"{metric_name(name)} {verb}{ends}, {counted(len(lost), 'query', 'queries')} lost, {len(won)} won"
    yield Change(words, moved < -SLACK, won, lost)


def _detector_changes(suite: Data, delta: Data) -> Iterator[Change]:
    ids = {
        (case["measured"].get("detector"), case["measured"].get("entry")): case["id"]
        for case in suite["cases"]
    }
    for name, changed in delta["detectors"].items():
        missed, found, alarms, gone = (
            frozenset(ids.get((name, entry), entry) for entry in changed[what])
            for what in ("newly_missed", "newly_found", "new_false_alarms", "gone_false_alarms")
        )
        if alarms or gone:
            words = f"{counted(len(alarms), 'new false alarm')} of {name}, {len(gone)} gone"
            yield Change(words, len(alarms) > len(gone), gone, alarms)
        if missed or found:
            words = f"{len(missed)} newly missed by {name}, {len(found)} newly found"
            yield Change(words, len(missed) > len(found), found, missed)


def _agent_changes(delta: Data) -> Iterator[Change]:
    moved = delta.get("changed", ())
    lost = [one["case"] for one in moved if one.get("transition") in ("newly_failing", "turned_out_failing")]
    won = [one["case"] for one in moved if one.get("transition") == "newly_passing"]
    if lost or won:
        words = f"{counted(len(lost), 'assertion')} newly failing, {len(won)} newly passing"
        yield Change(words, len(lost) > len(won), frozenset(won), frozenset(lost))


def share(value: float) -> str:
    """A share for people: two digits, and three of a small one."""
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3f}"


def headline(report: Data) -> str:
    """The verdict in words: what got worse first."""
    verdict = report["verdict"]
    changes = [(key, change) for key, suite in report["suites"].items() for change in changes_of(suite)]
    worse = [change.words for _, change in changes if change.is_worse]
    better = [change.words for _, change in changes if not change.is_worse]
    failed = _failures(report, {key for key, change in changes if change.is_worse})
    if verdict == "error":
        return f"Error: {_listed([*worse, *failed]) or report['reason']}"
    if verdict == "failed":
        return f"{'Worse' if worse else 'Failed'}: {_listed([*worse, *failed]) or report['reason']}"
    if verdict == "not_evaluated":
        return f"No verdict: {_listed([*worse, *failed]) or report['reason']}"
    if worse:
        return f"Passed, though {_listed(worse)}"
    if better:
        return f"Better: {_listed(better)}"
    has_baseline = any(suite["baseline_delta"] for suite in report["suites"].values())
    return "Passed: nothing changed since the baselines" if has_baseline else f"Passed: {report['reason']}"


def _failures(report: Data, told: set[str]) -> list[str]:
    """What failed in suites of which nothing worse is told yet."""
    found = []
    names = titles(report["suites"])
    for key, suite in report["suites"].items():
        outcomes = Counter(case["outcome"] for case in suite["cases"])
        parts = [
            f"{outcomes[outcome]} of {suite['expected']} cases {word}"
            for outcome, word in (("error", "in error"), ("failed", "failed"))
            if outcomes[outcome]
        ]
        failed = [
            gate
            for gate in report["gates"]
            if gate["suite"] == key and gate["verdict"] in ("failed", "error")
        ]
        if failed and not parts and key not in told:
            parts = [_gate_words(failed[0])]
        if parts:
            found.append(f"{names[key]}: {', '.join(parts)}")
    return found


def _gate_words(gate: Data) -> str:
    name, value, limit = metric_name(gate["name"]), gate["value"], gate["limit"]
    if value is None or limit is None:
        return f"{name} {'failed' if gate['verdict'] == 'failed' else 'is in error'}"
    return f"{name} is {figure(value)}, wanted {gate['wanted']} {figure(limit)}"


def _listed(parts: Sequence[str]) -> str:
    shown = "; ".join(parts[:SHOWN_CHANGES])
    return shown if len(parts) <= SHOWN_CHANGES else f"{shown}; and {len(parts) - SHOWN_CHANGES} more"


def gates(report: Data) -> list[dict[str, Any]]:
    """The gates as rows of a table, what is wrong first."""
    names = titles(report["suites"])
    timed = report["run"].get("gates", {})
    rows = []
    for number, gate in enumerate(report["gates"]):
        nodeid = f"{gate['suite']}::gates::{gate['name']}"
        gate = {**gate, **timed.get(nodeid, {})}
        value, baseline, limit = gate["value"], gate["baseline"], gate["limit"]
        moved = 0.0 if value is None or baseline is None else value - baseline
        is_floor = gate["wanted"] == "at least"
        delta = "–" if value is None or baseline is None else "0"
        direction = ""
        if abs(moved) > SLACK:
            delta = f"{moved:+.3g}".replace("-", "−")
            direction = "better" if (moved > 0) == is_floor else "worse"
        rows.append(
            {
                **gate,
                "order": (WEIGHT[gate["verdict"]], -abs(moved), number),
                "title": names.get(gate["suite"], gate["suite"]),
                "value": "–" if value is None else figure(value),
                "baseline": "–" if baseline is None else figure(baseline),
                "delta": delta,
                "direction": direction,
                "limit": "–" if limit is None else f"{'≥' if is_floor else '≤'} {figure(limit)}",
            }
        )
    return sorted(rows, key=lambda row: row["order"])


def main_numbers(suite: Data, gates: Mapping[str, Data]) -> list[Number]:
    """The shares of a suite that matter most; ``gates`` are its own, by name."""
    metrics, kind = suite["metrics"], suite["kind"]
    if kind == "retrieval":
        delta = suite["baseline_delta"]
        name = delta.get("queries", {}).get("by") or "recall_at_5"
        value, moved = metric_value(metrics, name), delta.get("metrics", {}).get(name)
        baseline = None if value is None or moved is None else value - moved
        gate = gates.get(name) or gates.get(f"{name}_floor")
        spread = metric_value(metrics.get("standard_deviation", {}), name)
        words = {} if value is None or spread is None else {"words": f"{share(value)} ± {spread:.2g}"}
        return [_number(metric_name(name), value, gate, baseline=baseline, **words)]
    if kind == "security":
        found = metrics["per_detector"]
        return [number for one in found for number in _detector_numbers(one, gates, is_only=len(found) == 1)]
    if kind == "session" and metrics.get("scenarios"):
        whole = metrics["scenarios"]
        ended = whole - sum(metrics["aborted"].values())
        return [_number("carried out", ended / whole, None, words=f"{ended} of {whole}")]
    kept = [case for case in suite["cases"] if case["outcome"] not in ("skipped", "xfailed")]
    passed = sum(case["outcome"] == "passed" for case in kept)
    value = passed / len(kept) if kept else None
    return [
        _number(
            "passed",
            value,
            gates.get("pass_rate"),
            words=f"{passed} of {len(kept)}" if kept else "not measured",
        )
    ]


def _detector_numbers(one: Data, gates: Mapping[str, Data], *, is_only: bool) -> Iterator[Number]:
    for rate, gate_name, said in (("fpr", "fpr_ceiling", "FPR"), ("recall", "recall_floor", "recall")):
        gate = gates.get(f"{one['detector']}-{gate_name}")
        judged = [one, *(one.get("slices", {}).get("split", {}).values())]
        value = one.get(rate) if gate is None or gate["value"] is None else gate["value"]
        interval = next((found.get(f"{rate}_interval") for found in judged if found.get(rate) == value), None)
        name = said if is_only else f"{said} of {one['detector']}"
        yield _number(name, value, gate, interval=interval)


def _number(name: str, value: float | None, gate: Data | None, **more: Any) -> Number:
    words = "not measured" if value is None else share(value)
    if gate is None:
        return Number(name, value, **{"words": words, **more})
    has_failed = gate["verdict"] in ("failed", "error")
    wanted = gate["wanted"]
    return Number(
        name, value, limit=gate["limit"], wanted=wanted, has_failed=has_failed, **{"words": words, **more}
    )
