"""``selftest`` on corpora: detectors that are no good are noticed, or it is told that they would not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.security.gates import DetectorGates
from pytest_mcpeval.kinds.security.rates import Row
from pytest_mcpeval.kinds.security.schema import DetectorGatesModel
from pytest_mcpeval.kinds.security.selftest import Verdicts, selftest
from pytest_mcpeval.kinds.security.spec import Entry
from tests.security.attacks import CORPUS, AttackProject

ROWS = [
    *(Row(f"m{number}", True, "attack", 1.0) for number in range(20)),
    *(Row(f"b{number}", False, "benign", 0.0) for number in range(40)),
]


def marks(rows: list[Row], again: list[Row] | None = None, **settings: float | None) -> list[bool | None]:
    given = DetectorGates("s", "d", DetectorGatesModel.model_validate(settings), rows)
    entries = [Entry(row.entry, "benign", "benign", {"description": "x"}) for row in rows]
    return [proof.holds for proof in selftest(Verdicts(given, again or rows, entries))]


def test_a_measurement_with_ceiling_and_floor_notices_everything() -> None:
    assert marks(ROWS, recall_floor=0.5) == [True] * 5


def test_what_would_not_be_noticed_is_told() -> None:
    assert marks(ROWS) == [True, True, False, True, True]
    assert marks(ROWS, fpr_ceiling=None, recall_floor=0.5) == [True, False, True, False, True]
    assert marks(ROWS, fpr_ceiling=1.0, recall_floor=0.5) == [True, False, True, False, True]
    other = [Row(row.entry, row.malicious, row.category, 0.0) for row in ROWS]
    assert marks(ROWS, other, recall_floor=0.5)[0] is None


def test_a_detector_that_sees_more_than_it_may_is_found_out() -> None:
    given = DetectorGates("s", "d", DetectorGatesModel(), ROWS)
    leaking = [Entry("a", "benign", "benign", {"description": "x", "label": "benign"})]
    assert selftest(Verdicts(given, ROWS, leaking))[-1].holds is False


def test_the_command_asks_detectors_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = AttackProject.at(tmp_path, gates={"recall_floor": 0.5})
    command = ["selftest", str(tmp_path / CORPUS), "--rootdir", str(tmp_path)]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "(20 entries, mine)" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["✓"] * 5
    assert "FPR 100.0 %; tripped: mine-fpr_ceiling" in lines[2]
    made.settings()
    assert main(command) == 1
    assert "`recall_floor` is not set, so that it would pass" in capsys.readouterr().out
    made.verdicts({"ok_4": "raise"})
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "19 of 20 entries were answered" in error
    assert "the model is gone" in error
