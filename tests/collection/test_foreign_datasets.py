"""Datasets written for another evaluator of the same shape: what loads, and what is said of the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError
from pytest_mcpeval.cli import main
from tests.runtimes import problems_of, runtime_at
from tests.support import Project

TOOLS = {
    "ask_docs": "question",
    "get_working_example": "task",
    "explain_error": "error",
    "search_docs": "query",
}
SUBJECTS = ("orchard", "cellar", "kitchen")
FILES = ("basic", "advanced")
SERVER = """
from mcp.server import MCPServer

server = MCPServer("garden", log_level="ERROR")


@server.tool(name="garden_ask_docs", structured_output=False)
def ask_docs(question: str, project: str) -> str:
    return f"In the {project} [1]: {question}"


@server.tool(name="garden_get_working_example", structured_output=False)
def get_working_example(task: str, project: str) -> str:
    return f"```python\\nimport garden  # {project}: {task}\\n```"


@server.tool(name="garden_explain_error", structured_output=False)
def explain_error(error: str, project: str) -> str:
    return f"{project} [1]: {error}"


@server.tool(name="garden_search_docs", structured_output=False)
def search_docs(query: str, project: str) -> str:
    return f'{project} [1] {query} "sourcesUsed": 3'
"""


def test_of(subject: str, number: int) -> dict[str, Any]:
    """One case; every third has what only the other evaluator reads."""
    tool = list(TOOLS)[number // 6 % len(TOOLS)]
    checks: list[dict[str, Any]] = [{"type": "contains", "value": f"tree {number}"}]
    expected: dict[str, Any] = {"validations": checks, "expectedKeywords": [subject]}
    if tool == "get_working_example":
        checks.append({"type": "has_code_block", "language": "python"})
        expected |= {
            "expectedImports": ["garden"],
            "codeRequirements": {"syntax": "python", "imports": ["x"]},
        }
    if number % 3 == 0:
        expected["groundTruth"] = {"facts": [f"a tree has ${{branches}} and {number} leaves"], "must": ["x"]}
    return {
        "id": f"{subject}-{number:03}",
        "name": f"Tree {number}",
        "description": "Somebody asks about a tree.",
        "tool": tool,
        "difficulty": ("basic", "intermediate", "advanced")[number % 3],
        "input": {TOOLS[tool]: f"What about tree {number}?"},
        "expected": expected,
        "tags": ["trees"],
    }


test_of.__test__ = False  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """170 cases in six files, and the schema of such files beside them."""
    made = Project(tmp_path_factory.mktemp("garden"))
    made.write("server.py", SERVER)
    made.write("pytest.ini", "[pytest]\n")
    made.write_json(".mcp.json", {"mcpServers": {"garden": {"module": "server:server"}}})
    made.write("mcpeval.yaml", "scenario: [{files: 'datasets/**', tool_prefix: garden_, concurrency: 8}]\n")
    cases = [(SUBJECTS[number % 3], number) for number in range(170)]
    for subject in SUBJECTS:
        for half, file in enumerate(FILES):
            tests = [test_of(name, n) for name, n in cases if name == subject and (n // 3) % 2 == half]
            head = {"name": f"{subject}: {file}", "description": "Questions on trees.", "project": subject}
            made.write_json(f"datasets/{subject}/{file}.json", {**head, "version": "1.0.0", "tests": tests})
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["tests"]}
    properties = {"tests": {"type": "array"}, "project": {"enum": list(SUBJECTS)}}
    made.write_json("datasets/schema.json", {**schema, "properties": properties})
    return made


def test_they_load_and_run_and_each_difference_is_one_warning(project: Project) -> None:
    run = project.run(columns=400)
    assert run.last_line.startswith("170 passed, "), run.out
    for subject in SUBJECTS:
        for file in FILES:
            key = f"datasets/{subject}/{file}.json"
            warned = [line for line in run.lines if f"{key}: line " in line]
            assert len([line for line in warned if "`codeRequirements` is not judged (" in line]) == 1, (
                run.out
            )
            assert len([line for line in warned if "`groundTruth` is not judged (" in line]) == (
                1 if subject == SUBJECTS[0] else 0
            )
    line = run.line_with("datasets/orchard/basic.json: line ", "groundTruth")
    source = (project.path / "datasets/orchard/basic.json").read_text(encoding="utf-8").splitlines()
    number = int(line.partition("basic.json: line ")[2].partition(":")[0])
    assert '"groundTruth"' in source[number - 1]


def test_validate_tells_each_difference_once(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)
    assert main(["validate", "datasets"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("datasets/orchard/basic.json: line ") == 2
    assert "170 cases: no problems" in printed
    assert "such as {type: contains_all" in printed


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("has_search_guidance", "{type: contains_any, values: […]}"),
        ("search_guidance_has_project", "{type: contains, value: …}"),
        ("search_guidance_has_searches", "{type: min_results, count: 1, path: …}"),
        ("has_web_search_suggestion", "{type: matches_regex, pattern: …}"),
    ],
)
def test_checks_that_nobody_defined_are_refused_once_with_a_replacement(
    project: Project, name: str, instead: str
) -> None:
    tests = [test_of("orchard", number) for number in range(44)]
    for entry in tests[3:]:
        entry["expected"]["validations"].append({"type": name})
    path = project.path / "refused" / f"{name}.eval.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"tests": tests, "toolPrefix": "garden_"}, indent=1), encoding="utf-8")
    (problem,) = problems_of(runtime_at(project.path), path)
    assert f"tests[3].expected.validations[1].type: {name} is a check of another evaluator" in problem
    assert instead in problem
    assert problem.endswith("(41 times in this file)")


def test_what_another_evaluator_reads_is_no_requirement(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    given = {"id": "a", "tool": "echo", "input": {"text": "x"}, "expected": {"groundTruth": "x"}}
    path = project.suite("a.json", given)
    with pytest.raises(DataFileError, match="could never fail"):
        runtime_at(tmp_path).suite(path)


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {}},
        {"type": "object", "properties": {"tests": {"type": "array"}}},
    ],
)
def test_a_json_schema_is_left_alone(tmp_path: Path, schema: dict[str, Any]) -> None:
    path = Project.at(tmp_path).write_json("datasets/schema.json", schema)
    assert runtime_at(tmp_path).suite(path) is None
