"""The ledger: which cases were to run, and the samples that came back, from however many processes."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.samples import Sample

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.base import Suite
    from pytest_mcpeval.runtime import Runtime


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
    )


def selections_of(runtime: Runtime, node_ids: Iterable[str]) -> list[Selection]:
    """The selections of the data files among some node ids, read anew."""
    from pytest_mcpeval.loading import DataFileError

    chosen = {(path, case) for path, _, case in (node_id.partition("::") for node_id in node_ids)}
    found = []
    for key in sorted({path for path, _ in chosen if not path.endswith(".py")}):
        try:
            suite = runtime.suite(runtime.settings.rootdir / key)
        except DataFileError:
            continue
        found += [] if suite is None else [selection_of(suite, chosen)]
    return found


def selections_to_json(selections: Iterable[Selection]) -> str:
    """Selections as one JSON string, to travel on a report."""
    return json.dumps([asdict(selection) for selection in selections], ensure_ascii=False)


@dataclass
class Ledger:
    """Fills up while a session runs; read when it ends."""

    selections: dict[str, Selection] = field(default_factory=dict)
    samples: dict[str, dict[str, Sample]] = field(default_factory=dict)

    def add_selections(self, text: str) -> None:
        """Note what a process collected. All of a run collect the same, so the first word counts."""
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
