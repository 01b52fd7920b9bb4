"""The commands for golden sets: ``selftest`` and ``snapshot``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.retrieval.gate_input import GateSettings
from pytest_mcpeval.kinds.retrieval.load import load_corpus
from pytest_mcpeval.kinds.retrieval.rankings import Ranking
from pytest_mcpeval.kinds.retrieval.selftest import Answers, selftest_of_answers
from tests.retrieval.golden import TOOLS, GoldenProject, rank, tool

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
    blind: dict[str, Any] = {"tolerance": {}, "significance": {}, "max_lost": None}
    GoldenProject.at(tmp_path, retriever="bm25", gates=blind)
    assert main(["selftest", str(tmp_path / "datasets/golden_v1.json"), "--rootdir", str(tmp_path)]) == 1
    assert "✗" in capsys.readouterr().out
    rankings = [Ranking(f"q{number}", rank(number, 1), {tool(TOOLS[number]): 1}) for number in range(9)]
    settings = GateSettings(tolerance={}, significance={}, max_lost=None)
    proofs = {one.name: one for one in selftest_of_answers(Answers(rankings, rankings, 10, settings))}
    assert proofs["shuffled rankings trip a gate"].holds is False


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
    assert "is neither a golden set nor a labelled corpus" in capsys.readouterr().err
    assert main(["selftest", str(tmp_path / "missing.json")]) == 2


def test_selftest_finds_the_files_of_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = GoldenProject.at(tmp_path, retriever="bm25")
    made.project.write_json("datasets/scenarios.yaml", {"tests": [{"id": "a"}]})
    made.project.write_json("datasets/baseline_v1.json", {"kind": "baseline"})
    monkeypatch.chdir(tmp_path)
    for arguments in ([], ["datasets"], ["."]):
        main(["selftest", *arguments])
        found = capsys.readouterr()
        assert found.out.splitlines()[0] == "datasets/golden_v1.json (12 queries, bm25)"
        assert not found.err
    (tmp_path / "empty").mkdir()
    assert main(["selftest", "empty"]) == 2
    assert "no golden set or labelled corpus in empty" in capsys.readouterr().err


def test_shuffling_lists_of_one_tool_proves_nothing() -> None:
    rankings = [Ranking(f"q{number}", [tool("one")], {tool("one"): 1}) for number in range(9)]
    proofs = {proof.name: proof for proof in selftest_of_answers(Answers(rankings, rankings, 10))}
    found = proofs["shuffled rankings trip a gate"]
    assert found.holds is None
    assert "shuffling changes no metric of any query" in found.message


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
    # 1 means drift.
    assert main(["snapshot", "--servers", str(broken), "--check", str(out)]) == 3
    assert main(["snapshot", "--servers", str(tmp_path / "none.json"), "--check", str(out)]) == 3
    assert main(["snapshot", "tim", "--check", str(out)]) == 2


ODD_SERVER = """
import sys

from mcp.server import MCPServer

server = MCPServer("odd", log_level="ERROR")
if "bare" not in sys.argv:

    @server.tool(name="two words")
    def two_words() -> str:
        return ""


server.run("stdio")
"""


def test_snapshot_writes_no_corpus_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.py").write_text(ODD_SERVER, "utf-8")
    started = {"command": sys.executable, "args": ["odd.py"]}
    bare = {**started, "args": ["odd.py", "bare"]}
    servers = {"mcpServers": {"odd": started, "bare": bare}}
    (tmp_path / ".mcp.json").write_text(json.dumps(servers), "utf-8")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    wrong = {
        "odd:two words: tool": (["odd", "--out", "tools.json"], 1),
        "the servers have no tools": (["bare", "--out", "tools.json"], 1),
        "expected a file name that ends with .json": (["odd", "--out", "tools"], 2),
        "is a directory": (["odd", "--out", "."], 2),
        "--corpus-version is empty": (["odd", "--out", "tools.json", "--corpus-version", ""], 2),
    }
    for message, (arguments, status) in wrong.items():
        assert main(["snapshot", *arguments]) == status, message
        assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_snapshot_says_where_it_cannot_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "file").write_text("", "utf-8")
    assert main(["snapshot", "time", "--out", str(tmp_path / "file" / "tools.json")]) == 1
    assert "cannot write" in capsys.readouterr().err
