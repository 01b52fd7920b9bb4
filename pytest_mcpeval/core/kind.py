"""The interface of a kind of evaluation."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from pytest_mcpeval.core.baseline import is_baseline
from pytest_mcpeval.core.case import Case, SpecT
from pytest_mcpeval.core.declaration import KindDeclaration
from pytest_mcpeval.core.fields import FileModel
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.headline import Headline, pass_rate
from pytest_mcpeval.core.repeating import changed, number_of_runs, of_each_run, standard_deviations
from pytest_mcpeval.core.sample import MARKS, Sample
from pytest_mcpeval.core.suite import Place, SettingsFile, Suite
from pytest_mcpeval.text.visible import visible

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pytest_mcpeval.core.charts import Chart
    from pytest_mcpeval.core.proof import AskTwice, Proof
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.core.tables import Table
    from pytest_mcpeval.loading import Document


class Kind(KindDeclaration, Generic[SpecT]):
    """A kind of evaluation: one method for each step, file → case → sample → metrics → gates → tables."""

    settings_model: ClassVar[type[BaseModel]] = FileModel
    """The keys of one entry of this kind's section in ``mcpeval.yaml``, besides ``files``: none."""
    settings_key: ClassVar[str | None] = None
    """A key that makes cases of an entry in ``mcpeval.yaml``, such as ``scan``, instead of settings."""
    hides_items: ClassVar[bool] = False
    """Whether the environment variable with the name of the running item is hidden from targets."""
    uses_servers: ClassVar[bool] = True
    """Whether its suites may use servers; problems of ``.mcp.json`` do not affect other kinds."""
    asks_once: ClassVar[bool] = False
    """Whether its cases are asked only once, whatever ``--mcpeval-runs`` says."""
    file_models: ClassVar[Mapping[str, type[BaseModel]]] = {}
    """Name → model of its data files, for ``pytest-mcpeval schema NAME``."""

    def is_divisible(self, suite: Suite[SpecT]) -> bool:
        """Return whether the cases of a suite can run in several shards: they do not build on each other."""
        return not suite.stateful

    @abstractmethod
    def load(self, document: Document, place: Place) -> Suite[SpecT]:
        """Return the suite of a document.

        Raises:
            DataFileError: With every problem of the file.
        """

    def collected(self, suite: Suite[SpecT]) -> None:
        """Check other things that a file needs, such as modules, before its cases become items.

        Raises:
            DataFileError: With every problem.
        """

    def settings_suite(self, file: SettingsFile) -> Suite[Any] | None:
        """Return the suite of the entries that have `settings_key`; called only if there are any.

        Raises:
            DataFileError: With every problem of the entries.
        """
        return None

    def described(self, suite: Suite[SpecT]) -> str:
        """Return a short description of a suite, such as ``12 cases (scenario)``."""
        count = len(suite.cases)
        return f"{count} {'case' if count == 1 else 'cases'} ({self.name})"

    def selftest(self, suite: Suite[SpecT], ask_twice: AskTwice) -> Mapping[str, Sequence[Proof]]:
        """Return headline → proofs that the gates of a suite can fail; empty if there are none.

        ``ask_twice`` asks the real target in a run of pytest.
        """
        return {}

    def prepare(self, suite: Suite[SpecT], case: Case[SpecT], context: RunContext) -> None:
        """Make the target ready, in the item's set-up.

        An exception is an error of the case, not a failure.
        """

    @abstractmethod
    def ask(self, suite: Suite[SpecT], case: Case[SpecT], context: RunContext) -> Any:
        """Return the target's answers to a case. May be called on another thread, before the item runs."""

    @abstractmethod
    def judge(self, suite: Suite[SpecT], case: Case[SpecT], answers: Any, context: RunContext) -> Sample:
        """Evaluate every check of a case on what `ask` returned, and return the sample."""

    def asked_of(self, suite: Suite[SpecT], case: Case[SpecT]) -> Mapping[str, Any]:
        """Return what metrics need to count a case without an answer at its worst."""
        return {}

    def start_over(self, suite: Suite[SpecT], context: RunContext) -> None:
        """Prepare another run of a stateful suite: remove all state of the previous run."""

    def must_ask_again(self, answers: Any) -> bool:
        """Return whether prefetched answers must be asked again, such as after a crash in another case."""
        return False

    def explain(self, suite: Suite[SpecT], case: Case[SpecT], sample: Sample) -> str:
        """Return the report text about a case that did not pass; by default message, checks and place.

        Colours come from the first character of a line: ✓ is green, ✗ is red, ? is yellow.
        """
        checks = (f"  {MARKS[check.status]} {check.name}: {check.message}" for check in sample.checks)
        return visible("\n".join([sample.message, *checks, *suite.place_of(case)]))

    def attachments(self, sample: Sample) -> list[Table]:
        """Return tables to show with a case that did not pass; they must be equal in every run."""
        return []

    @abstractmethod
    def measure(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return the metrics of samples: deterministic, plain JSON data. Times belong in
        `measure_run`.  The sample of a case that was asked several times contains those of each run.
        Such a case counts with its mean over the runs, and metrics are computed from the means.
        """

    def varying(self, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the metrics whose standard deviation over runs is shown; by default all."""
        return metrics

    def result_of(self, sample: Sample) -> object:
        """Return what must be equal in every run of a case for it to count as unchanged."""
        return sample.outcome, [check.status for check in sample.checks]

    def measure_over_runs(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return what `measure` returns, and, if cases were asked several times, how it varied.

        Then ``runs`` is how many times, ``standard_deviation`` the sample standard deviation of each varying
        metric over the runs, ``changed`` the cases whose result was not the same in all of them, and
        ``changed_share`` their share.
        """
        found = self.measure(samples)
        count = number_of_runs(samples)
        if count == 1:
            return found
        each = [self.varying(self.measure(run)) for run in of_each_run(samples)]
        unsteady = changed(samples, self.result_of)
        return {
            **found,
            "runs": count,
            "standard_deviation": standard_deviations(each),
            "changed": unsteady,
            "changed_share": len(unsteady) / len(samples),
        }

    def measure_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return what differs from run to run (times, verbatim answers); reports have it under ``run``."""
        return {}

    def totals(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return totals over all suites of the kind; by default the number of cases by outcome."""
        return {"total": len(samples), **Counter(sorted(sample.outcome for sample in samples))}

    def totals_of_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return totals that differ from run to run, such as times."""
        return {}

    def gates(self, suite: Suite[SpecT], samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """Return the gates of a suite, judged on samples of all its cases.

        With ``blessing``, a new baseline is written: leave out gates that compare with the old one.

        Raises:
            DataFileError: The committed baseline cannot be read or does not fit the suite.
        """
        return []

    def gate_names(self, suite: Suite[SpecT]) -> list[str]:
        """Return the names of the gates of a suite, without samples."""
        return []

    def cases_of_gate(self, suite: Suite[SpecT], gate: str) -> frozenset[str] | None:
        """Return the cases that a gate is judged on.

        The gate fails only if one of these is missing. None: all cases.
        """
        return None

    def decides(self, suite: Suite[SpecT], gate: str, sample: Sample) -> bool:
        """Return whether a gate decides about a wrong case, which is then tolerated."""
        return True

    def leaves_to_no_gate(self, suite: Suite[SpecT], gate: str, sample: Sample) -> bool:
        """Return whether a gate judges the same target, but does not look at this case.

        If it was evaluated and no gate that looks at the case is set, the case is only information.
        """
        return False

    def baseline(self, suite: Suite[SpecT], samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """Return the path of the suite's baseline and its new content; None if it has no baseline."""
        return None

    def check_baseline(self, suite: Suite[SpecT]) -> None:
        """Read the suite's baseline, if it exists, as the gates of a run do.

        Raises:
            DataFileError: The suite cannot be compared with it.
        """

    def is_baseline(self, data: Any) -> bool:
        """Return whether a document is a baseline of this kind, which a new one may replace."""
        return is_baseline(data)

    def compare(self, suite: Suite[SpecT], samples: Sequence[Sample]) -> dict[str, Any]:
        """Return what changed against the suite's baseline, as plain data; empty without a baseline.

        Called only with samples of all its cases.

        Raises:
            DataFileError: The committed baseline cannot be read or does not fit the suite.
        """
        return {}

    def session_header(self, suites: Sequence[Suite[SpecT]]) -> str:
        """Return a line about how the selected suites of this kind will run, or an empty text."""
        return ""

    def finalize(
        self, suite: Suite[SpecT], samples: Sequence[Sample], *, others_failed: Sequence[str] = ()
    ) -> list[str]:
        """Write the files of the whole run of a suite, and return sentences about what was written,
        and where.  Called once, when the session ends, with the samples of the cases that ran.
        ``others_failed`` are what failed besides cases: node ids of tests, and of cases whose
        tear-down failed.

        Raises:
            OSError: It cannot be written.
        """
        return []

    def tables(self, samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
        """Return the tables of this kind over all suites of the session (suite key → samples)."""
        return []

    def headlines(
        self,
        suite: Suite[SpecT] | None,
        samples: Sequence[Sample],
        metrics: Mapping[str, Any],
        compared: Mapping[str, Any],
    ) -> list[Headline]:
        """What is said of a suite in one line: the number that matters most, for each thing it evaluates.

        There is no ``suite`` of cases written in Python. ``metrics`` is what `measure_over_runs` says of the
        samples, ``compared`` what `compare` found.
        """
        return pass_rate(samples)

    def charts(self, samples: Mapping[str, Sequence[Sample]]) -> list[Chart]:
        """Return the charts of this kind over all suites of the session (suite key → samples), for html."""
        return []

    def comparison_tables(self, compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
        """Return tables of what changed since the baselines (suite key → what `compare` returned)."""
        return []
