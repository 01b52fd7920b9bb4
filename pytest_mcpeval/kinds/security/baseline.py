"""Committed verdicts of the detectors on a corpus, entry by entry."""

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
"""The definitions behind the numbers: what a baseline's digest of them is made from."""


class _Case(BaselineCase):
    """``flagged`` is a share when there were several runs."""

    flagged: bool | Annotated[float, Field(ge=0, le=1)]


class SecurityBaselineModel(BaselineModel):
    """A baseline of verdicts. ``digest`` is of the entries and their labels; cases are by item id.

    ``runs`` is how often each entry was asked, when that was more than once.
    """

    runs: Runs | None = None
    definition: dict[str, Any]
    detectors: dict[str, Confusion]
    cases: dict[str, _Case]  # type: ignore[assignment]


@dataclass(frozen=True)
class Committed:
    """A committed baseline.

    ``flagged`` maps item id to the share of ``runs`` in which it was flagged; ``digests`` are of what it was
    made from.
    """

    flagged: Mapping[str, float]
    runs: int
    digests: Mapping[str, str]

    def of(self, detector: str, entries: Sequence[str]) -> OldVerdicts | None:
        """The verdicts of one detector; None when it has no verdict of it at all."""
        found = {
            entry: self.flagged[case_id(detector, entry)]
            for entry in entries
            if case_id(detector, entry) in self.flagged
        }
        return OldVerdicts(found, self.runs) if found else None


def digests(corpus: AttackCorpus) -> dict[str, str]:
    """Digests of everything a baseline is made from, by a word for people."""
    return {"corpus": corpus.digest, "metric definitions": digest_of(DEFINITION)}


def read(suite: SecuritySuite) -> Committed | None:
    """The committed baseline of a suite; None when there is none yet.

    Raises:
        DataFileError: The file is no baseline of a corpus.
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
    # Baselines did not always say how many runs there were: the fewest that give all these shares.
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
    """What its verdicts are not, though it was made from these very entries: somebody edited it."""
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
    """A gate for a baseline that is named and cannot be compared with; none for one that can."""
    if suite.settings.baseline is None:
        return []
    command = bless_command(suite.key, suite.settings.baseline)
    if committed is None:
        message = f"no baseline yet: write it with {command}"
        return [GateResult(suite.key, BASELINE_GATE, "failed", message)]
    if differing := differing_digests(committed.digests, digests(suite.corpus)):
        return [GateResult(suite.key, BASELINE_GATE, "error", mismatch_words(differing, command))]
    # Under another name a detector is not compared, and must not pass for one that is.
    entries = [entry.id for entry in suite.corpus.entries]
    new = [
        name
        for name in suite.settings.detectors
        if compares(suite.gates_of(name)) and committed.of(name, entries) is None
    ]
    message = f"no baseline yet for detector {', '.join(new)}: write it with {command}"
    return [GateResult(suite.key, BASELINE_GATE, "error", message)] if new else []


def unfit_to_bless(suite: SecuritySuite, samples: Iterable[Sample]) -> list[GateResult]:
    """A failed gate when a verdict is missing: where a baseline has a hole, nothing would be compared."""
    failed = [sample.id for sample in answered(samples) if row_of(sample).failed]
    if suite.settings.baseline is None or not failed:
        return []
    message = f"a baseline needs every verdict, and {len(failed)} are missing: {names(failed)}"
    return [GateResult(suite.key, BASELINE_GATE, "failed", message)]


def content(suite: SecuritySuite, samples: Iterable[Sample]) -> dict[str, Any]:
    """What a new baseline holds: the counts of each detector, and every verdict."""
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
