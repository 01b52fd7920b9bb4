"""A typo in any key of any bundled file is an error that names the file and the line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from pytest_mcpeval.loading import DataFileError
from tests.collection.runtimes import runtime_at

ROOT = Path(__file__).parents[2]
DATASETS = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "datasets").rglob("*.*ml"))]
PROJECT_FILES = ["datasets/mcpeval.yaml", ".mcp.json"]
SUITES = [name for name in DATASETS if name not in PROJECT_FILES]

# Below these keys every name is the author's own: arguments, JSON schemas, environment variables.
FREE_BELOW = {"args", "arguments", "input", "schema", "env", "headers", "tools"}
# The names of these mappings are used elsewhere, and a typo in one is an error where it is used.
USED_ELSEWHERE = {"servers", "mcpServers", "capture"}


@dataclass(frozen=True)
class Key:
    """A key of a file: the keys that lead to it, its line from 1, and where its text ends."""

    above: tuple[str, ...]
    text: str
    line: int
    end: int

    @property
    def is_free(self) -> bool:
        return bool(FREE_BELOW.intersection(self.above))

    @property
    def is_a_name(self) -> bool:
        return bool(self.above) and self.above[-1] in USED_ELSEWHERE


def keys_of(text: str) -> Iterator[Key]:
    """Every key of a YAML or JSON text."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    assert root is not None
    yield from _keys(root, ())


def _keys(node: yaml.Node, above: tuple[str, ...]) -> Iterator[Key]:
    if isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _keys(entry, above)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            end = key.end_mark.index - (1 if key.style else 0)
            yield Key(above, key.value, key.start_mark.line + 1, end)
            yield from _keys(value, (*above, key.value))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the bundled files."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "datasets", root / "datasets")
    shutil.copy(ROOT / ".mcp.json", root)
    return root


def problems_with(root: Path, name: str, text: str) -> list[str]:
    """What is reported when the file has this text instead; every suite is loaded for a project file."""
    original = (root / name).read_text(encoding="utf-8")
    (root / name).write_text(text, encoding="utf-8")
    runtime = runtime_at(root)
    problems: list[str] = []
    try:
        for suite in SUITES if name in PROJECT_FILES else [name]:
            try:
                runtime.suite(root / suite)
            except DataFileError as error:
                problems += runtime.described(error).splitlines()
    finally:
        (root / name).write_text(original, encoding="utf-8")
    return problems


def test_the_bundled_files_are_free_of_problems(copy: Path) -> None:
    assert len(SUITES) >= 9
    for name in [*SUITES, *PROJECT_FILES]:
        assert problems_with(copy, name, (copy / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", [*SUITES, *PROJECT_FILES])
def test_a_typo_in_any_key_is_reported_at_its_line(copy: Path, name: str) -> None:
    text = (copy / name).read_text(encoding="utf-8")
    checked = 0
    for key in keys_of(text):
        if key.is_free:
            continue
        problems = problems_with(copy, name, f"{text[: key.end]}q{text[key.end :]}")
        expected = f"{name}:{key.line}: "
        if key.is_a_name:
            assert problems, f"{key} is used nowhere"
            assert all(":" in problem for problem in problems)
        else:
            assert any(found.startswith(expected) and key.text in found for found in problems), (
                key,
                problems,
            )
        checked += 1
    assert checked > 5


def test_names_of_servers_are_missed_where_they_are_used(copy: Path) -> None:
    text = (copy / ".mcp.json").read_text(encoding="utf-8")
    problems = problems_with(copy, ".mcp.json", text.replace('"git"', '"gti"'))
    line = 1 + (copy / "datasets/mcpeval.yaml").read_text().splitlines().index(
        "  - {files: servers/git.yaml, server: git}"
    )
    (problem,) = problems
    assert problem.startswith("datasets/servers/git.yaml:1: unknown server 'git' (did you mean \"gti\"?)")
    assert problem.endswith(f"; `server` comes from datasets/mcpeval.yaml:{line}")
