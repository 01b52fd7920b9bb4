"""The store: which cases were to run, and the samples that came back, from however many processes."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.core.sample import Sample, samples_from_json

if TYPE_CHECKING:
    from pytest_mcpeval.core.suite import Suite


@dataclass(frozen=True)
class Selection:
    """One suite as a process collected it: all its cases, and those that were selected to run.

    ``path`` is None for cases written in Python. ``batches`` maps the name of an item that holds several
    cases to their ids.
    """

    suite: str
    kind: str
    path: str | None
    digest: str
    expected: Sequence[str]
    selected: Sequence[str]
    batches: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def cases_of(self, node_ids: Container[str]) -> list[str]:
        """The cases that the items with these node ids hold."""
        names = {case: name for name, cases in self.batches.items() for case in cases}
        return [case for case in self.expected if f"{self.suite}::{names.get(case, case)}" in node_ids]


def selection_of(suite: Suite[Any], chosen: Container[tuple[str, str]]) -> Selection:
    """The selection of a suite; ``chosen`` holds ``(suite key, case id)`` of the cases selected to run."""
    expected = [case.id for case in suite.cases]
    return Selection(
        suite=suite.key,
        kind=suite.kind,
        path=str(suite.path),
        digest=suite.document.digest,
        expected=expected,
        selected=[case for case in expected if (suite.key, case) in chosen],
        batches={batch.name: batch.ids for batch in suite.batches if len(batch.cases) > 1},
    )


def selections_to_json(selections: Iterable[Selection]) -> str:
    """Selections as one JSON string, to travel on a report."""
    return json.dumps([asdict(selection) for selection in selections], ensure_ascii=False)


@dataclass
class SampleStore:
    """Fills up while a session runs; read when it ends."""

    selections: dict[str, Selection] = field(default_factory=dict)
    samples: dict[str, dict[str, Sample]] = field(default_factory=dict)

    def add_selections(self, text: str) -> None:
        """Note what a process collected. All of a run collect the same, so the first word counts."""
        for fields in json.loads(text):
            selection = Selection(**fields)
            self.selections.setdefault(selection.suite, selection)

    def add_samples(self, text: str) -> list[Sample]:
        """Note samples, and return them; that of a rerun replaces the earlier one."""
        found = samples_from_json(text)
        for sample in found:
            self.samples.setdefault(sample.suite, {})[sample.id] = sample
        return found

    def samples_of(self, selection: Selection) -> list[Sample]:
        """The samples of a suite, in the order of its file."""
        found: Mapping[str, Sample] = self.samples.get(selection.suite, {})
        return [found[case] for case in selection.expected if case in found]
