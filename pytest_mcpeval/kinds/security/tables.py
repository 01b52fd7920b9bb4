"""The security section of a report: the rates of each detector on each corpus, and its wrong verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_mcpeval.core.headline import Headline, change_in_words, spent_on
from pytest_mcpeval.core.headline import percent as percent_over_runs
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.tables import Row, Table, short_titles
from pytest_mcpeval.kinds.security.gates import percent

COLUMNS = ("TP", "FP", "TN", "FN", "errors", "precision", "recall", "F1", "FPR (95 % CI)")
ERRORS = COLUMNS.index("errors") + 1


def tables(suites: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """For each suite (suite key → its metrics) its detectors with their splits, categories and rules."""
    titles = short_titles(suites)
    return [table for key, metrics in suites.items() for table in _of(titles[key], metrics)]


def _of(title: str, metrics: Mapping[str, Any]) -> Iterator[Table]:
    detectors = metrics["per_detector"]
    rows = [row for found in detectors for row in _detector_rows(found, metrics)]
    table = Table(title, (title, *COLUMNS), tuple(rows), "; ".join(_brief(title, one) for one in detectors))
    yield table if any(found["errors"] for found in detectors) else _without_errors(table)
    yield _categories(title, detectors)
    yield _scores(title, detectors)
    yield _rules(title, detectors)
    yield _scanned(title, metrics.get("scanned", ()))


def _without_errors(table: Table) -> Table:
    """Return the table without its column of errors if all are zero: eighty columns are narrow."""

    def without(cells: Sequence[str]) -> tuple[str, ...]:
        return (*cells[:ERRORS], *cells[ERRORS + 1 :])

    rows = tuple(replace(row, cells=without(row.cells)) for row in table.rows)
    return replace(table, header=without(table.header), rows=rows)


def _detector_rows(found: Mapping[str, Any], metrics: Mapping[str, Any]) -> Iterator[Row]:
    yield _row(found["detector"], found)
    yield from _spread(found["detector"], metrics)
    hard = found["hard_negatives"]
    if hard["entries"]:
        flagged = hard["flagged"]
        right = hard["entries"] - hard["errors"] - flagged
        counts = ("", f"{flagged:g}", f"{right:g}", "", str(hard["errors"]))
        yield Row(("  hard negatives", *counts, "", "", "", _with_interval(hard)))
    for split, group in found["slices"]["split"].items():
        yield _row(f"  split {split}", group)


def _spread(detector: str, metrics: Mapping[str, Any]) -> Iterator[Row]:
    """The standard deviations over several runs, and the share of entries whose verdict changed."""
    if "runs" not in metrics:
        return
    spread = metrics["standard_deviation"].get(detector, {})
    rates = [f"±{100 * spread[name]:.1f} %" if name in spread else "" for name in ("precision", "recall")]
    f1 = f"±{spread['f1']:.3f}" if "f1" in spread else ""
    fpr = f"±{100 * spread['fpr']:.1f} %" if "fpr" in spread else ""
    yield Row((f"  over {metrics['runs']} runs", *("",) * 5, *rates, f1, fpr))


def _row(name: str, group: Mapping[str, Any]) -> Row:
    counts = [f"{group[one]:g}" for one in ("tp", "fp", "tn", "fn")]
    f1 = "–" if group["f1"] is None else f"{group['f1']:.3f}"
    rates = (_rate(group["precision"]), _rate(group["recall"]), f1)
    return Row((name, *counts, str(group["errors"]), *rates, _with_interval(group)))


def _with_interval(group: Mapping[str, Any]) -> str:
    """The false-positive rate and its interval, in percent."""
    interval = group["fpr_interval"]
    if interval is None:
        return _rate(group["fpr"])
    return f"{_rate(group['fpr'])} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def _rate(share: float | None) -> str:
    """A share in percent; a dash for one that is undefined."""
    return "–" if share is None else percent(share)


def _ends(interval: Sequence[float] | None) -> str:
    return "–" if interval is None else f"{100 * interval[0]:.1f}–{percent(interval[1])}"


def _categories(title: str, detectors: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for found in detectors:
        for name, group in found["per_category"].items():
            rate = "recall" if "recall" in group else "fpr"
            said = "recall" if rate == "recall" else "FPR"
            counts = (str(group["entries"]), f"{group['flagged']:g}", said, _rate(group[rate]))
            rows.append(Row((f"{found['detector']} {name}", *counts, _ends(group[f"{rate}_interval"]))))
        for name, group in found["slices"]["resembles"].items():
            counts = (str(group["entries"]), f"{group['flagged']:g}", "FPR", _rate(group["fpr"]))
            rows.append(Row((f"{found['detector']} like {name}", *counts, _ends(group["fpr_interval"]))))
    return Table(f"Categories of {title}", ("", "n", "flagged", "", "rate", "95 % CI"), tuple(rows))


def _scores(title: str, detectors: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for found in detectors:
        if scores := found.get("scores"):
            figures = (f"{scores['auc']:.3f}", f"{scores['average_precision']:.3f}")
            rows.append(Row((found["detector"], *figures, _rate(scores.get("recall_at_ceiling")))))
    header = ("", "AUC", "average precision", "recall at the ceiling")
    return Table(f"Scores on {title}", header, tuple(rows))


def _rules(title: str, detectors: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        Row((f"{found['detector']} {rule}", str(counts["malicious"]), str(counts["benign"])))
        for found in detectors
        for rule, counts in found["per_rule"].items()
    ]
    return Table(f"Rules on {title}", ("", "malicious", "benign"), tuple(rows))


def _scanned(title: str, scanned: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for found in scanned:
        counts = (str(found["tools"]), str(found["errors"]), str(len(found["flagged"])))
        rows.append(
            Row((f"{found['detector']} {found['server']}", *counts), "bad" if found["flagged"] else "")
        )
    flagged = sum(len(found["flagged"]) for found in scanned)
    brief = f"{title}: {flagged} of {sum(found['tools'] for found in scanned)} tools flagged"
    return Table(f"Scanned by {title}", ("", "tools", "errors", "flagged"), tuple(rows), brief)


def _brief(title: str, found: Mapping[str, Any]) -> str:
    recall = "not measured" if found["recall"] is None else _rate(found["recall"])
    rates = f"recall {recall}, FPR {_rate(found['fpr'])}, precision {_rate(found['precision'])}"
    if found["errors"]:
        answered = round(sum(found[name] for name in ("tp", "fp", "tn", "fn")))
        rates += f"; rates are of the {answered} of {found['entries']} entries with a verdict"
    return f"{title}, {found['detector']}: {rates}"


def headlines(
    samples: Sequence[Sample], metrics: Mapping[str, Any], compared: Mapping[str, Any], judged: str | None
) -> list[Headline]:
    """Recall beside the false-positive rate of each detector; how many scanned tools it flagged.

    ``judged`` is the split that gates look at, and None for all entries.
    """
    changes = compared.get("detectors", {})
    found = [_headline(one, metrics, changes.get(one["detector"]), judged) for one in metrics["per_detector"]]
    found += [
        Headline("flagged", f"{len(one['flagged'])} of {one['tools']} tools", subject=one["server"])
        for one in metrics.get("scanned", ())
    ]
    by_detector = {
        one.subject: [sample for sample in samples if sample.measured.get("detector") == one.subject]
        for one in found
    }
    return [replace(one, spent=spent_on(by_detector[one.subject])) for one in found]


def _headline(
    found: Mapping[str, Any],
    metrics: Mapping[str, Any],
    changes: Mapping[str, Any] | None,
    judged: str | None,
) -> Headline:
    group = found["slices"]["split"].get(judged, found)
    # Of a split, how far it varied is not measured.
    known = metrics["standard_deviation"] if "runs" in metrics and group is found else {}
    spread = known.get(found["detector"], {})
    name, key = ("FPR", "fpr") if group["recall"] is None else ("recall", "recall")
    value, fpr = group[key], group["fpr"] if key == "recall" else None
    headline = Headline(
        name=name,
        text="–" if value is None else percent_over_runs(value, spread.get(key)),
        value=value,
        subject=found["detector"],
        beside="" if fpr is None else f"FPR {percent_over_runs(fpr, spread.get('fpr'))}",
    )
    if changes is None:
        return headline
    worse = len(changes["newly_missed"]) + len(changes["new_false_alarms"])
    better = len(changes["newly_found"]) + len(changes["gone_false_alarms"])
    share = (better - worse) / max(group["entries"], 1)
    return replace(headline, change=share, change_text=change_in_words(better, worse))


def comparison_tables(compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """What changed since the baselines (suite key → what `compared` found)."""
    titles = short_titles(compared)
    names = ("newly_missed", "newly_found", "new_false_alarms", "gone_false_alarms")
    rows = [
        Row((f"{titles[key]} {detector}", *(str(len(changes[name])) for name in names)))
        for key, found in compared.items()
        for detector, changes in found["detectors"].items()
    ]
    header = ("", *(name.replace("_", " ") for name in names))
    return [Table("Verdicts since baseline", header, tuple(rows))]
