"""The ``retrieval`` kind: does tool search find the right tool?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.core.baseline import bless_command, differing_digests, mismatch_words
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.kind import Case, Kind, Place, Suite
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.kinds.retrieval import baseline as baselines
from pytest_mcpeval.kinds.retrieval.declaration import RetrievalDeclaration, is_flat_baseline
from pytest_mcpeval.kinds.retrieval.explain import explain
from pytest_mcpeval.kinds.retrieval.load import load_suite
from pytest_mcpeval.kinds.retrieval.schema import CorpusModel, GatesModel, GoldenModel, RetrievalSettings
from pytest_mcpeval.kinds.retrieval.spec import RetrievalSpec, RetrievalSuite
from pytest_mcpeval.loading import DataFileError, Problem

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.retrieval.gate_input import GateInput, GateSettings
    from pytest_mcpeval.kinds.retrieval.retrievers.asking import SearchResult
    from pytest_mcpeval.kinds.retrieval.retrievers.base import Retriever
    from pytest_mcpeval.loading import Document

Retrieval = Suite[RetrievalSpec]
RetrievalCase = Case[RetrievalSpec]


class RetrievalKind(RetrievalDeclaration, Kind[RetrievalSpec]):
    """Golden sets: queries, each with the tools that a search ought to find."""

    settings_model = RetrievalSettings
    file_models: ClassVar[Mapping[str, type[BaseModel]]] = {"retrieval": GoldenModel, "corpus": CorpusModel}

    def __init__(self) -> None:
        self._committed: dict[str, baselines.Committed | None] = {}

    def load(self, document: Document, place: Place) -> RetrievalSuite:
        """The golden set in a document, with its corpus."""
        return load_suite(document, place)

    def prepare(self, suite: Retrieval, case: RetrievalCase, context: RunContext) -> None:
        """Open the retriever of the suite, and read the baseline to show old ranks beside new ones."""
        self._retriever(_retrieval(suite), context).open()

    def _retriever(self, suite: RetrievalSuite, context: RunContext) -> Retriever:
        from pytest_mcpeval.kinds.retrieval.retrievers.making import make_retriever

        def make() -> Retriever:
            return make_retriever(
                suite.settings.retriever,
                suite.golden.corpus,
                servers=suite.servers,
                connection=context.connection,
                fixtures=context.fixtures,
                timeout=suite.settings.timeout,
            )

        # A fixture may have another value for every item.
        is_fixture = suite.settings.retriever.fixture is not None
        return make() if is_fixture else context.target((self.name, suite.key), make)

    def ask(self, suite: Retrieval, case: RetrievalCase, context: RunContext) -> SearchResult:
        """Put the query of a case to the retriever."""
        from pytest_mcpeval.kinds.retrieval.retrievers.asking import ask

        golden = _retrieval(suite)
        retriever = self._retriever(golden, context)
        return ask(retriever, case.spec.query.text, golden.settings.depth, golden.golden.corpus.ids)

    def judge(
        self, suite: Retrieval, case: RetrievalCase, answers: SearchResult, context: RunContext
    ) -> Sample:
        """Rank the relevant tools in what was found."""
        from pytest_mcpeval.kinds.retrieval.run import judge

        return judge(_retrieval(suite), case, answers, self._old_ranks(_retrieval(suite)))

    def asked_of(self, suite: Retrieval, case: RetrievalCase) -> Mapping[str, Any]:
        """The query, its labels, and the notes that say in which slice it is."""
        from pytest_mcpeval.kinds.retrieval.run import asked_of

        return {**asked_of(_retrieval(suite), case.spec.query), "notes": case.spec.query.notes}

    def _old_ranks(self, suite: RetrievalSuite) -> baselines.Ranks | None:
        try:
            committed = self._baseline(suite)
        except DataFileError:
            # Told by the gates; a single query has nothing to do with it.
            return None
        return None if committed is None else committed.ranks

    def _baseline(self, suite: RetrievalSuite) -> baselines.Committed | None:
        if suite.key not in self._committed:
            self._committed[suite.key] = baselines.read(suite)
        return self._committed[suite.key]

    def explain(self, suite: Retrieval, case: RetrievalCase, sample: Sample) -> str:
        """The ranked list of a query that missed."""
        return explain(_retrieval(suite), case, sample)

    def attachments(self, sample: Sample) -> list[Table]:
        """The ranked list with its labels, and the ranks of the baseline."""
        from pytest_mcpeval.kinds.retrieval.tables import ranked_list

        return ranked_list(sample)

    def measure(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """The metrics of the set and its slices."""
        from pytest_mcpeval.kinds.retrieval.sampling import measure

        return measure(samples)

    def varying(self, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
        """The metrics of the set, without those of slices and what its labels allow."""
        from pytest_mcpeval.kinds.retrieval.definitions import flat, nested

        return nested(flat(metrics))

    def result_of(self, sample: Sample) -> object:
        """The ranked list: the same tools at the same ranks."""
        return sample.measured.get("ranked")

    def measure_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Times, and the scores of hits."""
        from pytest_mcpeval.kinds.retrieval.sampling import measure_run

        return measure_run(samples)

    def gate_names(self, suite: Retrieval) -> list[str]:
        """The gates in the suite's settings, and those that are on without being set."""
        from pytest_mcpeval.kinds.retrieval.gates import gate_names

        golden = _retrieval(suite)
        committed = self._baseline(golden)
        return gate_names(gate_settings(golden), None if committed is None else committed.scores)

    def gates(self, suite: Retrieval, samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Every gate of the suite, judged over all its queries."""
        from pytest_mcpeval.kinds.retrieval.gates import judge_gates

        return judge_gates(self._gate_input(_retrieval(suite), samples, blessing), blessing=blessing)

    def _gate_input(self, suite: RetrievalSuite, samples: Sequence[Sample], blessing: bool) -> GateInput:
        from pytest_mcpeval.kinds.retrieval.gate_input import GateInput
        from pytest_mcpeval.kinds.retrieval.sampling import scores_of_all

        # A new baseline is being made: the old one may be broken.
        committed = None if blessing else self._baseline(suite)
        depth = suite.settings.depth
        aside = {sample.id for sample in samples if sample.is_set_aside}
        return GateInput(
            suite=suite.key,
            settings=gate_settings(suite).without(aside),
            scores=scores_of_all([q for q in suite.golden.queries if q.id not in aside], samples, depth),
            baseline=None if committed is None else committed.scores.without(aside),
            digests=baselines.digests(suite.golden, depth),
            bless_command=bless_command(suite.key, suite.settings.baseline),
        )

    def decides(self, suite: Retrieval, gate: str, sample: Sample) -> bool:
        """Every gate over the scores of all queries; pinned queries are asked for by name."""
        from pytest_mcpeval.kinds.retrieval.gates import BASELINE_GATE, PINNED_GATE

        return gate not in (BASELINE_GATE, PINNED_GATE)

    def compare(self, suite: Retrieval, samples: Sequence[Sample]) -> dict[str, Any]:
        """The change of every metric, and every query that was won, lost or tied by each."""
        from pytest_mcpeval.kinds.retrieval.gates import compared

        return compared(self._gate_input(_retrieval(suite), samples, blessing=False))

    def baseline(self, suite: Retrieval, samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """The metrics of the set, and the ranks of every query."""
        from pytest_mcpeval.kinds.retrieval.sampling import scores_of_all

        golden = _retrieval(suite)
        if golden.settings.baseline is None:
            return None
        means = scores_of_all(golden.golden.queries, samples, golden.settings.depth).means()
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
        from pytest_mcpeval.kinds.retrieval.tables import tables

        return tables({key: self.measure_over_runs(found) for key, found in samples.items()})

    def comparison_tables(self, compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
        """The change of each metric since the baseline."""
        from pytest_mcpeval.kinds.retrieval.tables import comparison_tables

        return comparison_tables(compared)


def _retrieval(suite: Retrieval) -> RetrievalSuite:
    assert isinstance(suite, RetrievalSuite)
    return suite


def gate_settings(suite: RetrievalSuite) -> GateSettings:
    """The gates of a suite, as its settings and its pinned queries say."""
    from pytest_mcpeval.kinds.retrieval.definitions import default_metric
    from pytest_mcpeval.kinds.retrieval.gate_input import DEFAULT_SHARE, FALL_LEVEL, GateSettings

    gates: GatesModel = suite.settings.gates
    watched, given = default_metric(suite.settings.depth), gates.model_fields_set
    significance = gates.significance if "significance" in given else {watched: FALL_LEVEL}
    return GateSettings(
        tolerance=None if gates.tolerance is None else _limits(gates.tolerance),
        default_tolerance={watched: DEFAULT_SHARE},
        significance=_limits(significance),
        max_lost=gates.max_lost,
        lost_by=gates.lost_by if "lost_by" in given else watched,
        pinned=suite.golden.pinned,
        floors=_limits(gates.floors),
        off=dict(_off(gates, watched)),
    )


def _limits(found: Mapping[str, float | None]) -> dict[str, float]:
    return {metric: limit for metric, limit in found.items() if limit is not None}


def _off(gates: GatesModel, watched: str) -> Iterator[tuple[str, str]]:
    """The gates that are turned off on purpose, each with the setting that says so."""
    for group, suffix in {"tolerance": "", "significance": "_sign_flip", "floors": "_floor"}.items():
        limits: Mapping[str, float | None] | None = getattr(gates, group)
        if limits == {} and group in gates.model_fields_set and group != "floors":
            yield f"{watched}{suffix}", f"{group}: {{}}"
        for metric in (metric for metric, limit in (limits or {}).items() if limit is None):
            yield f"{metric}{suffix}", f"{group}: {{{metric}: null}}"
    if gates.max_lost is None:
        yield "max_lost", "max_lost: null"
