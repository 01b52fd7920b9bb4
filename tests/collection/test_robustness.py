"""Whatever a data file holds, it is a suite or an error about the file."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_mcpeval import DataFileError
from tests.runtimes import runtime_at

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["", "\x00", "\x1b[31m", "${x}", "(", "$.a[", "../x", "/etc/passwd", "**", "echo"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)

SUITE: dict[str, Any] = {
    "name": "all",
    "kind": "scenario",
    "project": "p",
    "version": "1",
    "server": "tiny",
    "tool_prefix": "x_",
    "tools": {"ask": "echo"},
    "send_project": False,
    "concurrency": 2,
    "timeout": 3.5,
    "gates": {"pass_rate": 0.5, "no_new_failures": True, "p95_latency_ms": 5, "average_confidence": 50},
    "baseline": "b.json",
    "marks": {
        "skip": "no",
        "xfail": {"reason": "why", "strict": False},
        "skipif_env": [{"name": "X", "reason": "r"}],
    },
    "tests": [
        {
            "id": "one",
            "tool": "ask",
            "difficulty": "basic",
            "input": {"text": "x"},
            "expected": {
                "validations": [
                    {"type": "contains", "value": "x", "caseSensitive": True},
                    {"type": "contains_any", "values": ["x"]},
                    {"type": "matches_regex", "pattern": "a+"},
                    {"type": "json_path", "path": "$.a", "equals": 1},
                    {"type": "matches_schema", "schema": {"type": "object"}},
                    {"type": "has_code_block", "language": "go"},
                    {"type": "valid_syntax", "language": "go"},
                    {"type": "equals", "value": {"a": 1}},
                    {"type": "min_length", "chars": 1},
                    {"type": "sources_count", "min": 1},
                    {"not": {"type": "has_citation"}},
                    {"any_of": [{"type": "is_error"}, {"type": "max_latency_ms", "ms": 5}]},
                ],
                "expectedKeywords": ["x"],
                "forbiddenKeywords": ["y"],
                "expectedImports": ["z"],
            },
            "tags": ["a", "b"],
            "fixtures": ["f"],
        },
        {
            "id": "two",
            "steps": [
                {"tool": "ask", "input": {"text": "x"}, "capture": {"v": "$.id"}},
                {"resource": "a://${v}", "expected": {"validations": [{"type": "not_error"}]}},
                {"prompt": "p", "input": {"a": "${v}"}, "timeout": 1},
            ],
        },
    ],
}

PROJECT_FILE: dict[str, Any] = {
    "servers": {
        "tiny": {"module": "server:server", "start_timeout": 3},
        "other": {"command": "x", "args": ["-y"], "env": {"A": "b"}, "cwd": "."},
        "web": {"url": "http://localhost:1", "type": "sse", "headers": {"a": "b"}},
    },
    "scenario": [
        {"files": ["*.json", "**"], "server": "tiny", "gates": {"pass_rate": 1}, "baseline": "x.json"}
    ],
}

Place = tuple[str | int, ...]


def places(data: Any, at: Place = ()) -> list[Place]:
    """Every place in JSON data, as the keys that lead there."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [at, *(place for key, value in inner for place in places(value, (*at, key)))]


def with_value(data: Any, place: Place, value: Any) -> Any:
    """The data with another value at a place."""
    if not place:
        return value
    changed = copy.deepcopy(data)
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return changed


def without(data: Any, place: Place) -> Any:
    """The data without what stands at a place."""
    changed = copy.deepcopy(data)
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    del holder[place[-1]]
    return changed


@st.composite
def mutations(draw: st.DrawFn, data: Any) -> Any:
    """Data with up to three values replaced, keys renamed or entries removed."""
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(data)))
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove" and place:
            data = without(data, place)
        elif action == "add":
            data = with_value(data, place, {draw(st.text(max_size=6)): draw(VALUES)})
        else:
            data = with_value(data, place, draw(VALUES))
    return data


def loads_or_says_why(root: Path) -> None:
    runtime = runtime_at(root)
    try:
        runtime.suite(root / "datasets" / "a.json")
    except DataFileError as error:
        text = runtime.described(error)
    else:
        return
    assert text.startswith(("datasets/", ".mcp.json"))
    assert not any(character in text for character in "\x00\x1b")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    (root / "datasets").mkdir()
    return root


def write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")


def test_unchanged_both_files_are_fine(root: Path) -> None:
    write(root / "datasets" / "mcpeval.yaml", PROJECT_FILE)
    write(root / "datasets" / "a.json", SUITE)
    suite = runtime_at(root).suite(root / "datasets" / "a.json")
    assert suite is not None
    assert [case.spec.name for case in suite.cases] == ["one", "two"]


SETTINGS = settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@SETTINGS
@given(data=mutations(SUITE))
def test_any_suite(root: Path, data: Any) -> None:
    write(root / "datasets" / "mcpeval.yaml", PROJECT_FILE)
    write(root / "datasets" / "a.json", data)
    loads_or_says_why(root)


@SETTINGS
@given(data=mutations(PROJECT_FILE))
def test_any_project_file(root: Path, data: Any) -> None:
    write(root / "datasets" / "mcpeval.yaml", data)
    write(root / "datasets" / "a.json", SUITE)
    loads_or_says_why(root)


@SETTINGS
@given(data=mutations({"mcpServers": PROJECT_FILE["servers"]}))
def test_any_servers_file(tmp_path_factory: pytest.TempPathFactory, root: Path, data: Any) -> None:
    write(root / "datasets" / "mcpeval.yaml", {})
    write(root / ".mcp.json", data)
    write(root / "datasets" / "a.json", SUITE)
    loads_or_says_why(root)
    (root / ".mcp.json").unlink()
