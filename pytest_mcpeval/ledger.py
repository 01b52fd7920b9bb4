"""The ledger: which cases were to run, and the samples that came back, from however many processes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_mcpeval.samples import Sample


@dataclass(frozen=True)
class Selection:
    """One suite as a process collected it: all its cases, and those that were selected to run.

    ``path`` is None for cases written in Python.
    """

    suite: str
    kind: str
    path: str | None
    digest: str
    expected: Sequence[str]
    selected: Sequence[str]


def selections_to_json(selections: Iterable[Selection]) -> str:
    """Selections as one JSON string, to travel on a report."""
    return json.dumps([asdict(selection) for selection in selections], ensure_ascii=False)


@dataclass
class Ledger:
    """Fills up while a session runs; read when it ends."""

    selections: dict[str, Selection] = field(default_factory=dict)
    samples: dict[str, dict[str, Sample]] = field(default_factory=dict)

    def add_selections(self, text: str) -> None:
        """Note what a process collected. Every process of a run collects the same, so the first word counts."""
        for fields in json.loads(text):
            selection = Selection(**fields)
            self.selections.setdefault(selection.suite, selection)

    def add_sample(self, text: str) -> None:
        """Note a sample; that of a rerun replaces the earlier one."""
        sample = Sample.from_json(text)
        self.samples.setdefault(sample.suite, {})[sample.id] = sample

    def samples_of(self, selection: Selection) -> list[Sample]:
        """The samples of a suite, in the order of its file."""
        found: Mapping[str, Sample] = self.samples.get(selection.suite, {})
        return [found[case] for case in selection.expected if case in found]

    def of_kind(self, kind: str) -> dict[str, list[Sample]]:
        """Suite → samples of the suites of a kind that left any, sorted by suite."""
        chosen = [
            self.selections[key] for key in sorted(self.selections) if self.selections[key].kind == kind
        ]
        return {selection.suite: samples for selection in chosen if (samples := self.samples_of(selection))}


def summarised(selection: Selection) -> dict[str, Any]:
    """A selection in figures, for reports."""
    return {"expected": len(selection.expected), "selected": len(selection.selected)}
