"""The agents' section of a report: cases, assertions by kind and by tool or agent, and what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.tables import Rating, Row, Table, rating_of
from pytest_mcpeval.kinds.agent.metrics import measure, without_set_aside
from pytest_mcpeval.kinds.agent.scoring import STATUSES
from pytest_mcpeval.kinds.agent.transitions import TRANSITIONS

COLUMNS = ("passed", "failed", "inconclusive")
SHOWN_TARGETS = 20


def tables(samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
    """One row for each agent, then its assertions over all agents, by kind and by target."""
    kept = [found for listed in samples.values() if (found := without_set_aside(listed))]
    if not kept:
        return []
    everything = measure([sample for found in kept for sample in found])
    rows = tuple(map(_agent_row, kept))
    return [
        Table("Agents", ("", *COLUMNS, "error", "pass rate"), rows, _brief(everything)),
        _groups("Assertions by kind", everything["by_assertion_kind"].items()),
        _groups("Assertions by tool or agent", _worst(everything["by_target"])),
    ]


def _agent_row(samples: Sequence[Sample]) -> Row:
    cases = measure(samples)["cases"]
    rate = 100 * cases["passed"] / cases["total"]
    figures = (str(cases[name]) for name in (*STATUSES, "error"))
    return Row((str(samples[0].traits["agent"]), *figures, f"{rate:.1f} %"), rating_of(rate))


def _brief(metrics: Mapping[str, Any]) -> str:
    cases = metrics["cases"]
    words = f"{cases['passed']} of {cases['total']} agent cases passed"
    return f"{words}, {cases['inconclusive']} inconclusive" if cases["inconclusive"] else words


def _groups(title: str, groups: Iterable[tuple[str, Mapping[str, int]]]) -> Table:
    rows = tuple(
        Row((name, *(str(group[column]) for column in COLUMNS)), _rating(group)) for name, group in groups
    )
    return Table(title, ("", *COLUMNS), rows)


def _rating(group: Mapping[str, int]) -> Rating:
    if group["failed"]:
        return "bad"
    return "fair" if group["inconclusive"] else ""


def _worst(groups: Mapping[str, Mapping[str, int]]) -> list[tuple[str, Mapping[str, int]]]:
    """All of a few, of many those with the most failures."""
    worst = sorted(groups, key=lambda name: (-groups[name]["failed"], -groups[name]["inconclusive"], name))
    return [(name, groups[name]) for name in sorted(worst[:SHOWN_TARGETS])]


def comparison_tables(compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """How many assertions of each suite changed since the earlier run, and how."""
    header = ("", *(name.replace("_", " ") for name in TRANSITIONS))
    rows = tuple(
        Row((key, *(str(found["counts"][name]) for name in TRANSITIONS))) for key, found in compared.items()
    )
    return [Table("Since the baseline run", header, rows)]
