"""``pytest-mcpeval schema``: schemas that accept what the loader accepts, and refuse misspelt keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_mcpeval.cli import main
from pytest_mcpeval.cli.schema import NAMES
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.loading import load
from tests.agent.captured_runs import case as agent_case
from tests.agent.captured_runs import manifest
from tests.runtimes import KINDS

ROOT = Path(__file__).parents[2]
SUITES = sorted(
    path for path in (ROOT / "datasets").glob("*/**/*.yaml") if "tests:" in path.read_text("utf-8")
)

Schemas = Callable[[str], Draft202012Validator]


@pytest.fixture
def validator(capsys: pytest.CaptureFixture[str]) -> Schemas:
    def of(name: str) -> Draft202012Validator:
        assert main(["schema", name]) == 0
        schema = json.loads(capsys.readouterr().out)
        Draft202012Validator.check_schema(schema)
        return Draft202012Validator(schema)

    return of


def suite(**fields: Any) -> dict[str, Any]:
    test = {"id": "a", "tool": "echo", "input": {}, "expected": {"validations": [{"type": "has_citation"}]}}
    return {"tests": [test | fields]}


def golden(**fields: Any) -> dict[str, Any]:
    query = {"id": "a", "query": "which", "labels": [{"tool_id": "a:b", "relevance": 2}]}
    return {"corpusVersion": "v1", "retriever": {"bm25": {"k1": 1}}, "queries": [query | fields]}


def corpus(**fields: Any) -> dict[str, Any]:
    provenance = {"source": "by hand", "license": "MIT"}
    entry = {"id": "a", "label": "benign", "category": "benign", "provenance": provenance, "description": "x"}
    return {"detectors": {"h": "heuristics", "r": {"verdicts": ["a.json"]}}, "entries": [entry | fields]}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_bundled_suites_are_valid(path: Path, validator: Schemas) -> None:
    assert [error.message for error in validator("scenario").iter_errors(load(path).data)] == []


BUNDLED = [
    ("mcpeval.yaml", "datasets/mcpeval.yaml"),
    (".mcp.json", ".mcp.json"),
    ("retrieval", "datasets/retrieval/golden_v1.json"),
    ("corpus", "datasets/retrieval/tools_v1.json"),
    ("security", "datasets/security/attacks_v1.json"),
    ("agent", "datasets/agents/people-directory/agent.yaml"),
    ("session", "datasets/sessions/handover.scenarios.yaml"),
]


@pytest.mark.parametrize(("name", "file"), BUNDLED)
def test_other_bundled_files_are_valid(name: str, file: str, validator: Schemas) -> None:
    assert [error.message for error in validator(name).iter_errors(load(ROOT / file).data)] == []


def test_the_default_is_the_scenario_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert "scenario suite" in json.loads(capsys.readouterr().out)["title"]


@pytest.mark.parametrize("name", NAMES)
def test_misspelt_keys_are_refused(name: str, validator: Schemas) -> None:
    good, bad = {
        "scenario": (suite(tags=["x"]), suite(tag=["x"])),
        "agent": (
            manifest(agent_case("a", must_call=["x"])),
            manifest(agent_case("a", must_cal=["x"])),
        ),
        "mcpeval.yaml": (
            {
                "servers": {"s": {"command": "x"}},
                "scenario": [{"files": "docs/**", "toolPrefix": "x", "gates": {"passRate": 0.5}}],
                "retrieval": [{"gates": {"floors": {"mrr": 0.5}}}],
                "agent": [{"gates": {"maxInconclusive": 1}}],
            },
            {"servers": {"s": {"command": "x"}}, "scenario": [{"file": "docs/**"}]},
        ),
        "retrieval": (golden(notes="x"), golden(note="x")),
        "corpus": (
            {"tools": [{"tool_id": "a:b", "server": "a", "tool": "b", "schema": {}}], "__by": "me"},
            {"tools": [{"tool_id": "a:b", "server": "a", "tool": "b", "scheme": {}}], "__by": "me"},
        ),
        "security": (
            corpus(tool={"name": "x", "inputSchema": {}}),
            corpus(tool={"name": "x", "parameters": {}}),
        ),
        "session": (
            {"agent": "python:a:b", "scenarios": [{"description": "x", "targetsMcps": ["y"]}]},
            {"agent": "python:a:b", "scenarios": [{"description": "x", "targets": ["y"]}]},
        ),
        ".mcp.json": (
            {"mcpServers": {"s": {"url": "http://x", "alwaysAllow": ["y"]}}},
            {"mcpServers": {"s": {"ulr": "http://x"}}},
        ),
    }[name]
    assert validator(name).is_valid(good)
    assert not validator(name).is_valid(bad)


@pytest.mark.parametrize(
    "data",
    [
        suite(sendProject=False, expected={"expectedKeywords": ["x"]}),
        suite(send_project=False, expected={"expected_keywords": ["x"]}),
        suite(marks={"skipifEnv": {"name": "CI", "reason": "slow"}}),
        suite(expected={"validations": [{"type": "contains", "value": "x", "caseSensitive": True}]}),
        suite(expected={"validations": [{"type": "contains", "value": "x", "case_sensitive": True}]}),
        suite(expected={"validations": [{"any_of": [{"not": {"type": "is_error"}}]}]}),
        suite()["tests"],
        {"tests": [{"id": "a", "steps": [{"resource": "page://x", "expected": {"expectedImports": ["x"]}}]}]},
        {"tests": [{"id": "a", "tool": "nope", "input": {}, "expectRejection": True}]},
        {**suite(), "toolPrefix": "x_", "gates": {"passRate": 0.5, "no_new_failures": True}},
    ],
)
def test_both_spellings_and_all_forms(data: Any, validator: Schemas) -> None:
    assert [error.message for error in validator("scenario").iter_errors(data)] == []


@pytest.mark.parametrize(
    "data",
    [
        {"tests": []},
        suite(id="a b"),
        suite(expected={}),
        suite(expected={"validations": [{"type": "contians", "value": "x"}]}),
        suite(expected={"validations": [{"type": "contains"}]}),
        suite(expected={"validations": [{"type": "contains", "value": "x", "casesensitive": True}]}),
        suite(steps=[{"tool": "x"}]),
        {"tests": [{"id": "a", "tool": "echo"}]},
        {"tests": [{"id": "a", "steps": [{"tool": "x", "prompt": "y"}]}]},
    ],
)
def test_what_the_loader_refuses(data: Any, validator: Schemas) -> None:
    assert not validator("scenario").is_valid(data)


@pytest.mark.parametrize(
    "data",
    [
        golden(labels=[]),
        golden(labels=[{"tool_id": "a:b", "relevance": 3}]),
        golden(id="a b"),
        golden(must_hit=0),
        {**golden(), "depth": 0},
        {**golden(), "gates": {"max_lost": -1}},
        {"queries": golden()["queries"]},
    ],
)
def test_what_is_no_golden_set(data: Any, validator: Schemas) -> None:
    assert not validator("retrieval").is_valid(data)
    assert validator("retrieval").is_valid({**golden(mustHit=5), "gates": {"maxLost": "chance"}})


def test_every_file_that_a_kind_describes_can_be_asked_for() -> None:
    described = {name for kind in KINDS.values() for name in kind.file_models}
    assert described <= set(NAMES)


def test_every_check_is_described(validator: Schemas) -> None:
    schema: Any = validator("scenario").schema
    forms = schema["$defs"]["check"]["anyOf"]
    described = {form["properties"].get("type", {}).get("const") for form in forms if form["description"]}
    assert {check.name for check in BUILTIN} <= described


def test_numbers_are_texts_in_arguments_and_variables(validator: Schemas) -> None:
    server = {"command": "x", "args": ["--port", 80], "env": {"LEVEL": 3}, "startTimeout": 5}
    assert validator("mcpeval.yaml").is_valid({"servers": {"s": server}})
    assert validator("mcpeval.yaml").is_valid({"servers": {"s": {**server, "start_timeout": 5}}})
    assert not validator("mcpeval.yaml").is_valid({"servers": {"s": {**server, "url": "http://x"}}})


def test_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "scenarios"]) == 2
    assert (
        'unknown name "scenarios" (did you mean "scenario"?): expected scenario, ' in capsys.readouterr().err
    )


@pytest.mark.parametrize(("name", "file"), [*BUNDLED, ("scenario", "datasets/docs/quality.yaml")])
def test_a_file_may_say_which_schema_editors_use(
    name: str, file: str, validator: Schemas, tmp_path: Path
) -> None:
    data = load(ROOT / file).data
    if not isinstance(data, dict):
        data = {"tests": data}
    with_schema = {"$schema": "./schema.json", **data}
    assert [error.message for error in validator(name).iter_errors(with_schema)] == []
    (tmp_path / "file.json").write_text(json.dumps(with_schema), "utf-8")
    assert load(tmp_path / "file.json").data == data
    (tmp_path / "file.json").write_text(json.dumps({"$schema": 3}), "utf-8")
    assert load(tmp_path / "file.json").data == {"$schema": 3}
