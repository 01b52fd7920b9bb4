"""The settings of a target: exactly one way to ask it, in short (``python:pkg.mod:f``) or in full."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    model_validator,
)

from pytest_mcpeval.core.fields import FileModel, FilePath, FixtureName, RelativePath, Text
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.schema import Expected
from pytest_mcpeval.text.placeholders import PlaceholderError, placeholders

WAYS = ("python", "fixture", "command", "mcp", "http")
"""The ways that every kind has."""

_SHORT_FORMS = ("python", "fixture", "command")

DataT = TypeVar("DataT")


def sound(value: DataT) -> DataT:
    """The value, if every ``${`` in its texts begins a placeholder of definitions.

    Raises:
        ValueError: One does not.
    """
    for _, found in placeholders(value, "definition"):
        if isinstance(found, PlaceholderError):
            raise found
    return value


def _function_path(value: str) -> str:
    module, colon, path = value.partition(":")
    if not colon or not all(name.isidentifier() for name in (*module.split("."), *path.split("."))):
        raise ValueError(f"expected a function, such as pkg.mod:function, found {shown(value)}")
    return value


FunctionPath = Annotated[str, AfterValidator(_function_path)]
Command = Annotated[
    list[str],
    BeforeValidator(
        lambda value: shlex.split(value) if isinstance(value, str) else value,
        json_schema_input_type=str | list[str],
    ),
    Field(min_length=1),
    Expected("a command as a list of words, or as one text"),
    AfterValidator(sound),
]
Environment = Annotated[dict[Text, str], AfterValidator(sound)]
"""Variables of a command."""
Arguments = Annotated[dict[str, Any], AfterValidator(sound)]
"""What a tool is called with, with placeholders."""
Url = Annotated[str, StringConstraints(pattern=r"^(https?://|\$\{)"), AfterValidator(sound)]


class ToolModel(FileModel):
    """``mcp:``, a tool of a named server; ``arguments`` of its call hold placeholders."""

    server: Text
    tool: Text
    arguments: Arguments


class UrlModel(FileModel):
    """``http:``, a request. ``${VAR}`` in the URL and the headers is taken from the environment."""

    url: Url
    headers: Environment = Field(default={})

    def content(self) -> Any:
        """The body of the request, JSON data with placeholders; None for a GET request."""
        return None


class TargetModel(FileModel):
    """Exactly one way to ask a target, with its options; kinds add ways, and what some of them need."""

    role: ClassVar[str]
    """The kind's word for a target."""
    ways: ClassVar[tuple[str, ...]] = WAYS

    python: FunctionPath | None = None
    fixture: FixtureName | None = None
    command: Command | None = None
    mcp: ToolModel | None = None
    http: UrlModel | None = None
    env: Environment = Field({}, description="environment of a command; ${VAR} is filled in")
    directory: Annotated[FilePath, RelativePath()] = Field(
        ".", description="where `python:` imports from and `command:` starts; default: that of this file"
    )

    public: list[Text] = Field([], description="variables whose values may be shown; all others are secrets")

    @model_validator(mode="after")
    def _is_one_way(self) -> TargetModel:
        found = [way for way in self.ways if getattr(self, way) is not None]
        if len(found) != 1:
            words = f"has {' and '.join(found)}" if found else "has none of them"
            raise ValueError(f"needs exactly one of {', '.join(self.ways)}, and {words}")
        if self.env and found != ["command"]:
            raise ValueError(f"`env` is the environment of a `command`, and this {self.role} is {found[0]}")
        return self

    @property
    def way(self) -> str:
        """Which of the ways it is."""
        return next(way for way in self.ways if getattr(self, way) is not None)


def in_full(value: Any, role: str, ways: Iterable[str], embedded: tuple[str, ...]) -> Any:
    """``python:pkg.mod:f``, ``fixture:name``, ``command:./program --fast`` and embedded names as mappings.

    ``embedded`` are ways that may be given without options.

    Raises:
        ValueError: The text is none of them; the message is for people.
    """
    if isinstance(value, dict):
        # A way that needs no options may be given with none: `retriever: {bm25: }`.
        return {key: {} if inner is None and key in embedded else inner for key, inner in value.items()}
    if not isinstance(value, str):
        return value
    way, colon, rest = value.partition(":")
    if value in embedded:
        return {value: {}}
    if colon and way in _SHORT_FORMS and rest.strip():
        return {way: rest.strip()}
    if way in ways and way not in (*embedded, *_SHORT_FORMS):
        raise ValueError(f"`{way}` needs options: write a mapping, such as `{role}: {{{way}: …}}`")
    known = ", ".join((*embedded, "python:pkg.mod:function", "fixture:name", "command:…"))
    message = f"expected {known} or a mapping with options, found {shown(value)}"
    raise ValueError(f"{message}{suggestion(way, ways)}")
