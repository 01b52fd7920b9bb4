"""Retrievers chosen in ``mcpeval.yaml`` and on the command line, through pytest."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_mcpeval.cli.file_schemas import project_schema
from tests.retrieval.golden import GoldenProject
from tests.runtimes import KINDS

BUNDLED = Path(__file__).parents[2] / "datasets" / "retrieval"
GOLDEN = "datasets/golden_v1.json"
FLOORS: dict[str, Any] = {"baseline": None, "gates": {"floors": {"recall_at_10": 0.1}}}

PROGRAM = """
import json
import sys

sys.path.insert(0, "datasets")
from search import RANKING

print("ready", file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["query"] == "goal 3":
        print("out of memory", file=sys.stderr, flush=True)
        sys.exit(9)
    print(json.dumps({"id": request["id"], "results": RANKING[request["query"]]}), flush=True)
"""


def test_a_command_is_chosen_on_the_command_line(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path, **FLOORS)
    made.project.write("program.py", PROGRAM)
    run = made.run(
        "--mcpeval-report", "report", "--mcpeval-retriever", f"command:{sys.executable} program.py"
    )
    assert run.status == 1
    assert run.report()["suites"][GOLDEN]["metrics"]["recall_at"]["1"] == pytest.approx(11 / 12)
    assert "the command exited with code 9, so there is no answer" in run.out
    assert "out of memory" in run.out


@pytest.mark.parametrize(
    "retriever", ["python:search:search", '{"python": "search:search", "directory": "datasets"}']
)
def test_relative_to_the_working_directory(tmp_path: Path, retriever: str) -> None:
    made = GoldenProject.at(tmp_path, **FLOORS, retriever="bm25")
    if not retriever.startswith("{"):
        (tmp_path / "datasets" / "search.py").rename(tmp_path / "search.py")
        (tmp_path / "datasets" / "ranking.txt").rename(tmp_path / "ranking.txt")
    run = made.run("--mcpeval-report", "report", "--mcpeval-retriever", retriever)
    assert run.status == 0, run.out
    assert run.report()["suites"][GOLDEN]["metrics"]["recall_at"]["1"] == 1.0


def test_a_retriever_nobody_knows_is_a_usage_error(tmp_path: Path) -> None:
    run = GoldenProject.at(tmp_path, **FLOORS).run("--mcpeval-retriever", "bm52")
    assert run.status == 4
    assert "--mcpeval-retriever: expected bm25, tfidf, python:pkg.mod:function" in run.out + run.err
    assert 'did you mean "bm25"?' in run.out + run.err


def test_a_retriever_that_cannot_be_used_is_an_error_of_every_query(tmp_path: Path) -> None:
    run = GoldenProject.at(tmp_path, **FLOORS).run("--mcpeval-retriever", "python:nowhere:search")
    assert run.status == 1
    assert "retriever python:nowhere:search cannot be used: ModuleNotFoundError" in run.out
    assert "1 error, 11 not asked" in run.out


def test_schema_of_mcpeval_yaml_knows_retrievers() -> None:
    validator = jsonschema.Draft202012Validator(project_schema(KINDS))
    good: list[Any] = [
        "bm25",
        {"bm25": {"schema": False, "fields": {"tool": 2}}},
        {"command": "search --fast"},
        {"mcp": {"server": "a", "tool": "b", "result": "$", "toolId": "{name}", "separator": "__"}},
    ]
    for retriever in good:
        validator.validate({"retrieval": [{"retriever": retriever}]})
    bad: list[Any] = [5, {"mcpp": {}}, {"mcp": {"server": "a"}}]
    for retriever in bad:
        assert list(validator.iter_errors({"retrieval": [{"retriever": retriever}]}))


SEARCH = {
    "mcp": {
        "server": "search",
        "tool": "search_tools",
        "arguments": {"query": "{query}"},
        "result": "$.result",
        "tool_id": "{name}",
        "separator": "__",
    }
}


def test_a_tool_search_server_from_pypi_is_run_and_held_to_its_baseline(tmp_path: Path) -> None:
    made = GoldenProject.at(tmp_path)
    directory = tmp_path / "datasets"
    program = Path(__file__).with_name("tool_search_server.py")
    shutil.copy(BUNDLED / "tools_v1.json", directory)
    golden = json.loads((BUNDLED / "golden_v1.json").read_text(encoding="utf-8"))
    made.project.write_json("datasets/golden_v1.json", {**golden, "queries": golden["queries"][:20]})
    entry = {"files": "golden_v1.json", "corpus": "tools_v1.json", "baseline": "baseline_v1.json"}
    server = {"command": sys.executable, "args": [str(program), str(directory / "tools_v1.json")]}
    settings = {"servers": {"search": server}, "retrieval": [{**entry, "retriever": SEARCH}]}
    made.project.write_json("datasets/mcpeval.yaml", settings)
    made.bless()
    run = made.run("--mcpeval-report", "report")
    assert run.status == 0, run.out
    assert set(run.gates().values()) == {"passed", "not_set"}
    metrics = run.report()["suites"][GOLDEN]["metrics"]
    assert metrics["queries"] == 20
    assert 0.3 < metrics["recall_at"]["10"] < 1
    assert "a tool that is not in the corpus" not in metrics["problems"]
