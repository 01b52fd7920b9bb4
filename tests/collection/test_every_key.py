"""A typo in any key of any bundled file is an error that names the file and the line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

import pytest_mcpeval.kinds
from pytest_mcpeval import DataFileError, FileModel
from pytest_mcpeval.kinds.agent.schema import Assertions
from tests.runtimes import runtime_at

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


def file_models(model: type[BaseModel] = FileModel) -> Iterator[type[BaseModel]]:
    for inner in model.__subclasses__():
        yield inner
        yield from file_models(inner)


def test_null_stands_for_every_key_that_may_be_left_out() -> None:
    for found in walk_packages(pytest_mcpeval.kinds.__path__, "pytest_mcpeval.kinds."):
        import_module(found.name)
    models = [model for model in dict.fromkeys(file_models()) if ".config." not in model.__module__]
    checked = 0
    for model in models:
        described = model.model_json_schema().get("properties", {})
        for name, field in model.model_fields.items():
            choices = getattr(field.validation_alias, "choices", [field.validation_alias or name])
            for key in map(str, choices):
                try:
                    model.model_validate({key: None})
                except ValidationError as error:
                    wrong = [one["type"] for one in error.errors() if one["loc"][:1] == (key,)]
                    assert bool(wrong) == field.is_required(), (model, key, wrong)
                checked += 1
            if name in described and not field.is_required():
                schema = described[name]
                assert not schema.keys() & {"type", "$ref"}, (model, name, schema)
                assert "default" not in schema or _may_be_null(schema), (model, name, schema)
    assert checked > 300
    for manifest in ({"mustNotCall": None}, {"must_not_cal": None}):
        with pytest.raises(ValidationError, match="extra_forbidden"):
            Assertions.model_validate(manifest)


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return {"type": "null"} in schema.get("anyOf", [{"type": "null"}])


def test_null_is_a_value_where_a_key_says_so() -> None:
    class Limits(FileModel):
        ceiling: float | None = 0.1
        floor: float = 0.5

    found = Limits.model_validate({"ceiling": None, "floor": None})
    assert (found.ceiling, found.floor) == (None, 0.5)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (
            "mcpeval.yaml",
            "floors: {recall_at_5: 0.5}",
            "floors: null, pinned: null, tolerance: null",
        ),
        ("mcpeval.yaml", "fpr_ceiling: 0.10", "fpr_ceiling: null, category_floors: null"),
        ("agents/people-directory/agent.yaml", "must_not_call: [export_directory]", "must_not_call:"),
    ],
)
def test_null_is_accepted_in_the_bundled_files(copy: Path, name: str, old: str, new: str) -> None:
    text = (copy / "datasets" / name).read_text(encoding="utf-8")
    assert old in text
    assert problems_with(copy, f"datasets/{name}", text.replace(old, new)) == []


def test_names_of_servers_are_missed_where_they_are_used(copy: Path) -> None:
    text = (copy / ".mcp.json").read_text(encoding="utf-8")
    problems = problems_with(copy, ".mcp.json", text.replace('"git"', '"gti"'))
    line = 1 + (copy / "datasets/mcpeval.yaml").read_text().splitlines().index(
        "  - {files: servers/git.yaml, server: git}"
    )
    (problem,) = problems
    assert problem.startswith("datasets/servers/git.yaml:1: unknown server 'git' (did you mean \"gti\"?)")
    assert problem.endswith(f"; `server` comes from datasets/mcpeval.yaml:{line}")
