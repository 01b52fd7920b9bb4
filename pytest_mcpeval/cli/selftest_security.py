"""``pytest-mcpeval selftest`` on labelled corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.asking import cases_asked_twice

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.proofs import Proof
    from pytest_mcpeval.kinds.security.rates import Row
    from pytest_mcpeval.kinds.security.spec import SecuritySuite


def proofs_of(suite: SecuritySuite, root: Path) -> dict[str, Sequence[Proof]]:
    """Headline → proofs, for each detector of a corpus.

    Raises:
        NotAsked: Entries are without a verdict.
    """
    from pytest_mcpeval.kinds.security.gates import DetectorGates
    from pytest_mcpeval.kinds.security.selftest import Verdicts, selftest

    cases = cases_asked_twice(suite.path, suite.key, root, [case.id for case in suite.cases], "entries")
    found: dict[str, Sequence[Proof]] = {}
    for detector in suite.settings.detectors:
        first, second = (_rows(suite, detector, cases, run) for run in (0, 1))
        given = DetectorGates(suite.key, detector, suite.gates_of(detector), first)
        headline = f"{len(first)} entries, {detector}"
        found[headline] = selftest(Verdicts(given, second, suite.judged))
    return found


def _rows(suite: SecuritySuite, detector: str, cases: Mapping[str, Mapping[str, Any]], run: int) -> list[Row]:
    """The judged entries with their verdicts in one of the runs."""
    from pytest_mcpeval.kinds.security.sampling import row_of
    from pytest_mcpeval.kinds.security.spec import case_id
    from pytest_mcpeval.samples import Sample

    ids = [case_id(detector, entry.id) for entry in suite.judged]
    measured = {one: cases[one]["runs"][run]["measured"] for one in ids}
    return [row_of(Sample(suite.key, suite.kind, one, "passed", measured=measured[one])) for one in ids]
