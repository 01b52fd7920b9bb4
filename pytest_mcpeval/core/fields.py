"""Types of fields that the files of all kinds share, and paths relative to the file."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel

from pytest_mcpeval.core.gate import SLACK
from pytest_mcpeval.loading.messages import choice, shown

ModelT = TypeVar("ModelT", bound=BaseModel)

CASE_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
LONGEST_ID = 80


FILE_MODEL = ConfigDict(
    defer_build=True,
    extra="forbid",
    frozen=True,
    strict=True,
    alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(name, to_camel(name))),
)
"""How a mapping in a data file is read: no unknown keys, each key in snake_case or camelCase."""


PROVENANCE = "__"
"""Prefix of keys that are remarks of a file's authors."""


@dataclass(frozen=True)
class RelativePath:
    """Marks a field that is a path, relative to the directory of the file that gives it."""


@dataclass(frozen=True)
class Whole:
    """Marks a field whose model is replaced, not merged, when settings of several files are put together."""


def _fixture_name(name: str) -> str:
    if not name.isidentifier() or iskeyword(name):
        raise ValueError(f"{shown(name)} is not the name of a fixture")
    return name


LONGEST_NAME = 255
"""Bytes that file systems allow in the name of a file."""
LONGEST_PATH = 1_000


def _path(path: str) -> str:
    longest = max(len(os.fsencode(part)) for part in path.split("/"))
    if "\0" in path or longest > LONGEST_NAME or len(path) > LONGEST_PATH:
        raise ValueError(f"{shown(path)} cannot be the name of a file")
    return path


# Not .jsonl: a baseline is one document on many lines.
BASELINE_SUFFIXES = (".json", ".yaml", ".yml")


def _baseline_file(path: str) -> str:
    suffix = Path(path).suffix
    if suffix.lower() not in BASELINE_SUFFIXES:
        found = f"has the suffix {suffix}" if suffix else "has no suffix"
        raise ValueError(f"{shown(path)} {found}: a baseline is read from {choice(BASELINE_SUFFIXES)}")
    return path


def _floor(value: float) -> float:
    if value <= SLACK:
        raise ValueError(f"{vacuous(value)}: expected more, or null for no such gate")
    return value


def _ceiling(value: float) -> float:
    if value >= 1 - SLACK:
        raise ValueError(f"{vacuous(value)}: expected less, or null for no such gate")
    return value


def vacuous(limit: float) -> str:
    """Return why a limit of a gate is refused."""
    return f"any value meets {limit:g}, so the gate could not fail"


CaseId = Annotated[str, StringConstraints(pattern=CASE_ID_PATTERN)]
FixtureName = Annotated[str, AfterValidator(_fixture_name)]
Text = Annotated[str, StringConstraints(min_length=1)]
FilePath = Annotated[Text, AfterValidator(_path)]
OptionalPath = Annotated[FilePath | None, RelativePath()]
BaselinePath = Annotated[Annotated[FilePath, AfterValidator(_baseline_file)] | None, RelativePath()]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Share = Annotated[float, Field(ge=0, le=1)]
PercentFloor = Annotated[
    float, Field(ge=0, le=100, json_schema_extra={"exclusiveMinimum": 0}), AfterValidator(_floor)
]
"""A percentage that a gate wants at least."""
Floor = Annotated[float, Field(ge=0, le=1, json_schema_extra={"exclusiveMinimum": 0}), AfterValidator(_floor)]
"""A share that a gate wants at least."""
Ceiling = Annotated[
    float, Field(ge=0, le=1, json_schema_extra={"exclusiveMaximum": 1}), AfterValidator(_ceiling)
]
"""A share that a gate allows at most, or by which it allows a share to fall."""
Concurrency = Annotated[int, Field(ge=1, le=256)]
BatchSize = Annotated[int, Field(ge=1, le=10_000)]
Runs = Annotated[int, Field(ge=1, le=100)]


class FileModel(BaseModel):
    """A mapping in a file. A key whose value is ``null`` counts as not given, if it has a default.

    Where ``null`` itself is a value, such as that of a gate that is turned off, it is one.
    """

    model_config = FILE_MODEL

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_given(cls, data: Any) -> Any:
        if not isinstance(data, dict) or None not in data.values():
            return data
        absent = _keys_with_default(cls)
        return {key: value for key, value in data.items() if value is not None or key not in absent}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Every key in each of its spellings; what has a default may be null."""
        schema: dict[str, Any] = handler(core_schema)
        found = handler.resolve_ref_schema(schema)
        properties = found.get("properties", {})
        for key in properties.keys() & _keys_with_default(cls):
            described = {name: value for name, value in properties[key].items() if name in _DESCRIBES}
            typed = {name: value for name, value in properties[key].items() if name not in _DESCRIBES}
            properties[key] = {**described, "anyOf": [typed, {"type": "null"}]}
        fields = cls.model_fields.items()
        spellings = [_spellings(name, field.validation_alias) for name, field in fields]
        properties.update({key: properties[keys[0]] for keys in spellings for key in keys})
        required = found.pop("required", ())
        needed = [keys for keys in spellings if keys[0] in required]
        if simple := [keys[0] for keys in needed if len(keys) == 1]:
            found["required"] = simple
        if either := [keys for keys in needed if len(keys) > 1]:
            found["allOf"] = [{"anyOf": [{"required": [key]} for key in keys]} for keys in either]
        return schema


_DESCRIBES = ("title", "description", "default")


@cache
def _keys_with_default(model: type[BaseModel]) -> frozenset[str]:
    """The keys of a model, in each spelling, that have a default and for which ``null`` is no value."""
    return frozenset(
        key
        for name, field in model.model_fields.items()
        if not field.is_required() and field.get_default(call_default_factory=True) is not None
        if field.annotation is not Any and NoneType not in get_args(field.annotation)
        for key in _spellings(name, field.validation_alias)
    )


def _spellings(name: str, alias: Any) -> tuple[str, ...]:
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias or name]
    return tuple(dict.fromkeys(choice for choice in choices if isinstance(choice, str)))


class RowModel(FileModel):
    """A mapping in a file which may have remarks of its authors: keys that begin with ``__``."""

    model_config = ConfigDict(
        {**FILE_MODEL, "json_schema_extra": {"patternProperties": {f"^{PROVENANCE}": {}}}}
    )

    @model_validator(mode="before")
    @classmethod
    def _remarks_are_left_out(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        return {key: value for key, value in row.items() if not str(key).startswith(PROVENANCE)}


def located(model: ModelT, directory: Path) -> ModelT:
    """The model with every `RelativePath`, also those of models in it, as a complete path.

    Fields that were not given stay so, unless they have a path for a default: that is relative as well.
    """
    return model.model_copy(update=dict(_located_fields(model, directory)))


def given(model: BaseModel, names: Collection[str] | None = None) -> dict[str, Any]:
    """The fields that were given, as nested mappings that can be merged; ``names`` are those wanted."""
    found: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        if name in model.model_fields_set and (names is None or name in names):
            value = getattr(model, name)
            is_merged = isinstance(value, BaseModel) and not any(isinstance(m, Whole) for m in field.metadata)
            found[name] = given(value) if is_merged else value
    return found


def _located_fields(model: BaseModel, directory: Path) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if any(isinstance(mark, RelativePath) for mark in field.metadata):
            found += [] if value is None else [(name, _located_value(value, directory))]
        elif name in model.model_fields_set:
            found += [(name, inner)] if (inner := _located_models(value, directory)) is not None else []
    return found


def _located_value(value: Any, directory: Path) -> Any:
    """A path, or a list of paths."""
    if isinstance(value, list):
        return [_located_value(one, directory) for one in value]
    return os.path.normpath(directory.absolute() / value)


def _located_models(value: Any, directory: Path) -> Any:
    """A model, or a mapping of models; None for anything else."""
    if isinstance(value, BaseModel):
        return located(value, directory)
    if isinstance(value, dict) and any(isinstance(one, BaseModel) for one in value.values()):
        return {key: located(one, directory) for key, one in value.items()}
    return None
