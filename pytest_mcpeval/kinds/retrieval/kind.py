"""The ``retrieval`` kind: does tool search find the right tool?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.core.baseline import bless_command, differing_digests, mismatch_words
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.headline import Headline
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.kinds.retrieval import baseline as baselines
from pytest_mcpeval.kinds.retrieval import gates, run, sampling, tables
from pytest_mcpeval.kinds.retrieval.declaration import RetrievalDeclaration, is_flat_baseline
from pytest_mcpeval.kinds.retrieval.definitions import flat, nested
from pytest_mcpeval.kinds.retrieval.explain import explain
from pytest_mcpeval.kinds.retrieval.gate_input import GateInput, gate_settings
from pytest_mcpeval.kinds.retrieval.load import load_suite
from pytest_mcpeval.kinds.retrieval.retrievers.asking import SearchResult, ask, make_retriever
from pytest_mcpeval.kinds.retrieval.schema import CorpusModel, GoldenModel, RetrievalSettings
from pytest_mcpeval.kinds.retrieval.spec import GoldenQuery, RetrievalSuite
from pytest_mcpeval.loading import DataFileError, Problem
from pytest_mcpeval.targets.base import Target
from pytest_mcpeval.targets.making import Surroundings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.proof import AskTwice, Proof
    from pytest_mcpeval.core.run_context import RunContext

Retrieval = Suite[GoldenQuery]
RetrievalCase = Case[GoldenQuery]


class RetrievalKind(RetrievalDeclaration, Kind[GoldenQuery]):
    """Golden sets: queries, each with the tools that a search should find."""

    settings_model = RetrievalSettings
    file_models: ClassVar[Mapping[str, type[BaseModel]]] = {"retrieval": GoldenModel, "corpus": CorpusModel}

    def __init__(self) -> None:
        self._committed: dict[str, baselines.Committed | None] = {}

    load = staticmethod(load_suite)
    attachments = staticmethod(tables.ranked_list)
    measure = staticmethod(sampling.measure)
    measure_run = staticmethod(sampling.measure_run)
    comparison_tables = staticmethod(tables.comparison_tables)

    def selftest(self, suite: Retrieval, ask_twice: AskTwice) -> Mapping[str, Sequence[Proof]]:
        """Proofs over a search that is spoilt."""
        from pytest_mcpeval.kinds.retrieval.selftest import proofs_of

        return proofs_of(_retrieval(suite), ask_twice)

    def prepare(self, suite: Retrieval, case: RetrievalCase, context: RunContext) -> None:
        """Open the retriever of the suite, and read the baseline to show old ranks next to new ones."""
        self._retriever(_retrieval(suite), context).open()

    def _retriever(self, suite: RetrievalSuite, context: RunContext) -> Target:
        settings = suite.settings

        def make() -> Target:
            around = Surroundings.of(suite, context, settings.timeout)
            return make_retriever(settings.retriever, suite.golden.corpus, around)

        # The value of a fixture may differ from item to item.
        is_fixture = settings.retriever.fixture is not None
        return make() if is_fixture else context.target((self.name, suite.key), make)

    def ask(self, suite: Retrieval, case: RetrievalCase, context: RunContext) -> SearchResult:
        """Ask the retriever the query of a case."""
        golden = _retrieval(suite)
        retriever = self._retriever(golden, context)
        return ask(retriever, case.spec.text, golden.settings.depth, golden.golden.corpus.ids)

    def judge(
        self, suite: Retrieval, case: RetrievalCase, answers: SearchResult, context: RunContext
    ) -> Sample:
        """Rank the relevant tools in the results, and add their ranks in the baseline."""
        try:
            committed = self._baseline(_retrieval(suite))
        except DataFileError:
            # The gates report a broken baseline; it does not concern a single query.
            committed = None
        return run.judge(_retrieval(suite), case, answers, None if committed is None else committed.ranks)

    def asked_of(self, suite: Retrieval, case: RetrievalCase) -> Mapping[str, Any]:
        """The query, its labels, and the notes that say in which slice it is."""
        return {**run.asked_of(_retrieval(suite), case.spec), "notes": case.spec.notes}

    def _baseline(self, suite: RetrievalSuite) -> baselines.Committed | None:
        if suite.key not in self._committed:
            self._committed[suite.key] = baselines.read(suite)
        return self._committed[suite.key]

    def explain(self, suite: Retrieval, case: RetrievalCase, sample: Sample) -> str:
        """The ranked list of a query that missed."""
        return explain(_retrieval(suite), case, sample)

    def varying(self, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
        """The metrics of the set, without those of slices and what its labels allow."""
        return nested(flat(metrics))

    def result_of(self, sample: Sample) -> object:
        """The ranked list: the same tools at the same ranks."""
        return sample.measured.get("ranked")

    def gate_names(self, suite: Retrieval) -> list[str]:
        """The gates in the suite's settings, and those that are on without being set."""
        golden = _retrieval(suite)
        committed = self._baseline(golden)
        return gates.gate_names(gate_settings(golden), None if committed is None else committed.scores)

    def gates(self, suite: Retrieval, samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Every gate of the suite, judged over all its queries."""
        return gates.judge_gates(self._gate_input(_retrieval(suite), samples, blessing), blessing=blessing)

    def _gate_input(self, suite: RetrievalSuite, samples: Sequence[Sample], blessing: bool) -> GateInput:
        # A new baseline is being made: the old one may be broken.
        committed = None if blessing else self._baseline(suite)
        depth = suite.settings.depth
        aside = {sample.id for sample in samples if sample.is_set_aside}
        return GateInput(
            suite=suite.key,
            settings=gate_settings(suite).without(aside),
            scores=sampling.scores_of_all(
                [query for query in suite.golden.queries if query.id not in aside], samples, depth
            ),
            baseline=None if committed is None else committed.scores.without(aside),
            digests=baselines.digests(suite.golden, depth),
            bless_command=bless_command(suite.key, suite.settings.baseline),
        )

    def decides(self, suite: Retrieval, gate: str, sample: Sample) -> bool:
        """Return whether a gate decides about a query: every gate except ``pinned``."""
        return gate not in (gates.BASELINE_GATE, gates.PINNED_GATE)

    def compare(self, suite: Retrieval, samples: Sequence[Sample]) -> dict[str, Any]:
        """The change of every metric, and every query that was won, lost or tied by each."""
        return gates.compared(self._gate_input(_retrieval(suite), samples, blessing=False))

    def baseline(self, suite: Retrieval, samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """The metrics of the set, and the ranks of every query."""
        golden = _retrieval(suite)
        if golden.settings.baseline is None:
            return None
        means = sampling.scores_of_all(golden.golden.queries, samples, golden.settings.depth).means()
        return Path(golden.settings.baseline), baselines.content(golden, samples, means)

    def check_baseline(self, suite: Retrieval) -> None:
        """The metrics and ranks of the same queries, corpus and definitions."""
        golden = _retrieval(suite)
        committed, path = self._baseline(golden), golden.settings.baseline
        if committed is None or path is None:
            return
        digests = baselines.digests(golden.golden, golden.settings.depth)
        if differing := differing_digests(committed.scores.digests, digests):
            message = mismatch_words(differing, bless_command(suite.key, path))
            raise DataFileError([Problem(Path(path), 0, message)])

    def is_baseline(self, data: Any) -> bool:
        """Ours, or one that holds the metrics of the set alone."""
        return super().is_baseline(data) or is_flat_baseline(data)

    def tables(self, samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
        """The metrics of each suite and of its slices."""
        return tables.tables({key: self.measure_over_runs(found) for key, found in samples.items()})

    def headlines(
        self,
        suite: Suite[Any] | None,
        samples: Sequence[Sample],
        metrics: Mapping[str, Any],
        compared: Mapping[str, Any],
    ) -> list[Headline]:
        """Recall@5, or what is measured in its place."""
        return tables.headlines(samples, metrics, compared)


def _retrieval(suite: Retrieval) -> RetrievalSuite:
    assert isinstance(suite, RetrievalSuite)
    return suite
