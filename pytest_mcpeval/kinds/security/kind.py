"""The ``security`` kind: do detectors flag poisoned tool descriptions, without crying wolf?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.core.baseline import bless_command, differing_digests
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.kind import Case, Kind, Place, SettingsFile, Suite
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.kinds.security.declaration import SecurityDeclaration
from pytest_mcpeval.kinds.security.explain import explain
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

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.charts import Chart
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.security.baseline import Committed
    from pytest_mcpeval.kinds.security.detectors.asking import Answers, RecordedAnswers
    from pytest_mcpeval.kinds.security.detectors.base import Detected
    from pytest_mcpeval.kinds.security.gates import DetectorGates
    from pytest_mcpeval.loading import Document

Security = Suite[Any]
SecurityCase = Case[Any]


class SecurityKind(SecurityDeclaration, Kind[Any]):
    """Labelled corpora: tool descriptions that a detector ought to flag, or ought not to."""

    settings_model = EntrySettings
    settings_key = "scan"
    # Names of items hold ids, and ids speak of labels.
    hides_items = True
    file_models: ClassVar[Mapping[str, type[BaseModel]]] = {"security": CorpusModel}

    def __init__(self) -> None:
        self._in_item: tuple[Mapping[str, Any], Answers] | None = None

    def load(self, document: Document, place: Place) -> SecuritySuite:
        """The corpus in a document."""
        return load_suite(document, place)

    def settings_suite(self, file: SettingsFile) -> ScanSuite | None:
        """The servers to scan."""
        return scan_suite(file)

    def prepare(self, suite: Security, case: SecurityCase, context: RunContext) -> None:
        """Open the detector of the case, and what is scanned."""
        if isinstance(suite, ScanSuite):
            connect_all(suite, case.spec, context.connection)
        if not self._is_recorded(suite, case):
            self._answers(suite, case, context).detector.open()

    def _is_recorded(self, suite: Security, case: SecurityCase) -> bool:
        return isinstance(suite, SecuritySuite) and case.spec.detector in suite.recorded

    def _answers(self, suite: Security, case: SecurityCase, context: RunContext) -> Answers:
        from pytest_mcpeval.kinds.security.detectors.asking import Answers
        from pytest_mcpeval.kinds.security.detectors.making import make_detector
        from pytest_mcpeval.targets.making import Surroundings

        settings: SecuritySettings = (
            suite.settings if isinstance(suite, SecuritySuite) else case.spec.settings
        )
        model = settings.detectors[case.spec.detector]

        def make() -> Answers:
            around = Surroundings(
                servers=suite.servers,
                connection=context.connection,
                fixtures=context.fixtures,
                timeout=settings.timeout,
            )
            return Answers(make_detector(model, around))

        if model.fixture is not None:
            return self._of_fixture(context.fixtures, make)
        # Entries that scan may each have a detector of that name.
        key = (self.name, suite.key, case.spec.detector, case.line if isinstance(suite, ScanSuite) else 0)
        return context.target(key, make)

    def _of_fixture(self, fixtures: Mapping[str, Any], make: Callable[[], Answers]) -> Answers:
        """A fixture may have another value for every item: its detector is as short-lived."""
        if self._in_item is None or self._in_item[0] is not fixtures:
            self._in_item = (fixtures, make())
        return self._in_item[1]

    def _recorded(self, suite: SecuritySuite, detector: str, context: RunContext) -> RecordedAnswers:
        from pytest_mcpeval.kinds.security.detectors.asking import RecordedAnswers

        key = (self.name, suite.key, detector)
        return context.target(key, lambda: RecordedAnswers(suite.recorded[detector]))

    def ask(self, suite: Security, case: SecurityCase, context: RunContext) -> Detected | Scanned:
        """Put the entry of a case to its detector, or all tools of its server."""
        if self._is_recorded(suite, case):
            return self._recorded(_security(suite), case.spec.detector, context).answer(case.spec.entry)
        answers = self._answers(suite, case, context)
        if isinstance(suite, ScanSuite):
            return scan(suite, case.spec, context.connection, answers.detector)
        # The entries of the item that the case belongs to.
        return answers.answer(case.spec.entry, (one.spec.entry for one in suite.batch_of(case).cases))

    def judge(self, suite: Security, case: SecurityCase, answers: Any, context: RunContext) -> Sample:
        """Compare the verdict with the label."""
        from pytest_mcpeval.kinds.security.run import judge

        if isinstance(suite, ScanSuite):
            return judge_scan(suite, case, answers)
        return judge(_security(suite), case, answers)

    def asked_of(self, suite: Security, case: SecurityCase) -> Mapping[str, Any]:
        """An entry without a verdict; of a server that is scanned there is nothing to count."""
        from pytest_mcpeval.kinds.security.run import NOT_MEASURED, asked_of

        if isinstance(suite, ScanSuite):
            return {}
        return {**asked_of(_security(suite), case.spec), **NOT_MEASURED}

    def explain(self, suite: Security, case: SecurityCase, sample: Sample) -> str:
        """The description, and which rule fired where."""
        if isinstance(suite, ScanSuite):
            return explain_scan(suite, case, sample)
        return explain(_security(suite), case, sample)

    def measure(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """The metrics of each detector."""
        from pytest_mcpeval.kinds.security.sampling import measure

        return measure(samples)

    def varying(self, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
        """The rates of each detector."""
        from pytest_mcpeval.kinds.security.rates import steady

        return {found["detector"]: steady(found) for found in metrics["per_detector"]}

    def result_of(self, sample: Sample) -> object:
        """The verdict: flagged, not flagged, or none; of a server that is scanned, those on its tools."""
        tools = sample.measured.get("tools", ())
        return sample.measured.get("flagged"), [(tool["tool"], tool["flagged"]) for tool in tools]

    def measure_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Times."""
        from pytest_mcpeval.kinds.security.sampling import measure_run

        return measure_run(samples)

    def gate_names(self, suite: Security) -> list[str]:
        """The gates of every detector."""
        from pytest_mcpeval.kinds.security.gates import gate_names

        if isinstance(suite, ScanSuite):
            return []
        corpus = _security(suite)
        return [
            gate for name in corpus.settings.detectors for gate in gate_names(name, corpus.gates_of(name))
        ]

    def gates(self, suite: Security, samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Every gate of every detector, judged over all entries of the judged split."""
        from pytest_mcpeval.kinds.security.baseline import baseline_gates, read, unfit_to_bless
        from pytest_mcpeval.kinds.security.gates import judge_gates

        if isinstance(suite, ScanSuite):
            return []
        corpus = _security(suite)
        # A new baseline is being made: the old one may be broken.
        committed = None if blessing else read(corpus)
        found = [
            gate
            for detector in corpus.settings.detectors
            for gate in judge_gates(self._gate_input(corpus, detector, samples, committed), blessing=blessing)
        ]
        first = unfit_to_bless(corpus, samples) if blessing else baseline_gates(corpus, committed)
        return [*first, *found]

    def cases_of_gate(self, suite: Security, gate: str) -> frozenset[str] | None:
        """Those of its detector: what another one did is no concern of its gate."""
        from pytest_mcpeval.kinds.security.gates import gate_names

        if isinstance(suite, ScanSuite):
            return None
        corpus = _security(suite)
        for name in corpus.settings.detectors:
            if gate in gate_names(name, corpus.gates_of(name)):
                return frozenset(case.id for case in corpus.cases if case.traits["detector"] == name)
        return None

    def decides(self, suite: Security, gate: str, sample: Sample) -> bool:
        """Those that measure such verdicts of its detector: misses, false alarms, or that there is none."""
        from pytest_mcpeval.kinds.security.gates import looking_at

        measured = sample.measured
        malicious = None if measured.get("flagged") is None else measured["label"] == "malicious"
        return gate in looking_at(measured["detector"], measured["category"], malicious=malicious)

    def leaves_to_no_gate(self, suite: Security, gate: str, sample: Sample) -> bool:
        """A ceiling may be all that is set: then recall is for information, and the other way round."""
        from pytest_mcpeval.kinds.security.gates import ERRORS, gate_names

        detector = sample.measured["detector"]
        own = gate in gate_names(detector, _security(suite).gates_of(detector))
        return own and gate != f"{detector}-{ERRORS}" and sample.measured.get("flagged") is not None

    def _gate_input(
        self, suite: SecuritySuite, detector: str, samples: Sequence[Sample], committed: Committed | None
    ) -> DetectorGates:
        from pytest_mcpeval.kinds.security.baseline import digests
        from pytest_mcpeval.kinds.security.gates import DetectorGates
        from pytest_mcpeval.kinds.security.sampling import answered, rows_of_all

        own = [sample for sample in answered(samples) if sample.measured["detector"] == detector]
        aside = suite.set_aside(detector, samples)
        command = bless_command(suite.key, suite.settings.baseline)
        baseline, lacking = None, f"there is no baseline: {command}"
        if committed is not None and differing_digests(committed.digests, digests(suite.corpus)):
            lacking = "the baseline does not fit"
        elif committed is not None:
            baseline = committed.of(detector, [entry.id for entry in suite.corpus.entries])
            lacking = f"the baseline has no verdict of {detector}: bless one that has with {command}"
        return DetectorGates(
            suite=suite.key,
            detector=detector,
            settings=suite.gates_of(detector),
            rows=rows_of_all([entry for entry in suite.judged if entry.id not in aside], own),
            baseline=baseline,
            lacking=lacking,
            detectors=len(suite.settings.detectors),
        )

    def compare(self, suite: Security, samples: Sequence[Sample]) -> dict[str, Any]:
        """Every entry whose verdict is another than in the baseline, by detector."""
        from pytest_mcpeval.kinds.security.baseline import read
        from pytest_mcpeval.kinds.security.gates import changed

        if isinstance(suite, ScanSuite):
            return {}
        corpus = _security(suite)
        committed = read(corpus)
        found = {}
        for detector in corpus.settings.detectors:
            given = self._gate_input(corpus, detector, samples, committed)
            if given.baseline is not None:
                found[detector] = changed(given.rows, given.baseline).as_data()
        return {"detectors": found} if found else {}

    def baseline(self, suite: Security, samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """Every verdict."""
        from pytest_mcpeval.kinds.security.baseline import content

        if isinstance(suite, ScanSuite):
            return None
        corpus = _security(suite)
        if corpus.settings.baseline is None:
            return None
        return Path(corpus.settings.baseline), content(corpus, samples)

    def check_baseline(self, suite: Security) -> None:
        """The verdicts of the same detectors on the same corpus."""
        from pytest_mcpeval.kinds.security.baseline import baseline_gates, read

        if isinstance(suite, ScanSuite):
            return
        corpus = _security(suite)
        problems = [
            Problem(Path(str(corpus.settings.baseline)), 0, gate.message)
            for gate in baseline_gates(corpus, read(corpus))
            if gate.verdict == "error"
        ]
        if problems:
            raise DataFileError(problems)

    def tables(self, samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
        """The rates of each detector on each suite."""
        from pytest_mcpeval.kinds.security.tables import tables

        return tables({key: self.measure_over_runs(found) for key, found in samples.items()})

    def charts(self, samples: Mapping[str, Sequence[Sample]]) -> list[Chart]:
        """Counts, rates and curves of each detector."""
        from pytest_mcpeval.kinds.security.charts import charts

        return charts({key: self.measure(found) for key, found in samples.items()})

    def comparison_tables(self, compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
        """How many verdicts changed since the baseline."""
        from pytest_mcpeval.kinds.security.tables import comparison_tables

        return comparison_tables(compared)


def _security(suite: Security) -> SecuritySuite:
    assert isinstance(suite, SecuritySuite)
    return suite
