"""The ``security`` kind: do detectors flag poisoned tool descriptions without false alarms?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.core.baseline import bless_command, differing_digests
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.charts import Chart
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.headline import Headline
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.kinds.security import baseline as baselines
from pytest_mcpeval.kinds.security import charts, gates, run, sampling, tables
from pytest_mcpeval.kinds.security.declaration import SecurityDeclaration
from pytest_mcpeval.kinds.security.detectors.asking import (
    Detected,
    Detector,
    RecordedAnswers,
    make_detector,
)
from pytest_mcpeval.kinds.security.explain import explain
from pytest_mcpeval.kinds.security.gates import DetectorGates
from pytest_mcpeval.kinds.security.load import load_suite
from pytest_mcpeval.kinds.security.scanning import (
    Scanned,
    ScanSuite,
    connect_all,
    explain_scan,
    judge_scan,
    scan,
    scan_suite,
)
from pytest_mcpeval.kinds.security.schema import CorpusModel, EntrySettings, SecuritySettings
from pytest_mcpeval.kinds.security.spec import SecuritySuite
from pytest_mcpeval.loading import DataFileError, Problem
from pytest_mcpeval.targets.making import Surroundings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.proof import AskTwice, Proof
    from pytest_mcpeval.core.run_context import RunContext

Security = Suite[Any]
SecurityCase = Case[Any]


class SecurityKind(SecurityDeclaration, Kind[Any]):
    """Labelled corpora: tool descriptions that a detector should flag, or should not.

    A suite is a corpus, or the servers that a ``mcpeval.yaml`` scans, which have no gates.
    """

    settings_model = EntrySettings
    settings_key = "scan"
    # Names of items contain ids, which hint at labels.
    hides_items = True
    file_models: ClassVar[Mapping[str, type[BaseModel]]] = {"security": CorpusModel}

    load = staticmethod(load_suite)
    settings_suite = staticmethod(scan_suite)
    measure = staticmethod(sampling.measure)
    measure_run = staticmethod(sampling.measure_run)
    comparison_tables = staticmethod(tables.comparison_tables)

    def __init__(self) -> None:
        self._in_item: tuple[Mapping[str, Any], Detector] | None = None

    def selftest(self, suite: Security, ask_twice: AskTwice) -> Mapping[str, Sequence[Proof]]:
        """Proofs over detectors that are spoilt; a scan has no labels to measure by."""
        from pytest_mcpeval.kinds.security.selftest import proofs_of

        return {} if isinstance(suite, ScanSuite) else proofs_of(_corpus(suite), ask_twice)

    def prepare(self, suite: Security, case: SecurityCase, context: RunContext) -> None:
        """Open the detector of the case, or connect to the scanned servers."""
        if isinstance(suite, ScanSuite):
            connect_all(suite, case.spec, context.connection)
        elif case.spec.detector in _corpus(suite).recorded:
            return
        self._detector(suite, case, context).target.open()

    def _detector(self, suite: Security, case: SecurityCase, context: RunContext) -> Detector:
        name, is_scan = case.spec.detector, isinstance(suite, ScanSuite)
        settings: SecuritySettings = case.spec.settings if is_scan else suite.settings
        model = settings.detectors[name]

        def make() -> Detector:
            return make_detector(model, Surroundings.of(suite, context, settings.timeout))

        if model.fixture is not None:
            # The value of a fixture may differ from item to item, so its detector lives for one item.
            if self._in_item is None or self._in_item[0] is not context.fixtures:
                self._in_item = (context.fixtures, make())
            return self._in_item[1]
        # Each scan entry may have a detector of that name.
        return context.target((self.name, suite.key, name, case.line if is_scan else 0), make)

    def ask(self, suite: Security, case: SecurityCase, context: RunContext) -> Detected | Scanned:
        """Ask the detector about the entry of a case, or about all tools of its server."""
        spec = case.spec
        if isinstance(suite, ScanSuite):
            return scan(suite, spec, context.connection, self._detector(suite, case, context))
        if (runs := _corpus(suite).recorded.get(spec.detector)) is not None:
            recorded = context.target((self.name, suite.key, spec.detector), lambda: RecordedAnswers(runs))
            return recorded.answer(spec.entry)
        # All entries of the item of this case.
        together = (one.spec.entry for one in suite.batch_of(case).cases)
        return self._detector(suite, case, context).answer(spec.entry, together)

    def judge(self, suite: Security, case: SecurityCase, answers: Any, context: RunContext) -> Sample:
        """Compare the verdict with the label."""
        if isinstance(suite, ScanSuite):
            return judge_scan(suite, case, answers)
        return run.judge(_corpus(suite), case, answers)

    def asked_of(self, suite: Security, case: SecurityCase) -> Mapping[str, Any]:
        """Return what metrics know of an entry without a verdict; nothing for a scanned server."""
        if isinstance(suite, ScanSuite):
            return {}
        return {**run.asked_of(_corpus(suite), case.spec), **run.NOT_MEASURED}

    def explain(self, suite: Security, case: SecurityCase, sample: Sample) -> str:
        """The description, and which rule fired where."""
        if isinstance(suite, ScanSuite):
            return explain_scan(suite, case, sample)
        return explain(_corpus(suite), case, sample)

    def varying(self, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
        """The rates of each detector."""
        return {
            found["detector"]: {name: found[name] for name in ("precision", "recall", "f1", "fpr")}
            for found in metrics["per_detector"]
        }

    def result_of(self, sample: Sample) -> object:
        """Return the verdict (flagged, not flagged or none); for a scanned server, those on its tools."""
        scanned = sample.measured.get("tools", ())
        return sample.measured.get("flagged"), [(tool["tool"], tool["flagged"]) for tool in scanned]

    def gate_names(self, suite: Security) -> list[str]:
        """The gates of every detector."""
        if isinstance(suite, ScanSuite):
            return []
        corpus = _corpus(suite)
        detectors = corpus.settings.detectors
        return [gate for name in detectors for gate in gates.gate_names(name, corpus.gates_of(name))]

    def gates(self, suite: Security, samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Every gate of every detector, judged over all entries of the judged split."""
        if isinstance(suite, ScanSuite):
            return []
        corpus = _corpus(suite)
        # While blessing, the old baseline may be broken.
        committed = None if blessing else baselines.read(corpus)
        of_detectors = [
            gate
            for detector in corpus.settings.detectors
            for gate in gates.judge_gates(
                self._gate_input(corpus, detector, samples, committed), blessing=blessing
            )
        ]
        if blessing:
            return [*baselines.unfit_to_bless(corpus, samples), *of_detectors]
        return [*baselines.baseline_gates(corpus, committed), *of_detectors]

    def cases_of_gate(self, suite: Security, gate: str) -> frozenset[str] | None:
        """Return the cases of the gate's detector."""
        if isinstance(suite, ScanSuite):
            return None
        corpus = _corpus(suite)
        for name in corpus.settings.detectors:
            if gate in gates.gate_names(name, corpus.gates_of(name)):
                return frozenset(case.id for case in corpus.cases if case.traits["detector"] == name)
        return None

    def decides(self, suite: Security, gate: str, sample: Sample) -> bool:
        """Return whether a gate measures this verdict of its detector (a miss, a false alarm or none)."""
        measured = sample.measured
        malicious = None if measured.get("flagged") is None else measured["label"] == "malicious"
        return gate in gates.looking_at(measured["detector"], measured["category"], malicious=malicious)

    def leaves_to_no_gate(self, suite: Security, gate: str, sample: Sample) -> bool:
        """Return whether no gate measures a verdict: with only a ceiling, misses are information."""
        detector = sample.measured["detector"]
        own = gate in gates.gate_names(detector, _corpus(suite).gates_of(detector))
        return own and gate != f"{detector}-{gates.ERRORS}" and sample.measured.get("flagged") is not None

    def _gate_input(
        self,
        suite: SecuritySuite,
        detector: str,
        samples: Sequence[Sample],
        committed: baselines.Committed | None,
    ) -> DetectorGates:
        own = [one for one in sampling.answered(samples) if one.measured["detector"] == detector]
        aside = suite.set_aside(detector, samples)
        command = bless_command(suite.key, suite.settings.baseline)
        baseline, lacking = None, f"there is no baseline: {command}"
        if committed is not None and differing_digests(committed.digests, baselines.digests(suite.corpus)):
            lacking = "the baseline does not fit"
        elif committed is not None:
            baseline = committed.of(detector, [entry.id for entry in suite.corpus.entries])
            lacking = f"the baseline has no verdict of {detector}: bless one that has with {command}"
        return DetectorGates(
            suite=suite.key,
            detector=detector,
            settings=suite.gates_of(detector),
            rows=sampling.rows_of_all([entry for entry in suite.judged if entry.id not in aside], own),
            baseline=baseline,
            lacking=lacking,
            detectors=len(suite.settings.detectors),
        )

    def compare(self, suite: Security, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return every entry whose verdict differs from the baseline, by detector."""
        if isinstance(suite, ScanSuite):
            return {}
        corpus = _corpus(suite)
        committed = baselines.read(corpus)
        found = {}
        for detector in corpus.settings.detectors:
            given = self._gate_input(corpus, detector, samples, committed)
            if given.baseline is not None:
                found[detector] = gates.changed(given.rows, given.baseline).as_data()
        return {"detectors": found} if found else {}

    def baseline(self, suite: Security, samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """Every verdict."""
        if isinstance(suite, ScanSuite) or suite.settings.baseline is None:
            return None
        return Path(suite.settings.baseline), baselines.content(_corpus(suite), samples)

    def check_baseline(self, suite: Security) -> None:
        """The verdicts of the same detectors on the same corpus."""
        if isinstance(suite, ScanSuite):
            return
        corpus = _corpus(suite)
        problems = [
            Problem(Path(str(corpus.settings.baseline)), 0, gate.message)
            for gate in baselines.baseline_gates(corpus, baselines.read(corpus))
            if gate.verdict == "error"
        ]
        if problems:
            raise DataFileError(problems)

    def tables(self, samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
        """The rates of each detector on each suite."""
        return tables.tables({key: self.measure_over_runs(found) for key, found in samples.items()})

    def charts(self, samples: Mapping[str, Sequence[Sample]]) -> list[Chart]:
        """Counts, rates and curves of each detector."""
        return charts.charts({key: self.measure(found) for key, found in samples.items()})

    def headlines(
        self,
        suite: Suite[Any] | None,
        samples: Sequence[Sample],
        metrics: Mapping[str, Any],
        compared: Mapping[str, Any],
    ) -> list[Headline]:
        """Recall beside the false-positive rate of each detector, or how many tools it flagged."""
        judged = suite.settings.gates.split if isinstance(suite, SecuritySuite) else None
        return tables.headlines(samples, metrics, compared, judged)


def _corpus(suite: Security) -> SecuritySuite:
    assert isinstance(suite, SecuritySuite)
    return suite
