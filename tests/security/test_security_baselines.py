"""Edited baselines of corpora: one that does not agree with itself or its corpus is an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError
from pytest_mcpeval.cli.project import runtime_at
from pytest_mcpeval.kinds.security.baseline import read
from pytest_mcpeval.kinds.security.spec import SecuritySuite
from tests.security.attacks import CORPUS, AttackProject, gates

MISSED = {"outcome": "failed", "flagged": False}


@pytest.fixture(scope="module")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose detector is always right, blessed so."""
    path = tmp_path_factory.mktemp("blessed")
    AttackProject.at(path, baseline="baseline_v1.json").bless()
    return path


def test_an_edited_baseline_fails_the_run(tmp_path: Path, blessed: Path) -> None:
    made = AttackProject.at(tmp_path, baseline="baseline_v1.json")
    content = json.loads((blessed / "datasets" / "baseline_v1.json").read_text())
    content["cases"] = {"mine-bad_0": MISSED}
    made.baseline.write_text(json.dumps(content))
    run = made.run("--mcpeval-report", "report")
    assert run.status == 1
    assert gates(run)["baseline"]["verdict"] == "error"
    assert "19 of 20 cases are missing: mine-bad_1" in gates(run)["baseline"]["message"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda found: found["cases"].clear(), "20 of 20 cases are missing: mine-bad_0, mine-bad_1"),
        (lambda found: found["cases"].pop("mine-ok_5"), "1 of 20 cases are missing: mine-ok_5"),
        (
            lambda found: found["cases"].update({"mine-x": MISSED}),
            "the suite has no mine-x, which the baseline has",
        ),
        (lambda found: found["cases"]["mine-bad_0"].update(MISSED), "mine: tp is 8, and its cases have 7"),
        (
            lambda found: found["cases"]["mine-bad_0"].update(flagged=None),
            "cases.mine-bad_0.flagged",
        ),
        (lambda found: found["detectors"]["mine"].update(fn=-1), "detectors.mine.fn"),
        (
            lambda found: found["detectors"]["mine"].update(errors=3),
            "mine: errors is 3, and its cases have 0",
        ),
        (lambda found: found.pop("detectors"), "detectors"),
    ],
    ids=[
        "no cases",
        "a case less",
        "a case more",
        "another verdict",
        "no verdict",
        "no count",
        "other errors",
        "no counts",
    ],
)
def test_a_baseline_that_does_not_agree_with_itself_is_an_error(
    blessed: Path, edit: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = blessed / "datasets" / "baseline_v1.json"
    whole = path.read_text()
    content = json.loads(whole)
    edit(content)
    path.write_text(json.dumps(content))
    suite = runtime_at(blessed).suite(blessed / CORPUS)
    assert isinstance(suite, SecuritySuite)
    with pytest.raises(DataFileError) as raised:
        read(suite)
    path.write_text(whole)
    assert message in str(raised.value)
