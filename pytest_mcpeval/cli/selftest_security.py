"""``pytest-mcpeval selftest`` on labelled corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.asking import cases_asked_twice

if TYPE_CHECKING:
    from pytest_mcpeval.core.proof import Proof
    from pytest_mcpeval.core.sample import Sample
    from pytest_mcpeval.kinds.security.spec import SecuritySuite


def proofs_of(suite: SecuritySuite, root: Path) -> dict[str, Sequence[Proof]]:
    """Headline → proofs, for each detector of a corpus.

    Raises:
        NotAsked: Entries are without a verdict.
    """
    from pytest_mcpeval.kinds.security.detectors.asking import request_of
    from pytest_mcpeval.kinds.security.gates import DetectorGates
    from pytest_mcpeval.kinds.security.sampling import row_of
    from pytest_mcpeval.kinds.security.selftest import Verdicts, selftest
    from pytest_mcpeval.kinds.security.spec import case_id

    # Recorded verdicts may have more runs than two: all of them count.
    runs = max(2, suite.runs)
    wanted = [case.id for case in suite.cases]
    cases = cases_asked_twice(suite.path, suite.key, root, wanted, "entries", runs)
    found: dict[str, Sequence[Proof]] = {}
    for detector, model in suite.settings.detectors.items():
        samples = [_sample(suite, case_id(detector, entry.id), cases) for entry in suite.judged]
        rows = [row_of(sample) for sample in samples]
        by_run = [[row_of(sample.runs[run]) for sample in samples] for run in range(runs)]
        given = DetectorGates(suite.key, detector, suite.gates_of(detector), rows)
        asked = [] if model.verdict_files else suite.judged
        requests = [request_of(model, entry.seen) for entry in asked]
        found[f"{len(rows)} entries, {detector}"] = selftest(Verdicts(given, by_run, requests))
    return found


def _sample(suite: SecuritySuite, case: str, cases: Mapping[str, Mapping[str, Any]]) -> Sample:
    """A case with what was measured in each of its runs."""
    from pytest_mcpeval.core.sample import Sample

    runs = tuple(
        Sample(suite.key, suite.kind, case, "passed", measured=run["measured"]) for run in cases[case]["runs"]
    )
    return Sample(suite.key, suite.kind, case, "passed", measured=runs[0].measured, runs=runs)
