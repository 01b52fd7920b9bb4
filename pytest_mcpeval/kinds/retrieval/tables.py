"""The retrieval section of a report: the metrics of each set and its slices, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mcpeval.core.headline import Headline, signed, spent_on
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.tables import Row, Table, short_titles
from pytest_mcpeval.kinds.retrieval.definitions import flat
from pytest_mcpeval.kinds.retrieval.explain import LABELS

COLUMNS = {
    "recall_at_1": "R@1",
    "recall_at_3": "R@3",
    "recall_at_5": "R@5",
    "recall_at_10": "R@10",
    "mrr": "MRR",
    "ndcg_at_10": "nDCG",
    "map": "MAP",
}
HEADLINES = {"mrr": "MRR", "ndcg_at_10": "nDCG@10", "map": "MAP"}
SHOWN_SERVERS = 15
NOT_FOUND = "–"
"""Shown for no rank, and for the missing value of a metric that needs more results than the depth."""


def tables(suites: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Two tables for each suite (suite key → its metrics): the set with its slices, and those by server."""
    titles = short_titles(suites)
    found = [table for key, metrics in suites.items() for table in _of(titles[key], metrics)]
    return [*found, Table("Malformed results", ("", "queries"), tuple(_problems(titles, suites)))]


def _problems(titles: Mapping[str, str], suites: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the number of queries for each problem, whether they hit or not."""
    for key, metrics in suites.items():
        if metrics["missing"] and metrics["queries"]:
            lacking = f"{len(metrics['missing'])} of {metrics['queries']}"
            yield Row((f"{titles[key]}: missing, counted as 0", lacking), rating="bad")
        for name, count in metrics.get("problems", {}).items():
            yield Row((f"{titles[key]}: {name}", f"{count} of {metrics['queries']}"))


def _of(title: str, metrics: Mapping[str, Any]) -> Iterator[Table]:
    header = (title, "n", *COLUMNS.values())
    slices = metrics["slices"]
    if not metrics["queries"]:
        return
    rows = [_row("all queries", metrics), *_spread(metrics), _highest(metrics)]
    rows += [_row(name, group) for name, group in slices.get("difficulty", {}).items()]
    known = slices.get("difficulty", {})
    rows += [_row(name, group) for name, group in slices.get("notes", {}).items() if name not in known]
    yield Table(title, header, tuple(rows), _brief(title, metrics))
    yield Table("By server", ("", *header[1:]), tuple(_server_rows(slices.get("server", {}))))


def _row(name: str, group: Mapping[str, Any]) -> Row:
    values = flat(group)
    cells = (f"{values[metric]:.3f}" if metric in values else NOT_FOUND for metric in COLUMNS)
    return Row((name, str(group["queries"]), *cells))


def _spread(metrics: Mapping[str, Any]) -> Iterator[Row]:
    """The standard deviations over several runs."""
    if "runs" in metrics:
        deviations = flat(metrics["standard_deviation"])
        cells = (f"±{deviations[name]:.3f}" if name in deviations else "" for name in COLUMNS)
        yield Row((f"over {metrics['runs']} runs", "", *cells))


def _highest(metrics: Mapping[str, Any]) -> Row:
    """Return the highest recall that the labels allow: only one of two relevant tools can be first."""
    highest = flat({"recall_at": metrics["highest_recall_at"]})
    cells = (f"{highest[name]:.3f}" if name in highest else "" for name in COLUMNS)
    return Row(("highest possible", "", *cells))


def _server_rows(groups: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """One row for each server; of very many those with the lowest Recall@5, or the deepest below it."""
    if len(groups) <= SHOWN_SERVERS:
        yield from (_row(name, group) for name, group in groups.items())
        return

    def recall(name: str) -> float:
        values = flat(groups[name])
        return next(values[f"recall_at_{k}"] for k in (5, 3, 1) if f"recall_at_{k}" in values)

    worst = sorted(groups, key=lambda name: (recall(name), name))
    for name in worst[:SHOWN_SERVERS]:
        yield _row(name, groups[name])
    blank = ("",) * len(COLUMNS)
    yield Row((f"and {len(groups) - SHOWN_SERVERS} better", "", *blank))


def _brief(title: str, metrics: Mapping[str, Any]) -> str:
    values = flat(metrics)
    titles = {"recall_at_5": "Recall@5", "mrr": "MRR", "ndcg_at_10": "nDCG@10"}
    figures = ", ".join(f"{word} {values[name]:.3f}" for name, word in titles.items() if name in values)
    missing = len(metrics["missing"])
    lacking = f" ({missing} missing, counted as 0)" if missing else ""
    return f"{title}: {figures} over {metrics['queries']} queries{lacking}"


def headlines(
    samples: Sequence[Sample], metrics: Mapping[str, Any], compared: Mapping[str, Any]
) -> list[Headline]:
    """Recall@5, or the first of the other metrics that there is."""
    values = flat(metrics)
    name = next((one for one in ("recall_at_5", *COLUMNS) if one in values), None)
    if name is None or not metrics["queries"]:
        return []
    spread = flat(metrics["standard_deviation"]).get(name) if "runs" in metrics else None
    change = compared.get("metrics", {}).get(name)
    headline = Headline(
        name=HEADLINES.get(name, name).replace("_at_", "@"),
        text=f"{values[name]:.3f}" + ("" if spread is None else f" ± {spread:.3f}"),
        value=values[name],
        beside=f"{len(metrics['missing'])} missing" if metrics["missing"] else "",
        baseline=None if change is None else values[name] - change,
        change=change,
        change_text="" if change is None else signed(change),
        spent=spent_on(samples),
    )
    return [headline]


def ranked_list(sample: Sample) -> list[Table]:
    """The ranked list of a query with its labels, then the relevant tools that were not returned.

    With a baseline that holds ranks, those of the relevant tools stand beside the new ones.
    """
    measured = sample.measured
    if "ranked" not in measured:
        return []
    labels, ranked = measured["labels"], measured["ranked"]
    rows = [(tool, str(rank)) for rank, tool in enumerate(ranked, 1)]
    rows += [(tool, NOT_FOUND) for tool, rank in measured["ranks"].items() if rank is None]
    old: Mapping[str, int] | None = measured.get("baseline_ranks")
    known = [] if old is None else ["baseline"]
    title = f"Ranked list ({len(ranked)} of {measured['depth']} asked for)"
    listed = [
        # A baseline holds the ranks of relevant tools only.
        Row(
            (
                tool,
                rank,
                *(str((old or {}).get(tool, NOT_FOUND)) if labels.get(tool) else "" for _ in known),
                LABELS.get(labels.get(tool), ""),
            )
        )
        for tool, rank in rows
    ]
    return [Table(title, ("tool", "rank", *known, "label"), tuple(listed))]


def comparison_tables(compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """What changed since the baselines (suite key → what `compared` found)."""
    titles = short_titles(compared)
    rows = []
    for key, found in compared.items():
        changes = found["metrics"]
        cells = (f"{changes[name]:+.3f}" if name in changes else "" for name in COLUMNS)
        rows.append(Row((titles[key], *cells)))
    return [Table("Change since baseline", ("", *COLUMNS.values()), tuple(rows))]
