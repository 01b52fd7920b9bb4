"""What every kind of evaluation offers: one object with typed methods."""

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
    """A family of suites. File → case → sample → metrics → gates → tables, one method for each step."""

    settings_model: ClassVar[type[BaseModel]] = FileModel
    """The keys of one entry of this kind's section in ``mcpeval.yaml``, besides ``files``: none."""
    settings_key: ClassVar[str | None] = None
    """A key that makes an entry in ``mcpeval.yaml`` cases of its own: it is no setting of data files then."""
    hides_items: ClassVar[bool] = False
    """Whether the environment variable in which pytest names the item that runs says nothing meanwhile."""
    uses_servers: ClassVar[bool] = True
    """Whether its suites may talk to servers; what is wrong with ``.mcp.json`` does not touch others."""
    asks_once: ClassVar[bool] = False
    """Whether its cases are asked once, whatever ``--mcpeval-runs`` says: they leave files of one run."""
    file_models: ClassVar[Mapping[str, type[BaseModel]]] = {}
    """The shapes of its data files by a name, for ``pytest-mcpeval schema NAME``."""

    def is_divisible(self, suite: Suite[SpecT]) -> bool:
        """Whether the cases of a suite can run in several shards: they do not build on each other."""
        return not suite.stateful

    @abstractmethod
    def load(self, document: Document, place: Place) -> Suite[SpecT]:
        """The suite in a document.

        Raises:
            DataFileError: With every problem of the file.
        """

    def collected(self, suite: Suite[SpecT]) -> None:
        """Check, before cases become items, what a file needs besides, such as modules.

        Raises:
            DataFileError: With every problem.
        """

    def settings_suite(self, file: SettingsFile) -> Suite[Any] | None:
        """The suite of the entries that have `settings_key`; only called when there are any.

        Raises:
            DataFileError: With every problem of the entries.
        """
        return None

    def described(self, suite: Suite[SpecT]) -> str:
        """What is in a suite, in a few words, such as ``12 cases (scenario)``."""
        count = len(suite.cases)
        return f"{count} {'case' if count == 1 else 'cases'} ({self.name})"

    def selftest(self, suite: Suite[SpecT], ask_twice: AskTwice) -> Mapping[str, Sequence[Proof]]:
        """Headline → proofs that the gates of a suite can fail; empty if there is none.

        ``ask_twice`` asks the real target, by a run of pytest.
        """
        return {}

    def prepare(self, suite: Suite[SpecT], case: Case[SpecT], context: RunContext) -> None:
        """Make the target ready, in the item's set-up; what is raised here is an error, not a failure."""

    @abstractmethod
    def ask(self, suite: Suite[SpecT], case: Case[SpecT], context: RunContext) -> Any:
        """Get the target's answers to a case. May be called on another thread, before the item runs."""

    @abstractmethod
    def judge(self, suite: Suite[SpecT], case: Case[SpecT], answers: Any, context: RunContext) -> Sample:
        """Evaluate every check of a case on what `ask` returned."""

    def asked_of(self, suite: Suite[SpecT], case: Case[SpecT]) -> Mapping[str, Any]:
        """What is measured of a case that brought no answer: what metrics need to count it at its worst."""
        return {}

    def start_over(self, suite: Suite[SpecT], context: RunContext) -> None:
        """Before a further run of a stateful suite: leave nothing of the run before."""

    def must_ask_again(self, answers: Any) -> bool:
        """Whether prefetched answers may be wrong because another case crashed the server, for example."""
        return False

    def explain(self, suite: Suite[SpecT], case: Case[SpecT], sample: Sample) -> str:
        """The text shown for a case that did not pass: here message, checks and place.

        Colours come from the first character of a line: ✓ is green, ✗ is red, ? is yellow.
        """
        checks = (f"  {MARKS[check.status]} {check.name}: {check.message}" for check in sample.checks)
        return visible("\n".join([sample.message, *checks, *suite.place_of(case)]))

    def attachments(self, sample: Sample) -> list[Table]:
        """What a person may want to see of a case beside its checks, the same in every run."""
        return []

    @abstractmethod
    def measure(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Metrics over samples; deterministic, plain JSON data. Times belong in `measure_run`.

        The samples of cases that were asked several times hold those of each run: what counts of such a case
        is its mean over the runs, and metrics are made from the means.
        """

    def varying(self, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
        """The metrics whose spread over runs is shown: all of them."""
        return metrics

    def result_of(self, sample: Sample) -> object:
        """What has to be the same in every run of a case, so that it counts as unchanged between them."""
        return sample.outcome, [check.status for check in sample.checks]

    def measure_over_runs(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """What `measure` says, and of cases asked several times how it varied.

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
        """What differs from run to run (times, verbatim answers), kept apart under ``run`` in reports."""
        return {}

    def totals(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """What is counted over all suites of the kind together: here, how many cases ended how."""
        return {"total": len(samples), **Counter(sorted(sample.outcome for sample in samples))}

    def totals_of_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """What of the totals differs from run to run: times."""
        return {}

    def gates(self, suite: Suite[SpecT], samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        """The gates of a suite, judged on samples of all its cases.

        With ``blessing``, a new baseline is being made: gates that compare with the old one are left out.

        Raises:
            DataFileError: The committed baseline cannot be read or does not fit the suite.
        """
        return []

    def gate_names(self, suite: Suite[SpecT]) -> list[str]:
        """The names of the gates a suite has, known without samples."""
        return []

    def cases_of_gate(self, suite: Suite[SpecT], gate: str) -> frozenset[str] | None:
        """The cases that a gate is judged on: only what is missing of those fails it. None for all."""
        return None

    def decides(self, suite: Suite[SpecT], gate: str, sample: Sample) -> bool:
        """Whether a gate takes a wrong case into account, so that the case is tolerated once it is judged."""
        return True

    def leaves_to_no_gate(self, suite: Suite[SpecT], gate: str, sample: Sample) -> bool:
        """Whether a gate judges the same target and does not look at such a case.

        Where it was evaluated and no gate that looks at the case is set, the case is for information only.
        """
        return False

    def baseline(self, suite: Suite[SpecT], samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        """Where the suite's baseline is committed, and its new content; None when it has none."""
        return None

    def check_baseline(self, suite: Suite[SpecT]) -> None:
        """Read what a suite is compared with, where it is there, as the gates of a run do.

        Raises:
            DataFileError: The suite cannot be compared with it.
        """

    def is_baseline(self, data: Any) -> bool:
        """Whether a document is a baseline that this kind reads, so that a new one may take its place."""
        return is_baseline(data)

    def compare(self, suite: Suite[SpecT], samples: Sequence[Sample]) -> dict[str, Any]:
        """What changed against the suite's baseline, as plain data; empty without one to compare with.

        Only called with samples of all its cases.

        Raises:
            DataFileError: The committed baseline cannot be read or does not fit the suite.
        """
        return {}

    def session_header(self, suites: Sequence[Suite[SpecT]]) -> str:
        """A line on how the selected suites of this kind will be run; empty for none."""
        return ""

    def finalize(
        self, suite: Suite[SpecT], samples: Sequence[Sample], *, others_failed: Sequence[str] = ()
    ) -> list[str]:
        """Write what belongs to the run of a suite as a whole; sentences on what was written, and where.

        Called once, when the session ends, with the samples of the cases that ran. ``others_failed`` are what
        failed besides cases: node ids of tests, and of cases whose tear-down failed.

        Raises:
            OSError: It cannot be written.
        """
        return []

    def tables(self, samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
        """The tables of this kind over all suites of the session (suite key → samples)."""
        return []

    def charts(self, samples: Mapping[str, Sequence[Sample]]) -> list[Chart]:
        """The charts of this kind over all suites of the session (suite key → samples), for html."""
        return []

    def comparison_tables(self, compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
        """The tables on what changed since the baselines (suite key → what `compare` found)."""
        return []
