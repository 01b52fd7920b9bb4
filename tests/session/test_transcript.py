"""The transcript: ids, lines completed in place, and nothing lost when the process is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mcpeval import DataFileError
from pytest_mcpeval.kinds.session.records import ArgumentSource, TranscriptEntry
from pytest_mcpeval.kinds.session.transcript import (
    Transcript,
    abort_reason,
    blocked_count,
    call_count,
    read_entries,
    wallclock_entry,
)


def append(transcript: Transcript, scenario: str = "S1", tool: str = "mcp__a__get", **fields: object) -> str:
    more = {"ts": "2026-01-01T00:00:00.000+00:00", "tool": tool, "is_mcp": tool.startswith("mcp__")} | fields
    return transcript.append(scenario, **more).id


def test_a_line_has_the_documented_keys_in_their_order(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript.jsonl")
    append(transcript, args_summary="{id: 1}")
    (line,) = transcript.path.read_text("utf-8").splitlines()
    assert json.loads(line) == {
        "id": "S1-001",
        "scenario_id": "S1",
        "ts": "2026-01-01T00:00:00.000+00:00",
        "tool": "mcp__a__get",
        "is_mcp": True,
        "args_summary": "{id: 1}",
        "result_shape": None,
        "justification": None,
    }
    assert list(json.loads(line))[:2] == ["id", "scenario_id"]


def test_ids_count_each_scenario_on_its_own(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript.jsonl")
    ids = [append(transcript, scenario) for scenario in ("S1", "S1", "S2", "S1", "S10")]
    assert ids == ["S1-001", "S1-002", "S2-001", "S1-003", "S10-001"]


def test_ids_go_on_past_the_three_digits(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    entry = TranscriptEntry("S1-999", "S1", "t", "__blocked__", False)
    path.write_text(entry.line + "\n", "utf-8")
    assert append(Transcript(path)) == "S1-1000"


def test_a_line_is_completed_where_it_stands(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript.jsonl")
    for _ in range(3):
        append(transcript)
    transcript.complete("S1-002", result_shape="array[0]", latency_ms=1.5)
    transcript.complete("S1-001", result_shape="error:403")
    found = read_entries(transcript.path)
    assert [(entry.id, entry.result_shape) for entry in found] == [
        ("S1-001", "error:403"),
        ("S1-002", "array[0]"),
        ("S1-003", None),
    ]
    assert [entry.failed for entry in found] == [True, False, False]
    with pytest.raises(KeyError):
        transcript.complete("S1-004", result_shape="x")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript.jsonl")
    sources = (ArgumentSource("id", "S1-001", "reshaped"),)
    append(
        transcript,
        args_summary='{text: "ä\u2028\ud800"}',
        argument_sources=sources,
        args_digest="abc",
        result_bytes=3,
        blocked_tool="mcp__x__y",
        abort_reason="safety_abort",
    )
    (entry,) = read_entries(transcript.path)
    assert entry.argument_sources == sources
    assert (entry.args_digest, entry.result_bytes, entry.blocked_tool) == ("abc", 3, "mcp__x__y")
    assert len(transcript.path.read_bytes().split(b"\n")) == 2


def test_counts_and_endings_are_read_from_the_lines(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript.jsonl")
    append(transcript)
    append(transcript, tool="Bash")
    append(transcript, tool="__blocked__")
    append(transcript, "S2", tool="__budget_abort__", abort_reason="call_budget")
    entries = transcript.entries()
    assert (call_count(entries, "S1"), blocked_count(entries, "S1"), call_count(entries, "S2")) == (2, 1, 0)
    assert [abort_reason(entries, scenario) for scenario in ("S1", "S2")] == [None, "call_budget"]
    assert wallclock_entry(entries) is None
    append(transcript, "S3", tool="__wallclock_abort__", abort_reason="wallclock")
    entries = transcript.entries()
    assert [abort_reason(entries, name) for name in ("S1", "S2", "S3")] == [
        "wallclock",
        "call_budget",
        "wallclock",
    ]


def test_lines_that_are_no_entries_are_named(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    good = TranscriptEntry("S1-001", "S1", "t", "Bash", False).line
    path.write_text(f'{good}\n{{"id": "S1-002"\n\n[1]\n{{"id": "S1-003"}}\n', "utf-8")
    with pytest.raises(DataFileError) as caught:
        read_entries(path)
    assert [problem.line for problem in caught.value.problems] == [2, 4, 5]
    assert "expected an entry of a transcript" in str(caught.value)


def test_keys_of_others_are_let_stand_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    data = json.loads(TranscriptEntry("S1-001", "S1", "t", "Bash", False).line)
    path.write_text(json.dumps({**data, "seen_by": "me"}) + "\n", "utf-8")
    assert [entry.id for entry in read_entries(path)] == ["S1-001"]


KILLED = """
import os, signal, sys
from pathlib import Path
from pytest_mcpeval.core import baseline
from pytest_mcpeval.kinds.session import transcript as transcripts

path, moment = Path(sys.argv[1]), sys.argv[2]

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

transcript = transcripts.Transcript(path)
for _ in range(3):
    entry = transcript.append("S1", ts="t", tool="mcp__a__get", is_mcp=True)
    transcript.complete(entry.id, result_shape="text[1]")
if moment == "between":
    transcript.append("S1", ts="t", tool="mcp__a__get", is_mcp=True)
    die()
if moment == "while appending":
    baseline.os.replace = die
    transcript.append("S1", ts="t", tool="mcp__a__get", is_mcp=True)
entry = transcript.append("S1", ts="t", tool="mcp__a__get", is_mcp=True)
if moment == "while completing":
    baseline.os.replace = die
if moment == "in the middle of a write":
    real = os.fdopen
    def half(*arguments, **options):
        file = real(*arguments, **options)
        write = file.write
        def cut(text):
            write(text[: len(text) // 2])
            file.flush()
            die()
        file.write = cut
        return file
    baseline.os.fdopen = half
transcript.complete(entry.id, result_shape="text[1]")
"""


@pytest.mark.parametrize(
    ("moment", "shapes"),
    [
        ("between", ["text[1]"] * 3 + [None]),
        ("while appending", ["text[1]"] * 3),
        ("while completing", ["text[1]"] * 3 + [None]),
        ("in the middle of a write", ["text[1]"] * 3 + [None]),
    ],
)
def test_a_killed_process_leaves_every_line_whole(
    tmp_path: Path, moment: str, shapes: list[str | None]
) -> None:
    path = tmp_path / "transcript.jsonl"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), moment], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    entries = read_entries(path)
    assert [entry.result_shape for entry in entries] == shapes
    assert call_count(entries, "S1") == len(shapes)
    # The next process is kept out by no lock, counts on, and leaves no litter.
    transcript = Transcript(path)
    assert append(transcript) == f"S1-{len(shapes) + 1:03d}"
    assert sorted(os.listdir(tmp_path)) == [".transcript.jsonl.lock", "transcript.jsonl"]


APPENDING = """
import sys
from pathlib import Path
from pytest_mcpeval.kinds.session.transcript import Transcript

transcript = Transcript(Path(sys.argv[1]))
for _ in range(15):
    entry = transcript.append("S1", ts="t", tool="mcp__a__get", is_mcp=True)
    transcript.complete(entry.id, result_shape=sys.argv[2])
"""


def test_two_processes_write_one_transcript(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    processes = [
        subprocess.Popen([sys.executable, "-c", APPENDING, str(path), shape]) for shape in ("x", "y")
    ]
    assert [process.wait(60) for process in processes] == [0, 0]
    entries = read_entries(path)
    assert [entry.id for entry in entries] == [f"S1-{number:03d}" for number in range(1, 31)]
    assert sorted(entry.result_shape or "" for entry in entries) == ["x"] * 15 + ["y"] * 15
