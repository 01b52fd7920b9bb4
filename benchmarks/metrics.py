"""Queries scored per second, beside pytrec_eval and ranx, in the same run.

``python benchmarks/metrics.py [--quick]``: 10,000 and 100,000 queries of depth 100, all metrics of the
retrieval kind, from ranked lists of tool ids. pytrec_eval and ranx want scores by id, so making those from
the lists is part of their time; what they need without that is printed too. All are checked to agree.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter, process_time
from typing import Any

import pytrec_eval

from pytest_mcpeval.kinds.retrieval.definitions import CUTOFFS, METRICS
from pytest_mcpeval.kinds.retrieval.metrics import Scores, evaluate_many
from pytest_mcpeval.kinds.retrieval.rankings import Ranking

DEPTH = 100
TOOLS = 3_000
SIZES = (10_000, 100_000)
TARGET = 8.0
AGREEMENT = 1e-12

TREC_MEASURES = {
    **{f"recall_at_{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"hit_at_{k}": f"success_{k}" for k in CUTOFFS},
    "mrr": "recip_rank",
    "ndcg_at_10": "ndcg_cut_10",
    "map": "map",
}
RANX_MEASURES = {
    **{f"recall_at_{k}": f"recall@{k}" for k in CUTOFFS},
    **{f"hit_at_{k}": f"hit_rate@{k}" for k in CUTOFFS},
    "mrr": "mrr",
    "ndcg_at_10": "ndcg@10",
    "map": "map",
}


@dataclass(frozen=True)
class Data:
    """Queries with their ranked lists and labels, in the same order."""

    ids: Sequence[str]
    lists: Sequence[list[str]]
    labels: Sequence[dict[str, int]]

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """Query id → labels."""
        return dict(zip(self.ids, self.labels, strict=True))

    def run(self) -> dict[str, dict[str, float]]:
        """Query id → tool id → a score that falls with the rank."""
        scores = [float(DEPTH - place) for place in range(DEPTH)]
        return {
            query: dict(zip(ranked, scores, strict=True))
            for query, ranked in zip(self.ids, self.lists, strict=True)
        }


def data_of(count: int) -> Data:
    """Random queries with 1 to 3 relevant tools and two others judged; four in five found, mostly early."""
    chance = random.Random(11)
    tools = [f"server-{number % 30}:tool_{number}" for number in range(TOOLS)]
    lists, labels = [], []
    for _ in range(count):
        ranked = chance.sample(tools, DEPTH)
        relevant = chance.choice([1, 1, 1, 2, 2, 3])
        judged = chance.sample(tools, relevant + 2)
        for tool in judged:
            if tool not in ranked and chance.random() < 0.8:
                ranked[min(DEPTH - 1, int(chance.expovariate(1 / 8)))] = tool
        lists.append(ranked)
        labels.append({tool: chance.choice([1, 2]) * (n < relevant) for n, tool in enumerate(judged)})
    return Data([f"q{number:06}" for number in range(count)], lists, labels)


@dataclass(frozen=True)
class Time:
    """Wall clock and processor seconds."""

    wall: float
    processor: float


def in_turns(subjects: Mapping[str, Callable[[], Any]], rounds: Mapping[str, int]) -> dict[str, Time]:
    """The shortest time of each subject; all take turns, so that a busy moment of the machine hits all."""
    found: dict[str, list[Time]] = {name: [] for name in subjects}
    for number in range(max(rounds.values())):
        for name, subject in subjects.items():
            if number < rounds[name]:
                found[name].append(timed(subject))
    return {
        name: Time(min(time.wall for time in times), min(time.processor for time in times))
        for name, times in found.items()
    }


def timed(subject: Callable[[], Any]) -> Time:
    """One round; the garbage collector is paused, for all subjects alike."""
    gc.collect()
    gc.disable()
    wall, processor = perf_counter(), process_time()
    subject()
    time = Time(perf_counter() - wall, process_time() - processor)
    gc.enable()
    return time


def ours(data: Data) -> Scores:
    """All metrics, from ranked lists."""
    return evaluate_many(map(Ranking, data.ids, data.lists, data.labels), DEPTH)


def trec(data: Data, run: Mapping[str, Mapping[str, float]]) -> Any:
    """All metrics by pytrec_eval."""
    cutoffs = ",".join(map(str, CUTOFFS))
    measures = {f"recall.{cutoffs}", f"success.{cutoffs}", "recip_rank", "ndcg_cut.10", "map"}
    return pytrec_eval.RelevanceEvaluator(data.qrels, measures).evaluate(run)


def ranx(data: Data, run: Mapping[str, Mapping[str, float]]) -> Any:
    """All metrics by ranx."""
    module = import_module("ranx")
    qrels, its_run = module.Qrels(data.qrels), module.Run(run)
    return module.evaluate(qrels, its_run, list(RANX_MEASURES.values()), return_mean=False)


def agree(data: Data) -> bool:
    """Whether all three give every query the same values."""
    scores, run = ours(data), data.run()
    by_trec, by_ranx = trec(data, run), ranx(data, run)
    furthest = 0.0
    for metric in METRICS:
        values = scores.of(metric)
        theirs = [by_trec[query][TREC_MEASURES[metric]] for query in data.ids]
        furthest = max(
            furthest, abs(values - theirs).max(), abs(values - by_ranx[RANX_MEASURES[metric]]).max()
        )
    print(f"largest difference of any value of any query: {furthest:.1e} (wanted at most {AGREEMENT:g})\n")
    return furthest <= AGREEMENT


def compare(count: int, rounds: int) -> bool:
    """Print queries per second of all three, and whether the target holds."""
    data = data_of(count)
    run = data.run()
    subjects: dict[str, Callable[[], Any]] = {
        "pytest-mcpeval": lambda: ours(data),
        "pytrec_eval": lambda: trec(data, data.run()),
        "pytrec_eval, scores ready": lambda: trec(data, run),
        "ranx": lambda: ranx(data, data.run()),
        "ranx, scores ready": lambda: ranx(data, run),
    }
    # ranx takes minutes for what the others do in seconds.
    times = in_turns(subjects, {name: 1 if name.startswith("ranx") else rounds for name in subjects})
    print(f"{count:,} queries of depth {DEPTH}, {len(METRICS)} metrics")
    mine = times["pytest-mcpeval"]
    for name, time in times.items():
        ratio = time.processor / mine.processor
        print(
            f"  {name:<28}{count / time.wall:>12,.0f} queries/s by the clock"
            f"{count / time.processor:>12,.0f} by processor time{ratio:>8.2f} ×"
        )
    ratio = times["pytrec_eval"].processor / mine.processor
    holds = ratio >= TARGET
    words = "OK" if holds else "BELOW"
    print(f"  {ratio:.2f} × pytrec_eval from ranked lists, target ≥ {TARGET:g} ×: {words}\n")
    return holds


def main() -> int:
    """Print all figures; the exit status says whether the target holds and the values agree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10,000 queries only, fewer rounds")
    quick = parser.parse_args().quick
    # ranx's compiler warns of casts of its own.
    warnings.filterwarnings("ignore", module="numba|ranx")
    agreed = agree(data_of(2_000))
    held = [compare(count, 5 if quick else 9) for count in (SIZES[:1] if quick else SIZES)]
    return 0 if agreed and all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
