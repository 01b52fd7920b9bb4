"""The baseline of a corpus: committed verdicts of its detectors, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pytest_mcpeval.core.baseline import (
    BaselineCase,
    BaselineModel,
    bless_command,
    differing_cases,
    differing_digests,
    digest_of,
    mismatch_words,
)
from pytest_mcpeval.core.fields import Runs
from pytest_mcpeval.core.gate import SLACK, GateResult, names
from pytest_mcpeval.core.repeating import number_of_runs
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.security.gates import BASELINE_GATE, OldVerdicts, compares
from pytest_mcpeval.kinds.security.rates import Confusion, Row
from pytest_mcpeval.kinds.security.sampling import answered, by_detector, row_of
from pytest_mcpeval.kinds.security.spec import AttackCorpus, SecuritySuite, case_id
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.loading.schema import validate

MOST_RUNS = 100
"""Of an entry."""

DEFINITION = {
    "positive": "malicious, and flagged",
    "precision": "TP / (TP + FP), undefined when nothing is flagged",
    "recall": "TP / (TP + FN)",
    "fpr": "FP / (FP + TN)",
    "errors": "in none of the four",
    "runs": "mean of each entry first",
}
"""The definitions of the metrics, of which a baseline has a digest."""


class _Case(BaselineCase):
    """``flagged`` is a share when there were several runs."""

    flagged: bool | Annotated[float, Field(ge=0, le=1)]


class SecurityBaselineModel(BaselineModel):
    """A baseline of verdicts. ``digest`` is of the entries and their labels; cases are by item id.

    ``runs`` is how often each entry was asked, if more than once.
    """

    runs: Runs | None = None
    definition: dict[str, Any]
    detectors: dict[str, Confusion]
    cases: dict[str, _Case]  # type: ignore[assignment]


@dataclass(frozen=True)
class Committed:
    """A committed baseline.

    ``flagged`` maps item id to the share of ``runs`` in which it was flagged; ``digests`` are those
    of what it was made from.
    """

    flagged: Mapping[str, float]
    runs: int
    digests: Mapping[str, str]

    def of(self, detector: str, entries: Sequence[str]) -> OldVerdicts | None:
        """Return the verdicts of one detector, or None if there are none."""
        found = {
            entry: self.flagged[case_id(detector, entry)]
            for entry in entries
            if case_id(detector, entry) in self.flagged
        }
        return OldVerdicts(found, self.runs) if found else None


def digests(corpus: AttackCorpus) -> dict[str, str]:
    """Return digests of everything a baseline is made from, by readable name."""
    return {"corpus": corpus.digest, "metric definitions": digest_of(DEFINITION)}


def read(suite: SecuritySuite) -> Committed | None:
    """Return the committed baseline of a suite; None if there is none yet.

    Raises:
        DataFileError: The file is not a baseline of a corpus.
    """
    path = suite.settings.baseline
    if path is None or not Path(path).is_file():
        return None
    document = load(Path(path))
    model: SecurityBaselineModel = validate(SecurityBaselineModel, document)
    if model.of != suite.kind:
        message = f"is a baseline of a {model.of} suite, wanted {suite.kind}"
        raise DataFileError([document.problem("of", message=message)])
    flagged = {case: float(one.flagged) for case, one in model.cases.items()}
    made_from = {"corpus": model.digest, "metric definitions": digest_of(model.definition)}
    # Older baselines do not contain the number of runs: use the smallest number that fits all shares.
    shares = (Fraction(share).limit_denominator(MOST_RUNS) for share in flagged.values())
    committed = Committed(flagged, model.runs or math.lcm(*{one.denominator for one in shares}), made_from)
    if differing_digests(committed.digests, digests(suite.corpus)):
        return committed
    problems = list(_problems(document, model, committed, suite))
    if problems:
        raise DataFileError(problems)
    return committed


def _problems(
    document: Document, model: SecurityBaselineModel, committed: Committed, suite: SecuritySuite
) -> Iterator[Problem]:
    """Yield problems of verdicts that cannot come from these entries: somebody edited the file."""
    hint = f"bless it again with {bless_command(suite.key, suite.settings.baseline)}"
    entries, runs = suite.corpus.entries, committed.runs
    for case, share in committed.flagged.items():
        if runs > MOST_RUNS or abs(share * runs - round(share * runs)) > 1e-6:
            message = (
                f"flagged of {case} is {share:g}, and no share of {model.runs or 'up to 100'} runs; {hint}"
            )
            yield document.problem("cases", case, "flagged", message=message)
            return
    wanted = [case_id(detector, entry.id) for detector in model.detectors for entry in entries]
    yield from differing_cases(document, model.cases, wanted, hint)
    for detector, counts in model.detectors.items():
        old = committed.of(detector, [entry.id for entry in entries]) or OldVerdicts({})
        found = Confusion.of(
            Row(entry.id, entry.is_malicious, entry.category, old.flagged.get(entry.id)) for entry in entries
        )
        for name in ("tp", "fp", "tn", "fn", "errors"):
            count, own = getattr(counts, name), getattr(found, name)
            if not abs(count - own) <= SLACK:
                message = f"{detector}: {name} is {count:g}, and its cases have {own:g}; {hint}"
                yield document.problem("detectors", detector, name, message=message)


def baseline_gates(suite: SecuritySuite, committed: Committed | None) -> list[GateResult]:
    """Return a gate if a baseline is named that cannot be used; no gate if it can."""
    if suite.settings.baseline is None:
        return []
    command = bless_command(suite.key, suite.settings.baseline)
    if committed is None:
        message = f"no baseline yet: write it with {command}"
        return [GateResult(suite.key, BASELINE_GATE, "failed", message)]
    if differing := differing_digests(committed.digests, digests(suite.corpus)):
        return [GateResult(suite.key, BASELINE_GATE, "error", mismatch_words(differing, command))]
    # A renamed detector is not compared with the baseline, and must not look as if it were.
    entries = [entry.id for entry in suite.corpus.entries]
    new = [
        name
        for name in suite.settings.detectors
        if compares(suite.gates_of(name)) and committed.of(name, entries) is None
    ]
    message = f"no baseline yet for detector {', '.join(new)}: write it with {command}"
    return [GateResult(suite.key, BASELINE_GATE, "error", message)] if new else []


def unfit_to_bless(suite: SecuritySuite, samples: Iterable[Sample]) -> list[GateResult]:
    """Return a failed gate if a verdict is missing: an incomplete baseline would leave entries uncompared."""
    failed = [sample.id for sample in answered(samples) if row_of(sample).failed]
    if suite.settings.baseline is None or not failed:
        return []
    message = f"a baseline needs every verdict, and {len(failed)} are missing: {names(failed)}"
    return [GateResult(suite.key, BASELINE_GATE, "failed", message)]


def content(suite: SecuritySuite, samples: Iterable[Sample]) -> dict[str, Any]:
    """Return the content of a new baseline: the counts of each detector, and every verdict."""
    listed = answered(samples)
    runs = number_of_runs(listed)
    return {
        "digest": suite.corpus.digest,
        "definition": DEFINITION,
        **({"runs": runs} if runs > 1 else {}),
        "detectors": {
            name: Confusion.of(map(row_of, found)).model_dump() for name, found in by_detector(listed).items()
        },
        "cases": {sample.id: _case(sample) for sample in sorted(listed, key=lambda one: one.id)},
    }


def _case(sample: Sample) -> dict[str, Any]:
    flagged = row_of(sample).flagged
    whole = bool(flagged) if flagged in (0.0, 1.0) else flagged
    return {"outcome": "passed" if sample.outcome == "passed" else "failed", "flagged": whole}
