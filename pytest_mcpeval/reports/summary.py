"""Suites in a line each, and what changed since the baselines: the first that a person reads of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_mcpeval.core.gate import SLACK, GateResult, figure
from pytest_mcpeval.core.tables import Rating

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation, SuiteResult
    from pytest_mcpeval.core.headline import Headline, Spent

COLUMNS = ("", "kind", "suite", "cases", "result", "change", "gates", "median/p95")
MARKS: dict[Rating, str] = {"good": "✓", "fair": "?", "bad": "✗", "": " "}


@dataclass(frozen=True)
class SuiteLine:
    """One suite, or one of the things it evaluates: its cells, which are those of `COLUMNS`, and a rating."""

    cells: tuple[str, ...]
    rating: Rating


def suite_lines(evaluation: Evaluation) -> list[SuiteLine]:
    """A line for each suite, those that are wrong first; one more for each thing that a suite evaluates."""
    short = short_names(evaluation.suites)
    order: list[Rating] = ["bad", "fair", "good"]
    ranked = sorted(evaluation.suites, key=lambda suite: order.index(rating_of(suite)))
    return [line for suite in ranked for line in _lines(suite, short[suite.key])]


def _lines(suite: SuiteResult, name: str) -> Iterator[SuiteLine]:
    rating, complete = rating_of(suite), suite.complete
    found, wanted = complete.measured, complete.expected
    cases = str(wanted) if found == wanted else f"{found}/{wanted}"
    start = (MARKS[rating], suite.selection.kind, name, cases)
    headlines = suite.headlines
    if len(headlines) == 1:
        result, change, times = _cells(headlines[0])
        yield SuiteLine((*start, result, change, _gates(suite), times), rating)
        return
    yield SuiteLine((*start, "", "", _gates(suite), ""), rating)
    for one in headlines:
        result, change, times = _cells(one)
        yield SuiteLine(("", "", f"  {one.subject or one.name}", "", result, change, "", times), "")


def _cells(one: Headline) -> tuple[str, str, str]:
    return (
        ", ".join(filter(None, (f"{one.name} {one.text}", one.beside))),
        one.change_text,
        spent_text(one.spent),
    )


def rating_of(suite: SuiteResult) -> Rating:
    """Whether a suite holds: bad if a gate or a case failed, fair if nobody knows."""
    verdicts = {gate.verdict for gate in suite.gates}
    outcomes = {sample.outcome for sample in suite.samples}
    complete = suite.complete
    if verdicts & {"failed", "error"} or outcomes & {"failed", "error"}:
        return "bad"
    if complete.missing and not complete.partial:
        return "bad"
    if "not_evaluated" in verdicts or complete.partial or suite.undecided or "inconclusive" in outcomes:
        return "fair"
    return "good"


def _gates(suite: SuiteResult) -> str:
    counts = Counter(gate.verdict for gate in suite.gates)
    wrong = counts["failed"] + counts["error"]
    parts = [f"{wrong} ✗" * bool(wrong), f"{counts['passed']} ✓" * bool(counts["passed"])]
    return " ".join(filter(None, parts)) or "–"


def spent_text(spent: Spent) -> str:
    """What cases took, for people: ``3/5 ms``, and tokens and cost where they are known."""
    parts = []
    if spent.median_ms is not None and spent.p95_ms is not None:
        parts.append(_times(spent.median_ms, spent.p95_ms))
    if spent.tokens is not None:
        parts.append(f"{spent.tokens:,} tokens")
    if spent.cost_usd is not None:
        cost = f"{spent.cost_usd:,.2f}" if spent.cost_usd >= 1 else f"{Decimal(f'{spent.cost_usd:.2g}'):f}"
        parts.append(f"${cost}")
    return ", ".join(parts)


def _times(median: float, p95: float) -> str:
    texts = [
        f"{time / 1000:.1f} s" if time >= 1000 else f"{time:.{int(time < 1)}f} ms" for time in (median, p95)
    ]
    # One unit for both, where it is the same.
    return "/".join(texts) if texts[0][-2:] != texts[1][-2:] else f"{texts[0].split()[0]}/{texts[1]}"


def short_names(suites: Sequence[SuiteResult]) -> dict[str, str]:
    """Suite key → the end of its path that no other suite has, without the suffix of the file.

    The directory is part of it where the file is named as its kind is.
    """
    paths = {suite.key: PurePosixPath(suite.key).with_suffix("").parts for suite in suites}
    found = {}
    for suite in suites:
        parts = paths[suite.key]
        least = 2 if parts[-1] == suite.selection.kind else 1
        ends = ("/".join(parts[-length:]) for length in range(least, len(parts)))
        others = [f"/{'/'.join(other)}" for key, other in paths.items() if key != suite.key]
        unique = (end for end in ends if not any(other.endswith(f"/{end}") for other in others))
        found[suite.key] = next(unique, suite.key)
    return found


def changes(evaluation: Evaluation) -> str:
    """The best and the worst change since the baselines; empty where nothing was compared with one."""
    short = short_names(evaluation.suites)
    compared = [
        (one.change, f"{short[suite.key]} {one.change_text}")
        for suite in evaluation.suites
        for one in suite.headlines
        if one.change is not None
    ]
    if not compared:
        return ""
    worst, best = min(compared), max(compared)
    parts = [f"worst change {worst[1]}"] if worst[0] < -SLACK else []
    parts += [f"best change {best[1]}"] if best[0] > SLACK else []
    return ", ".join(parts) or "no change since the baseline"


def wrong_gates(evaluation: Evaluation) -> list[GateResult]:
    """The gates that failed or are in error, those first that compare with a baseline."""
    found = [gate for gate in evaluation.gates if gate.verdict in ("failed", "error")]
    return sorted(found, key=lambda gate: gate.baseline is None)


def figures_of(gate: GateResult) -> str:
    """The value of a gate beside that of the baseline and the limit; empty without a baseline."""
    if gate.value is None or gate.baseline is None:
        return ""
    limit = "" if gate.limit is None else f", limit {figure(gate.limit)}"
    return f"value {figure(gate.value)}, baseline {figure(gate.baseline)}{limit}"


def unjudged_gates(evaluation: Evaluation) -> list[tuple[str, str, list[GateResult]]]:
    """(word, suite, gates) for each suite with gates that are not set, or were not evaluated."""
    found = []
    for verdict, word in (("not_set", "NOT SET"), ("not_evaluated", "NOT EVALUATED")):
        suites: dict[str, list[GateResult]] = {}
        for gate in evaluation.gates:
            if gate.verdict == verdict:
                suites.setdefault(gate.suite, []).append(gate)
        found += [(word, suite, gates) for suite, gates in suites.items()]
    return found
