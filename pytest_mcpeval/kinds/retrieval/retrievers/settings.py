"""How a retriever is chosen: ``retriever:`` of a set, in short (``bm25``) or with options."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from pytest_mcpeval.kinds.fields import FILE_MODEL, FixtureName, RelativePath, Text, Whole, located
from pytest_mcpeval.kinds.retrieval.retrievers.results import template_problem
from pytest_mcpeval.loading.document import Document
from pytest_mcpeval.loading.schema import Expected, problems_of
from pytest_mcpeval.loading.wording import shown, suggestion
from pytest_mcpeval.servers.json_paths import PathText

WAYS = ("bm25", "tfidf", "python", "fixture", "command", "mcp", "http")
_WITHOUT_OPTIONS = ("bm25", "tfidf")
_SHORT_FORMS = ("python", "fixture", "command")

FieldName = Literal["server", "tool", "description", "schema"]
Weight = Annotated[int, Field(ge=0, le=100)]
PLAIN_FIELDS: dict[str, int] = {"tool": 1, "description": 1}
"""What the embedded retrievers read when ``fields`` is not given; the schema comes with ``schema: true``."""


class _Model(BaseModel):
    model_config = FILE_MODEL


class TextFieldsModel(_Model):
    """Which texts of a tool an embedded retriever reads."""

    fields: list[FieldName] | dict[FieldName, Weight] | None = Field(
        None, description="server, tool, description, schema; with weights, words count that many times"
    )
    # `schema` itself is a name pydantic's models have.
    with_schema: bool = Field(True, validation_alias="schema", description="read names and texts of schemas")

    @model_validator(mode="after")
    def _reads_something(self) -> TextFieldsModel:
        if not self.weights():
            raise ValueError("no field of a tool is read: name one in `fields` with a weight of 1 or more")
        if not self.with_schema and "schema" in (self.fields or ()):
            raise ValueError("`fields` names schema, and `schema: false` leaves it out: remove one of them")
        return self

    def weights(self) -> dict[str, int]:
        """Field → how many times its words count; fields that are not read are left out."""
        if self.fields is None:
            return {**PLAIN_FIELDS, **({"schema": 1} if self.with_schema else {})}
        given = self.fields if isinstance(self.fields, dict) else dict.fromkeys(self.fields, 1)
        return {name: weight for name, weight in given.items() if weight}


class Bm25Model(TextFieldsModel):
    """``bm25:``, the embedded default."""

    k1: Annotated[float, Field(ge=0)] = Field(1.5, description="how soon repeating a word stops to count")
    b: Annotated[float, Field(ge=0, le=1)] = Field(0.75, description="how much the length of a text counts")


class TfidfModel(TextFieldsModel):
    """``tfidf:``, embedded: cosine similarity of TF-IDF vectors."""


def _valid_template(template: str) -> str:
    if problem := template_problem(template):
        raise ValueError(problem)
    return template


class AnswerModel(_Model):
    """Where the tools are in a JSON answer."""

    result: PathText = Field(description="JSONPath of the list of tools found, such as $.tools")
    tool_id: Annotated[Text, AfterValidator(_valid_template)] | None = Field(
        None,
        description="template of a tool's id from the fields of its entry, such as {server}:{tool.name}; "
        "{} stands for an entry that is a text",
    )
    score: Text | None = Field(None, description="field of an entry that holds its score")
    separator: Text | None = Field(
        None, description="what stands between server and tool in ids instead of the colon, such as __"
    )


class McpModel(AnswerModel):
    """``mcp:``, a search tool of a named server."""

    server: Text
    tool: Text
    arguments: dict[str, Any] = Field(
        {"query": "{query}", "limit": "{limit}"},
        description="arguments of the call; {query} and {limit} are filled in",
    )

    @model_validator(mode="after")
    def _sends_the_query(self) -> McpModel:
        if "{query}" not in json.dumps(self.arguments):
            raise ValueError("`arguments` do not hold {query}, so every search would be the same")
        return self


class HttpModel(AnswerModel):
    """``http:``, a GET request. ``${VAR}`` in the URL and the headers is taken from the environment."""

    url: Annotated[str, StringConstraints(pattern=r"^(https?://|\$\{)")]
    headers: dict[Text, str] = {}

    @model_validator(mode="after")
    def _sends_the_query(self) -> HttpModel:
        if "{query}" not in self.url:
            raise ValueError("`url` does not hold {query}, so every search would be the same")
        return self


def _command_words(value: Any) -> Any:
    return shlex.split(value) if isinstance(value, str) else value


def _function_path(value: str) -> str:
    module, colon, path = value.partition(":")
    if not colon or not all(name.isidentifier() for name in (*module.split("."), *path.split("."))):
        raise ValueError(f"expected a function, such as pkg.mod:search, found {shown(value)}")
    return value


Target = Annotated[str, AfterValidator(_function_path)]
Command = Annotated[
    list[str],
    BeforeValidator(_command_words, json_schema_input_type=str | list[str]),
    Field(min_length=1),
    Expected("a command as a list of words, or as one text"),
]


class RetrieverModel(_Model):
    """Exactly one way to search, with its options."""

    bm25: Bm25Model | None = None
    tfidf: TfidfModel | None = None
    python: Target | None = None
    fixture: FixtureName | None = None
    command: Command | None = None
    mcp: McpModel | None = None
    http: HttpModel | None = None
    env: dict[Text, str] = Field({}, description="environment of a command; ${VAR} is filled in")
    directory: Annotated[Text, RelativePath()] = Field(
        ".", description="where `python:` imports from and `command:` starts; default: that of this file"
    )

    @model_validator(mode="after")
    def _is_one_way(self) -> RetrieverModel:
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            found = f"has {' and '.join(ways)}" if ways else "has none of them"
            raise ValueError(f"needs exactly one of {', '.join(WAYS)}, and {found}")
        if self.env and ways != ["command"]:
            raise ValueError(f"`env` is the environment of a `command`, and this retriever is {ways[0]}")
        return self

    @property
    def way(self) -> str:
        """Which of the ways it is."""
        return next(way for way in WAYS if getattr(self, way) is not None)


def _from_text(value: Any) -> Any:
    """``bm25``, ``python:pkg.mod:search``, ``fixture:my_search``, ``command:./search --fast`` in full."""
    if isinstance(value, dict):
        # A way that needs no options may be given with none: `retriever: {bm25: }`.
        return {
            key: {} if inner is None and key in _WITHOUT_OPTIONS else inner for key, inner in value.items()
        }
    if not isinstance(value, str):
        return value
    way, colon, rest = value.partition(":")
    if value in _WITHOUT_OPTIONS:
        return {value: {}}
    if colon and way in _SHORT_FORMS and rest.strip():
        return {way: rest.strip()}
    if way in ("mcp", "http"):
        raise ValueError(f"`{way}` needs options: write a mapping, such as `retriever: {{{way}: …}}`")
    known = "bm25, tfidf, python:pkg.mod:function, fixture:name, command:… or a mapping with options"
    raise ValueError(f"expected {known}, found {shown(value)}{suggestion(way, WAYS)}")


RetrieverSetting = Annotated[
    RetrieverModel,
    BeforeValidator(_from_text, json_schema_input_type=str | RetrieverModel),
    Whole(),
]

_ADAPTER: TypeAdapter[RetrieverModel] = TypeAdapter(RetrieverSetting)

EMBEDDED_DEFAULT = _ADAPTER.validate_python("bm25")


def retriever_from_text(text: str, directory: Path) -> RetrieverModel:
    """The retriever a command line names: a short form, or a JSON mapping as a file would have it.

    ``directory`` is what paths are relative to.

    Raises:
        ValueError: The text names none; the message is for people.
    """
    value: Any = text
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from None
    try:
        return located(_ADAPTER.validate_python(value), directory)
    except ValidationError as error:
        # As in a file, but for the lines.
        document = Document(directory, value, "")
        found = problems_of(error, document, model=_ADAPTER, data=value)
        raise ValueError("; ".join(problem.message for problem in found)) from None
