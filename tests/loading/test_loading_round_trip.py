"""Whatever JSON-like data is written as YAML or JSON loads unchanged, with the lines PyYAML's nodes have."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mcpeval import Document
from pytest_mcpeval.loading import load

# PyYAML writes these texts unquoted, because YAML 1.1 reads them as texts; YAML 1.2 reads some as numbers.
NUMERIC_IN_CORE_SCHEMA = re.compile(r"[-+]?(0o[0-7]+|[0-9]+|\.?[0-9][0-9.]*([eE][-+]?[0-9]+)?)")

# Unless told to write ASCII, PyYAML writes these line breaks so that they read as spaces.
ODD_BREAK = re.compile("[\x85\u2028\u2029]")

special_texts = st.sampled_from(
    ["on", "no", "null", "~", "1_0", "12:30", "2026-01-01", "<<", "=", "", "a: b", "- x", "#"]
)
texts = st.one_of(st.text(max_size=20), special_texts).filter(
    lambda text: not NUMERIC_IN_CORE_SCHEMA.fullmatch(text)
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts
)
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(texts, inner, max_size=5))
)
containers = st.one_of(
    st.lists(values, min_size=1, max_size=5), st.dictionaries(texts, values, min_size=1, max_size=5)
)

Path_ = tuple[str | int, ...]


def written(content: str, suffix: str) -> Document:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"suite{suffix}"
        path.write_text(content, encoding="utf-8", newline="")
        document = load(path)
        document.line("force", "positions", "while", "the", "file", "exists")
        return document


def exactly(data: Any) -> str:
    """A text that tells 1, 1.0 and True apart."""
    return json.dumps(data, sort_keys=True)


def paths(data: Any, at: Path_ = ()) -> Iterator[Path_]:
    yield at
    for key, child in (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    ):
        yield from paths(child, (*at, key))


def node_lines(node: yaml.Node, at: Path_ = (), line: int | None = None) -> Iterator[tuple[Path_, int]]:
    """Every path below a composed node, with the line of its key or, in lists, of its start."""
    assert node.start_mark is not None
    yield at, node.start_mark.line + 1 if line is None else line
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            yield from node_lines(child, (*at, key.value), key.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from node_lines(child, (*at, index))


@settings(max_examples=150, deadline=None)
@given(data=containers, flow=st.booleans(), width=st.sampled_from([20, 80]), readable=st.booleans())
def test_yaml_round_trip(data: Any, flow: bool, width: int, readable: bool) -> None:
    readable = readable and not ODD_BREAK.search(json.dumps(data, ensure_ascii=False))
    content = yaml.safe_dump(
        data, default_flow_style=flow, width=width, allow_unicode=readable, sort_keys=False
    )
    document = written(content, ".yaml")
    assert exactly(document.data) == exactly(data)
    root = yaml.compose(content, Loader=yaml.CSafeLoader)
    assert root is not None
    expected = dict(node_lines(root))
    assert {path: document.line(*path) for path in paths(document.data)} == expected


@settings(max_examples=150, deadline=None)
@given(data=containers, indent=st.sampled_from([None, 2]), ascii_only=st.booleans())
def test_json_round_trip(data: Any, indent: int | None, ascii_only: bool) -> None:
    content = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    document = written(content, ".json")
    assert exactly(document.data) == exactly(data)
    lines = {path: document.line(*path) for path in paths(document.data)}
    assert lines == dict(json_lines(data, indent))


def json_lines(data: Any, indent: int | None) -> Iterator[tuple[Path_, int]]:
    """The lines json.dumps gives to paths: one more before each member and each closing bracket."""
    counter = 1

    def walk(value: Any, at: Path_) -> Iterator[tuple[Path_, int]]:
        nonlocal counter
        yield at, counter
        if isinstance(value, dict | list) and value:
            for key, child in value.items() if isinstance(value, dict) else enumerate(value):
                counter += indent is not None
                yield from walk(child, (*at, key))
            counter += indent is not None

    return walk(data, ())


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(values, min_size=1, max_size=5))
def test_json_lines_round_trip(rows: list[Any]) -> None:
    document = written("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), ".jsonl")
    assert exactly(document.data) == exactly(rows)
    assert [document.line(row) for row in range(len(rows))] == list(range(1, len(rows) + 1))


@pytest.mark.parametrize("text", ["1e3", "0o7", "08", "1.5.0", "+1e-3", "-x"])
def test_texts_that_yaml_1_2_reads_otherwise_survive_when_quoted(text: str) -> None:
    content = yaml.safe_dump({text: [text]}, default_style='"')
    assert written(content, ".yaml").data == {text: [text]}
