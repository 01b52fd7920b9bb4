"""``selftest`` on corpora: detectors that are no good are noticed, or it is told that they would not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.security.detectors.asking import request_of
from pytest_mcpeval.kinds.security.detectors.settings import ENTRY_FIELDS, DetectorModel, DetectorSetting
from pytest_mcpeval.kinds.security.gates import DetectorGates
from pytest_mcpeval.kinds.security.rates import Row
from pytest_mcpeval.kinds.security.schema import DetectorGatesModel
from pytest_mcpeval.kinds.security.selftest import Verdicts, selftest
from tests.security.attacks import CORPUS, AttackProject
from tests.security.test_security_run import recorded

ROWS = [
    *(Row(f"m{number}", True, "attack", 1.0) for number in range(20)),
    *(Row(f"b{number}", False, "benign", 0.0) for number in range(40)),
]


def marks(rows: list[Row], again: list[Row] | None = None, **settings: float | None) -> list[bool | None]:
    given = DetectorGates("s", "d", DetectorGatesModel.model_validate(settings), rows)
    runs = [rows, rows, again or rows]
    return [proof.holds for proof in selftest(Verdicts(given, runs, [{"description": "x"}]))]


def test_a_measurement_with_ceiling_and_floor_notices_everything() -> None:
    assert marks(ROWS, recall_floor=0.5) == [True] * 5


def test_what_would_not_be_noticed_is_told() -> None:
    assert marks(ROWS) == [True, True, False, True, True]
    assert marks(ROWS, fpr_ceiling=None, recall_floor=0.5) == [True, False, True, False, True]
    benign = [row for row in ROWS if not row.malicious]
    assert marks(benign) == [True, True, None, True, True]
    other = [Row(row.entry, row.malicious, row.category, 0.0) for row in ROWS]
    assert marks(ROWS, other, recall_floor=0.5)[0] is None


def test_a_detector_that_sees_more_than_it_may_is_found_out() -> None:
    given = DetectorGates("s", "d", DetectorGatesModel(), ROWS)
    for leaking in ({"description": "x", "label": "benign"}, {"entry": {"description": "x", "id": "tp_1"}}):
        proof = selftest(Verdicts(given, [ROWS], [leaking]))[-1]
        assert proof.holds is False
        assert proof.message in ("its requests hold label", "its requests hold id")


@pytest.mark.parametrize(
    ("detector", "fields"),
    [
        ("heuristics", {"description", "tool"}),
        ("python:pkg.mod:detect", {"description", "tool"}),
        ({"python": "pkg.mod:detect", "takes_lists": True}, {"description", "tool"}),
        ({"command": ["./scan"]}, {"description", "tool"}),
        ({"http": {"url": "http://127.0.0.1:1/scan"}}, {"entry", *ENTRY_FIELDS}),
        ({"mcp": {"server": "scan", "tool": "check"}}, {"entry", *ENTRY_FIELDS}),
    ],
)
def test_what_is_inspected_is_what_each_way_of_asking_passes_on(detector: Any, fields: set[str]) -> None:
    model = TypeAdapter[DetectorModel](DetectorSetting).validate_python(detector)
    request = request_of(model, {"description": "x", "tool": {"name": "t"}})
    assert set(request) == fields


def test_recorded_verdicts_are_given_nothing_and_all_their_runs_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["one.json", "two.json", "three.json"]
    made = AttackProject.at(tmp_path, detectors={"scan": {"verdicts": files}}, gates={"recall_floor": 0.5})
    for name in files:
        made.project.write_json(f"datasets/{name}", recorded({"bad_0"} if name == "three.json" else set()))
    assert main(["selftest", str(tmp_path / CORPUS), "--rootdir", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "? an unchanged detector gives the same verdicts: 1 of 20 entries differ" in out
    assert "its verdicts are recorded, so it gets nothing" in out


def test_the_command_asks_detectors_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = AttackProject.at(tmp_path, gates={"recall_floor": 0.5})
    command = ["selftest", str(tmp_path / CORPUS), "--rootdir", str(tmp_path)]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "(20 entries, mine)" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["✓"] * 5
    assert "FPR 100.0 %; failed" in lines[2]
    made.settings()
    assert main(command) == 1
    assert "`recall_floor` is not set, so that it would pass" in capsys.readouterr().out
    made.verdicts({"ok_4": "raise"})
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "19 of 20 entries were answered" in error
    assert "the model is gone" in error
