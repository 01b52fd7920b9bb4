"""What becomes of an evaluation that is there already: begun, gone on with, read, or refused."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import TargetError
from pytest_mcpeval.kinds.session.folder import Claim, Folder
from pytest_mcpeval.kinds.session.options import SessionOptions, session_options
from pytest_mcpeval.kinds.session.run import Opening, opening
from pytest_mcpeval.kinds.session.state import Config, State

FILE = "datasets/tiny.scenarios.yaml"


def state(**fields: Any) -> State:
    """The state of an evaluation that an earlier run left."""
    config = Config(scenarios_file=FILE)
    known = {"eval_name": "one", "run_id": "first", "started": "2026-01-01T00:00:00Z", "config": config}
    return State.model_construct(**{**known, **fields})


def options(**fields: Any) -> SessionOptions:
    return SessionOptions("one", run_id="second", **fields)


@pytest.mark.parametrize(
    ("found", "asked", "expected"),
    [
        (None, options(), "begin"),
        (None, options(resume=True), "begin"),
        (state(status="executing", run_id="second"), options(), "go_on"),
        (state(status="scoped"), options(), "begin"),
        (state(status="scoping"), options(resume=True), "begin"),
        (state(status="critiquing"), options(resume=True), "resume"),
        (state(status="critiquing"), options(restart=True), "begin_anew"),
        (state(status="complete"), options(resume=True), "read"),
        (state(status="complete"), options(restart=True), "begin_anew"),
        (state(status="critic_failed"), options(restart=True), "begin_anew"),
        # What this run has begun anew, its other processes go on with.
        (state(status="complete", run_id="second"), options(restart=True), "go_on"),
    ],
)
def test_what_is_done(found: State | None, asked: SessionOptions, expected: Opening) -> None:
    assert opening(found, asked, FILE) == expected


def test_what_is_complete_is_not_overwritten_unasked() -> None:
    with pytest.raises(TargetError, match="'one' is complete and will not be overwritten") as raised:
        opening(state(status="complete"), options(), FILE)
    assert "--mcpeval-resume, or start over with --mcpeval-restart, which keeps its files" in str(
        raised.value
    )


def test_what_is_unfinished_is_not_gone_on_with_unasked() -> None:
    with pytest.raises(TargetError) as raised:
        opening(state(status="critiquing"), options(), FILE)
    assert "is unfinished, its status is 'critiquing'" in str(raised.value)
    assert "--mcpeval-resume --mcpeval-name one" in str(raised.value)


@pytest.mark.parametrize("asked", [options(), options(resume=True), options(restart=True)])
def test_the_evaluation_of_another_file_is_left_alone(asked: SessionOptions) -> None:
    with pytest.raises(TargetError, match=f"belongs to {FILE}"):
        opening(state(status="critiquing"), asked, "datasets/big.scenarios.yaml")


@pytest.mark.parametrize(
    ("name", "resume", "restart", "message"),
    [
        (None, True, False, "name the evaluation with --mcpeval-name"),
        ("one", True, True, "expected one of them"),
        (None, True, True, "expected one of them"),
        ("../up", False, False, "name of an evaluation: expected a letter or digit"),
    ],
)
def test_options_that_make_no_sense(
    tmp_path: Path, name: str | None, resume: bool, restart: bool, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        session_options(tmp_path, name, resume=resume, restart=restart)


def test_a_folder_is_in_the_hands_of_one_run_whose_processes_share_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "one")
    words = f"{folder.path} is in use by another run, process 11: wait until it has ended, or give this "
    with closing(Claim(folder, "first", 11)):
        with closing(Claim(folder, "first", 11)), pytest.raises(TargetError) as refused:
            Claim(folder, "second", 22)
        assert str(refused.value).startswith(words)
        # Another name and another project are other folders.
        for other in (Folder(tmp_path, "two"), Folder(tmp_path / "elsewhere", "one")):
            Claim(other, "second", 22).close()
        with pytest.raises(TargetError, match="process 11"):
            Claim(folder, "second", 22)
    # What the first one left behind does not keep anybody out.
    with closing(Claim(folder, "third-with-a-long-name", 3)), pytest.raises(TargetError, match="process 3:"):
        Claim(folder, "first", 11)
    Claim(folder, "x", 4).close()


def test_the_folder_is_free_when_its_run_is_killed(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "one")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        Claim(folder, "first", os.getpid())
        os.write(writing, b"!")
        signal.pause()
    assert os.read(reading, 1) == b"!"
    with pytest.raises(TargetError, match=f"process {child}:"):
        Claim(folder, "second", 2)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    Claim(folder, "second", 2).close()
    os.close(reading)
    os.close(writing)


def test_runs_that_nobody_named_have_names_of_their_own(tmp_path: Path) -> None:
    """However soon one begins after another."""
    named = {session_options(tmp_path, None, resume=False, restart=False).name for _ in range(20)}
    assert len(named) == 20
