"""The commands for golden sets: ``selftest`` and ``snapshot``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.retrieval.load import load_corpus
from tests.retrieval.golden import GoldenProject

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ["git", "memory", "time"]


def test_selftest_notices_every_spoilt_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", str(ROOT / "datasets/retrieval/golden_v1.json"), "--rootdir", str(ROOT)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "(490 queries, bm25)" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["✓"] * 5


def test_selftest_fails_where_gates_would_notice_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = {"tolerance": {"recall_at_5": 1}, "significance": {}, "max_lost": 1000}
    GoldenProject.at(tmp_path, retriever="bm25", gates=blind)
    assert main(["selftest", str(tmp_path / "datasets/golden_v1.json"), "--rootdir", str(tmp_path)]) == 1
    assert "✗ shuffled rankings trip a gate" in capsys.readouterr().out


def test_selftest_spoils_the_answers_of_a_search_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = GoldenProject.at(tmp_path, retriever={"fixture": "my_search"})
    conftest = (
        "import pytest\nfrom search import search\n\n@pytest.fixture\ndef my_search():\n    return search\n"
    )
    made.project.write("datasets/conftest.py", conftest)
    made.project.write("pytest.ini", "[pytest]\npythonpath = datasets\n")
    command = ["selftest", str(tmp_path / "datasets/golden_v1.json"), "--rootdir", str(tmp_path)]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "(12 queries, fixture)" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["✓"] * 5 + ["?"]
    made.project.write("datasets/conftest.py", conftest.replace("return search", "raise OSError('no index')"))
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "0 of 12 queries were answered" in error
    assert "no index" in error


def test_selftest_takes_golden_files_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    GoldenProject.at(tmp_path)
    assert main(["selftest", str(tmp_path / "datasets/tools_v1.json"), "--rootdir", str(tmp_path)]) == 2
    assert "is no golden set and no labelled corpus" in capsys.readouterr().err
    assert main(["selftest", str(tmp_path / "missing.json")]) == 2


def test_snapshot_freezes_servers_and_tells_drift(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    path = tmp_path / "corpus_v1.json"
    assert main(["snapshot", *SERVERS, "--out", str(path)]) == 0
    corpus = load_corpus(path)
    ids = [tool.tool_id for tool in corpus.tools]
    assert corpus.version == "corpus_v1"
    assert ids == sorted(ids)
    assert {tool.server for tool in corpus.tools} == set(SERVERS)
    assert {"git:git_status", "memory:create_entities", "time:convert_time"} <= set(ids)
    assert all(tool.schema for tool in corpus.tools)
    content = json.loads(path.read_text("utf-8"))
    assert all(content["generated_from"][name]["version"] for name in SERVERS)
    assert main(["snapshot", *SERVERS, "--check", str(path)]) == 0

    kept = [row for row in content["tools"] if row["tool_id"] != "time:convert_time"]
    kept[0]["description"] = "Something else."
    gone = {"tool_id": "git:gone", "server": "git", "tool": "gone", "description": "Gone."}
    path.write_text(json.dumps({**content, "tools": [*kept, gone]}), "utf-8")
    capsys.readouterr()
    assert main(["snapshot", *SERVERS, "--check", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    changed = f"changed  {kept[0]['tool_id']}: description"
    assert lines[:-1] == [changed, "removed  git:gone", "added    time:convert_time"]


def test_snapshot_names_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    out = tmp_path / "corpus.json"
    assert main(["snapshot", "tim", "--out", str(out)]) == 2
    assert 'did you mean "time"?' in capsys.readouterr().err
    assert main(["snapshot", "--servers", str(tmp_path / "none.json"), "--out", str(out)]) == 1
    broken = tmp_path / "broken.json"
    broken.write_text('{"mcpServers": {"a": {"command": "no-such-program"}}}', "utf-8")
    assert main(["snapshot", "--servers", str(broken), "--out", str(out)]) == 1
    assert "no-such-program" in capsys.readouterr().err
    assert not out.exists()
